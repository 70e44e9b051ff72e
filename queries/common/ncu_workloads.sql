-- One row per workload that ncu profiled: what it was, and under which conditions it was measured.
--
-- pass            name of the report
-- workload_id     ID of the workload in its report
-- process         process, numbered from 0 in the report by first appearance
-- device          device number in the report; NULL when it does not tell
-- workload        kernel, or graph (a whole replay measured as one)
-- kernel          name of the kernel; 'graph' for a whole replay
-- grid            grid as x,y,z blocks; NULL when the report does not tell
-- block           block as x,y,z threads; NULL when the report does not tell
-- range           innermost NVTX range of the suite's domain around the launch; NULL when none is known
-- duration_ns     gpu__time_duration.sum in ns; NULL when ncu gave none in ns
-- replay_passes   times that it was replayed to collect all counters; NULL when the report does not tell
-- cache_control   all: caches flushed before each kernel; none: as found; unknown when the report does not tell
-- clock_control   base: locked to the base clock; none; unknown when the report does not tell
-- metrics         metrics of it in the report
-- without_value   of these, those whose value could not be had
--
-- A duration under ncu compares with no other clock: it serialises, replays, may flush the caches and lock the clock.
SELECT
    c.pass,
    c.workload_id,
    any_value(c.process) AS process,
    any_value(c.device) AS device,
    any_value(c.workload) AS workload,
    any_value(c.name) AS kernel,
    any_value(c.grid) AS grid,
    any_value(c.block) AS block,
    any_value(c.range_name) AS "range",
    CAST(round(max(c.value) FILTER (
        c.metric = 'gpu__time_duration.sum' AND c.unit = 'ns' AND c.instance IS NULL AND c.section IS NULL
    )) AS BIGINT) AS duration_ns,
    CAST(round(max(c.value) FILTER (
        c.metric = 'profiler__replayer_passes' AND c.instance IS NULL AND c.section IS NULL
    )) AS BIGINT) AS replay_passes,
    coalesce(any_value(p.cache_control), 'unknown') AS cache_control,
    coalesce(any_value(p.clock_control), 'unknown') AS clock_control,
    count(DISTINCT (c.section, c.metric)) AS metrics,
    count(DISTINCT (c.section, c.metric)) FILTER (c.value IS NULL AND c.text IS NULL) AS without_value
FROM counter AS c
LEFT JOIN "pass" AS p ON p.pass = c.pass
GROUP BY c.pass, c.workload_id
ORDER BY c.pass, c.workload_id
