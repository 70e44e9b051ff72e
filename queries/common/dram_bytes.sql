-- One row per case and ncu pass: DRAM bytes of one invocation beside the bytes that its kernels must move.
--
-- case_id               experiment:variant:submission:shape
-- variant               name of the variant
-- submission            stream or graph
-- shape                 name of the problem size
-- pass                  ncu or ncu-warm
-- cache_control         all: caches flushed before each kernel; none: caches as found
-- graph_profiling       node: each kernel of a replay by itself; graph: a replay as one workload
-- scope                 kernel-sum: sum over the kernels of an invocation; whole-graph: measured as one
-- invocations           invocations measured; 0 when it is unknown which workload belongs to which
-- workloads             workloads measured, over all invocations
-- dram_read_bytes       bytes read from DRAM per invocation, median; NULL when any workload lacks the value
-- dram_write_bytes      bytes written to DRAM per invocation, median; NULL when any workload lacks the value
-- logical_read_bytes    bytes that the kernels must read, each kernel's inputs once, as declared
-- reread_bytes          bytes that kernels come back to, as declared: whether from DRAM or a cache is not said
-- logical_write_bytes   bytes that the kernels must write, each kernel's outputs once, as declared
-- read_ratio            DRAM reads over logical reads
-- write_ratio           DRAM writes over logical writes
-- dram_read_min_bytes   smallest read of an invocation
-- dram_read_max_bytes   largest read of an invocation
-- dram_write_min_bytes  smallest write of an invocation
-- dram_write_max_bytes  largest write of an invocation
-- l2_bytes              bytes through the L2 cache per invocation, median
-- caveat                what these bytes do not say
--
-- A median is always a value that was measured: of an even number of invocations the lower one in the middle.
WITH per_invocation AS (
    SELECT
        pass,
        case_id,
        workload AS kind,
        invocation,
        count(*) AS workloads,
        -- A sum over some of the kernels would look like less traffic, so it is withheld.
        CASE WHEN count(dram_read_bytes) = count(*) AND invocation IS NOT NULL THEN sum(dram_read_bytes) END AS reads,
        CASE WHEN count(dram_write_bytes) = count(*) AND invocation IS NOT NULL THEN sum(dram_write_bytes) END AS writes,
        CASE WHEN count(l2_bytes) = count(*) AND invocation IS NOT NULL THEN sum(l2_bytes) END AS l2
    FROM workload
    GROUP BY pass, case_id, workload, invocation
), per_case AS (
    SELECT
        pass,
        case_id,
        kind,
        count(invocation) AS invocations,
        sum(workloads) AS workloads,
        CASE WHEN count(reads) = count(*) THEN quantile_disc(reads, 0.5) END AS reads,
        CASE WHEN count(writes) = count(*) THEN quantile_disc(writes, 0.5) END AS writes,
        CASE WHEN count(l2) = count(*) THEN quantile_disc(l2, 0.5) END AS l2,
        min(reads) AS reads_min,
        max(reads) AS reads_max,
        min(writes) AS writes_min,
        max(writes) AS writes_max
    FROM per_invocation
    GROUP BY pass, case_id, kind
)
SELECT
    c.case_id,
    c.variant,
    c.submission,
    c.shape,
    m.pass,
    p.cache_control,
    p.graph_profiling,
    CASE m.kind WHEN 'graph' THEN 'whole-graph' ELSE 'kernel-sum' END AS scope,
    m.invocations,
    CAST(m.workloads AS BIGINT) AS workloads,
    CAST(m.reads AS BIGINT) AS dram_read_bytes,
    CAST(m.writes AS BIGINT) AS dram_write_bytes,
    e.logical_read_bytes,
    e.reread_bytes,
    e.logical_write_bytes,
    round(m.reads / nullif(e.logical_read_bytes, 0), 4) AS read_ratio,
    round(m.writes / nullif(e.logical_write_bytes, 0), 4) AS write_ratio,
    CAST(m.reads_min AS BIGINT) AS dram_read_min_bytes,
    CAST(m.reads_max AS BIGINT) AS dram_read_max_bytes,
    CAST(m.writes_min AS BIGINT) AS dram_write_min_bytes,
    CAST(m.writes_max AS BIGINT) AS dram_write_max_bytes,
    CAST(m.l2 AS BIGINT) AS l2_bytes,
    CASE
        WHEN p.cache_control IS NULL THEN
            'whether caches were flushed is not recorded, so neither cold nor warm traffic follows'
        WHEN p.cache_control = 'all' THEN
            'write-back: lines still dirty in L2 when a kernel ends are written later, so its writes are '
            || 'under-counted; flushed before every kernel, so nothing here holds for warm caches'
        WHEN m.kind = 'graph' THEN
            'caches as the work before left them: data that stays in L2 is not read from DRAM'
        ELSE
            'kernels measured one at a time with caches as found: a kernel also writes back lines that others left dirty'
    END AS caveat
FROM per_case AS m
JOIN variant_case AS c ON c.case_id = m.case_id
LEFT JOIN "pass" AS p ON p.pass = m.pass
LEFT JOIN expected AS e ON e.case_id = m.case_id
ORDER BY c.case_order, m.pass, m.kind
