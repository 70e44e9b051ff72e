-- One row per report, nesting of ranges and kernel name: the kernels launched right there, each counted once.
--
-- pass      name of the report
-- path_id   identity of the nesting inside its report; NULL outside every range
-- path      names of the ranges around the launch, from the outside in; '<outside every range>' when there are none
-- depth     ranges above the innermost one
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
-- Exclusive: a kernel belongs to the innermost range open on the launching thread during its launch, so the rows of
-- a report add up to all its kernels. The ranges of time on the device play no part. What was launched outside every
-- range is always shown, also when it is nothing. A launch that no push/pop range holds belongs to the innermost
-- start/end range of its process.
--
-- Single kernels know no end of a range that was never closed, and one that another thread closed holds them too. The
-- numbers of range_summary and range_projection follow nsys' own projection there: the first counts until the last
-- NVTX event, the second nothing.
-- A name that holds ' / ' stands in a path with ' \/ ' in its place, so each ' / ' is a step.
WITH grouped AS MATERIALIZED (
    SELECT
        pass,
        path_id,
        name,
        count(*) AS kernels,
        count(end_ns - start_ns) AS timed,
        sum(end_ns - start_ns) AS total,
        -- All that needs the durations in order, from the shortest to the longest, at once: apart it costs far more.
        quantile_cont(end_ns - start_ns, [0, 0.5, 0.9, 1]) AS spread
    FROM kernel
    GROUP BY pass, path_id, name
), shown AS (
    SELECT * FROM grouped
    UNION ALL BY NAME
    SELECT pass, 0 AS kernels, 0 AS timed, 0 AS total FROM grouped GROUP BY pass HAVING bool_and(path_id IS NOT NULL)
)
SELECT
    g.pass,
    g.path_id,
    CASE
        WHEN g.path_id IS NULL THEN '<outside every range>'
        ELSE coalesce(p.path, '<path ' || g.path_id || ' missing>')
    END AS path,
    p.depth,
    g.name AS kernel,
    g.kernels,
    g.kernels - g.timed AS untimed,
    CAST(g.total AS BIGINT) AS total_ns,
    round(g.total / nullif(sum(g.total) OVER (PARTITION BY g.pass), 0), 4) AS share,
    round(g.total / nullif(g.timed, 0), 1) AS mean_ns,
    CAST(g.spread[1] AS BIGINT) AS min_ns,
    g.spread[2] AS p50_ns,
    round(g.spread[3], 1) AS p90_ns,
    CAST(g.spread[4] AS BIGINT) AS max_ns
FROM shown AS g
LEFT JOIN path AS p ON p.pass = g.pass AND p.path_id = g.path_id
ORDER BY g.pass, total_ns DESC NULLS LAST, path, g.path_id, kernel
