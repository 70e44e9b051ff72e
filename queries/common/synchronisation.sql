-- One row per report, process, range name and waiting call: how long the host waited for the device there.
--
-- pass      name of the report
-- process   process, numbered from 0 in the report
-- domain    NVTX domain of the innermost range around the call; NULL for the default one and outside
-- range     name of that range; '<outside every range>' when there is none
-- api       name of the waiting call, without version suffix
-- waits     calls recorded
-- total_ns  their durations together in ns; NULL when none has an end
-- share     total_ns over that of all waits of the process
-- p50_ns    median in ns
-- p90_ns    90th percentile in ns, interpolated between two durations, as by numpy
-- max_ns    longest in ns
--
-- Calls that wait by their nature only: synchronisations. A copy that blocks the host is a launch.
WITH placed AS (
    SELECT
        s.pass,
        s.process,
        r.domain,
        CASE WHEN s.range_id IS NULL THEN '<outside every range>' ELSE r.name END AS range_name,
        s.name,
        s.end_ns - s.start_ns AS duration_ns
    FROM sync AS s
    LEFT JOIN "range" AS r ON r.pass = s.pass AND r.range_id = s.range_id
), grouped AS (
    SELECT
        pass,
        process,
        domain,
        range_name,
        name,
        count(*) AS waits,
        sum(duration_ns) AS total,
        quantile_cont(duration_ns, [0.5, 0.9, 1]) AS spread
    FROM placed
    GROUP BY ALL
)
SELECT
    pass,
    process,
    domain,
    range_name AS "range",
    name AS api,
    waits,
    CAST(total AS BIGINT) AS total_ns,
    round(total / nullif(sum(total) OVER (PARTITION BY pass, process), 0), 4) AS share,
    spread[1] AS p50_ns,
    round(spread[2], 1) AS p90_ns,
    CAST(spread[3] AS BIGINT) AS max_ns
FROM grouped
ORDER BY pass, process NULLS FIRST, total_ns DESC NULLS LAST, "range", domain NULLS FIRST, api
