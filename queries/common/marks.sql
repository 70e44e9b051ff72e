-- One row per report, process and NVTX domain: how often marks were set, and at what distance.
--
-- pass             name of the report
-- process          process, numbered from 0 in the report
-- domain           NVTX domain; NULL for the default one
-- marks            marks set
-- first_ns         first in ns of the capture's clock
-- last_ns          last in ns of the capture's clock
-- interval_p50_ns  median distance from one to the next in ns; NULL for one
-- interval_max_ns  longest distance in ns; NULL for one
--
-- A mark is an instant: no work belongs to it. Its text is not read, since a program may write anything there.
WITH placed AS (
    SELECT
        *,
        time_ns - lag(time_ns) OVER (PARTITION BY pass, process, domain ORDER BY time_ns) AS interval_ns
    FROM mark
)
SELECT
    pass,
    process,
    domain,
    count(*) AS marks,
    min(time_ns) AS first_ns,
    max(time_ns) AS last_ns,
    quantile_cont(interval_ns, 0.5) AS interval_p50_ns,
    max(interval_ns) AS interval_max_ns
FROM placed
GROUP BY pass, process, domain
ORDER BY pass, process NULLS FIRST, domain NULLS FIRST
