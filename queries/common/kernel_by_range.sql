-- One row per report, range name and kernel name: the kernels launched inside ranges of that name, at any depth.
--
-- pass      name of the report
-- domain    NVTX domain; NULL for the default one
-- range     name of the range; '<outside every range>' for what was launched outside
-- style     push_pop or start_end; NULL outside every range
-- kernel    name of the kernel; NULL in the row that says that nothing is outside
-- kernels   executions recorded
-- untimed   of these, those without device times: they count, but enter no time
-- total_ns  their durations together in ns; NULL when none was timed
-- share     total_ns over that of all kernels of the report
-- mean_ns   mean duration in ns
-- min_ns    shortest in ns
-- p50_ns    median in ns
-- p90_ns    90th percentile in ns, interpolated between two durations, as by numpy
-- max_ns    longest in ns
--
-- Inclusive: a kernel counts under every name around its launch, so the rows of nested ranges add up to more than
-- the report; kernel_by_path counts each kernel once. Under a name that is nested in itself it counts once.
WITH RECURSIVE above (pass, path_id, ancestor_id) AS (
    SELECT pass, path_id, path_id FROM path
    UNION
    SELECT above.pass, above.path_id, path.parent_path_id
    FROM above
    JOIN path ON path.pass = above.pass AND path.path_id = above.ancestor_id
    WHERE path.parent_path_id IS NOT NULL
), named AS (
    -- A name is known by the first path that ends in it.
    SELECT pass, path_id, min(path_id) OVER (PARTITION BY pass, domain, name, style) AS name_id FROM path
), closure AS MATERIALIZED (
    SELECT DISTINCT above.pass, above.path_id, named.name_id
    FROM above
    JOIN named ON named.pass = above.pass AND named.path_id = above.ancestor_id
), whole AS (
    SELECT pass, sum(end_ns - start_ns) AS total FROM kernel GROUP BY pass
), grouped AS MATERIALIZED (
    SELECT
        k.pass,
        c.name_id,
        k.name,
        count(*) AS kernels,
        count(k.end_ns - k.start_ns) AS timed,
        sum(k.end_ns - k.start_ns) AS total,
        -- All that needs the durations in order, from the shortest to the longest, at once: apart it costs far more.
        quantile_cont(k.end_ns - k.start_ns, [0, 0.5, 0.9, 1]) AS spread
    FROM kernel AS k
    LEFT JOIN closure AS c ON c.pass = k.pass AND c.path_id = k.path_id
    GROUP BY k.pass, c.name_id, k.name
), shown AS (
    SELECT * FROM grouped
    UNION ALL BY NAME
    SELECT pass, 0 AS kernels, 0 AS timed, 0 AS total FROM grouped GROUP BY pass HAVING bool_and(name_id IS NOT NULL)
)
SELECT
    g.pass,
    p.domain,
    coalesce(p.name, '<outside every range>') AS "range",
    p.style,
    g.name AS kernel,
    g.kernels,
    g.kernels - g.timed AS untimed,
    CAST(g.total AS BIGINT) AS total_ns,
    round(g.total / nullif(w.total, 0), 4) AS share,
    round(g.total / nullif(g.timed, 0), 1) AS mean_ns,
    CAST(g.spread[1] AS BIGINT) AS min_ns,
    g.spread[2] AS p50_ns,
    round(g.spread[3], 1) AS p90_ns,
    CAST(g.spread[4] AS BIGINT) AS max_ns
FROM shown AS g
JOIN whole AS w ON w.pass = g.pass
LEFT JOIN path AS p ON p.pass = g.pass AND p.path_id = g.name_id
ORDER BY g.pass, total_ns DESC NULLS LAST, "range", p.domain NULLS FIRST, p.style, kernel
