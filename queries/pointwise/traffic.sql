-- One row per case: the bytes that its kernels ask for beside the DRAM bytes that ncu measured under both cache policies.
--
-- case_id                    experiment:variant:submission:shape
-- variant                    name of the variant
-- submission                 stream or graph
-- shape                      name of the problem size
-- elements                   N
-- logical_bytes_per_element  bytes read and written per element, as declared: 24 or 8
-- logical_read_bytes         bytes that the kernels must read, each kernel's inputs once, as declared
-- logical_write_bytes        bytes that the kernels must write, each kernel's outputs once, as declared
-- flushed_read_bytes         DRAM reads of one invocation, caches flushed before each kernel (pass ncu), median; NULL
--                            when any kernel lacks the value
-- flushed_write_bytes        DRAM writes of the same; what was still dirty in L2 when a kernel ended is not in them
-- warm_read_bytes            DRAM reads of one invocation, caches as found (pass ncu-warm), median
-- warm_write_bytes           DRAM writes of the same
-- warm_scope                 whole-graph: a replay measured as one; kernel-sum: sum over single kernels
--
-- Logical bytes are not DRAM bytes: what fits the L2 cache need not leave it, and the warm policy repeats the same
-- inputs on purpose. A median is a value that was measured: of an even number of invocations the lower one in the
-- middle. A pass is told apart by what it did with the caches (its cache_control), not by its name.
WITH per_invocation AS (
    SELECT
        w.case_id,
        p.cache_control,
        w.workload,
        w.invocation,
        -- A sum over some of the kernels would look like less traffic, so it is withheld.
        CASE WHEN count(w.dram_read_bytes) = count(*) THEN sum(w.dram_read_bytes) END AS reads,
        CASE WHEN count(w.dram_write_bytes) = count(*) THEN sum(w.dram_write_bytes) END AS writes
    FROM workload AS w
    JOIN "pass" AS p ON p.pass = w.pass
    WHERE w.invocation IS NOT NULL AND p.cache_control IN ('all', 'none')
    GROUP BY w.pass, p.cache_control, w.case_id, w.workload, w.invocation
), per_case AS (
    SELECT
        case_id,
        cache_control,
        CASE WHEN count(reads) = count(*) THEN quantile_disc(reads, 0.5) END AS reads,
        CASE WHEN count(writes) = count(*) THEN quantile_disc(writes, 0.5) END AS writes,
        CASE WHEN min(workload) = max(workload) THEN max(workload) END AS workload
    FROM per_invocation
    GROUP BY case_id, cache_control
)
SELECT
    c.case_id,
    c.variant,
    c.submission,
    c.shape,
    CAST(c.parameters ->> 'elements' AS BIGINT) AS elements,
    CAST(
        (e.logical_read_bytes + e.logical_write_bytes) // nullif(CAST(c.parameters ->> 'elements' AS BIGINT), 0)
        AS BIGINT
    ) AS logical_bytes_per_element,
    e.logical_read_bytes,
    e.logical_write_bytes,
    CAST(flushed.reads AS BIGINT) AS flushed_read_bytes,
    CAST(flushed.writes AS BIGINT) AS flushed_write_bytes,
    CAST(warm.reads AS BIGINT) AS warm_read_bytes,
    CAST(warm.writes AS BIGINT) AS warm_write_bytes,
    CASE warm.workload WHEN 'graph' THEN 'whole-graph' WHEN 'kernel' THEN 'kernel-sum' END AS warm_scope
FROM variant_case AS c
LEFT JOIN expected AS e ON e.case_id = c.case_id
LEFT JOIN per_case AS flushed ON flushed.case_id = c.case_id AND flushed.cache_control = 'all'
LEFT JOIN per_case AS warm ON warm.case_id = c.case_id AND warm.cache_control = 'none'
ORDER BY c.case_order
