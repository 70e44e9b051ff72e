-- One row per report, process and range name with more than one instance: the first against the rest, and the slowest.
--
-- pass                 name of the report
-- process              process, numbered from 0 in the report
-- domain               NVTX domain; NULL for the default one
-- range                name of the range
-- style                push_pop or start_end
-- instances            instances with an end; one that was never closed has no duration
-- first_ns             time of the first on the host in ns
-- rest_p50_ns          median of all others in ns
-- first_over_rest      first_ns over rest_p50_ns
-- min_ns               shortest in ns
-- max_ns               longest in ns
-- slowest              ordinal of the longest in the order of their starts, from 0
-- slowest_range_id     identity of the longest
-- device_first_ns      device time launched inside the first, in ns; NULL when it launched none
-- device_rest_p50_ns   median of all others with any, in ns; NULL when none has
-- device_max_ns        most device time of any in ns; NULL when none has
-- kernels_min          fewest kernels launched inside one
-- kernels_max          most kernels launched inside one
--
-- Steps of one name are told apart by process: the ranks of a parallel program stand in rows of their own.
WITH numbered AS (
    SELECT
        *,
        end_ns - start_ns AS duration_ns,
        row_number() OVER (PARTITION BY pass, process, domain, name, style ORDER BY start_ns, range_id) - 1 AS ordinal
    FROM "range"
    WHERE end_ns IS NOT NULL
), ranked AS (
    SELECT
        *,
        -- Of equals the earliest is the slowest.
        row_number() OVER (
            PARTITION BY pass, process, domain, name, style ORDER BY duration_ns DESC, ordinal
        ) AS place
    FROM numbered
)
SELECT
    pass,
    process,
    domain,
    name AS "range",
    style,
    count(*) AS instances,
    max(duration_ns) FILTER (ordinal = 0) AS first_ns,
    quantile_cont(duration_ns, 0.5) FILTER (ordinal > 0) AS rest_p50_ns,
    round(
        max(duration_ns) FILTER (ordinal = 0) / nullif(quantile_cont(duration_ns, 0.5) FILTER (ordinal > 0), 0), 3
    ) AS first_over_rest,
    min(duration_ns) AS min_ns,
    max(duration_ns) AS max_ns,
    max(ordinal) FILTER (place = 1) AS slowest,
    max(range_id) FILTER (place = 1) AS slowest_range_id,
    max(device_ns) FILTER (ordinal = 0) AS device_first_ns,
    quantile_cont(device_ns, 0.5) FILTER (ordinal > 0) AS device_rest_p50_ns,
    max(device_ns) AS device_max_ns,
    min(kernels) AS kernels_min,
    max(kernels) AS kernels_max
FROM ranked
GROUP BY pass, process, domain, name, style
HAVING count(*) > 1
ORDER BY pass, "range", domain NULLS FIRST, style, process NULLS FIRST
