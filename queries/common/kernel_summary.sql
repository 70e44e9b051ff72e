-- One row per report, device and kernel name: how often it ran and how long it took there.
--
-- pass                  name of the report
-- device                device number in the report
-- kernel                name of the kernel
-- kernels               executions recorded
-- untimed               of these, those without device times: they count, but enter no time
-- total_ns              their durations together in ns; NULL when none was timed
-- share                 total_ns over that of all kernels of the report
-- mean_ns               mean duration in ns
-- stddev_ns             sample standard deviation in ns; NULL for one
-- min_ns                shortest in ns
-- p10_ns                10th percentile in ns
-- p50_ns                median in ns
-- p90_ns                90th percentile in ns
-- p99_ns                99th percentile in ns
-- max_ns                longest in ns
-- registers_per_thread  registers per thread, the largest; NULL when the report does not tell
--
-- Kernels inside graphs that were traced as a whole have no record and are not in it: see graph_coverage.
-- Percentiles are exact; between two durations they are interpolated, as by numpy. Durations of kernels that ran at
-- the same time add up to more than the time that passed: see concurrency.
WITH whole AS (
    SELECT
        pass, device, name, kernels, timed, spread, registers_per_thread,
        CAST(total AS HUGEINT) AS total,
        CAST(squares AS HUGEINT) AS squares
    FROM kernel_group
), centred AS (
    SELECT *, total // timed AS centre, total % timed AS rest FROM whole
)
SELECT
    pass,
    device,
    name AS kernel,
    kernels,
    kernels - timed AS untimed,
    CAST(total AS BIGINT) AS total_ns,
    round(total / nullif(sum(total) OVER (PARTITION BY pass), 0), 4) AS share,
    round(total / nullif(timed, 0), 1) AS mean_ns,
    round(sqrt((squares - centre * (total + rest) - rest * rest / timed) / nullif(timed - 1, 0)), 1) AS stddev_ns,
    CAST(spread[1] AS BIGINT) AS min_ns,
    round(spread[2], 1) AS p10_ns,
    spread[3] AS p50_ns,
    round(spread[4], 1) AS p90_ns,
    round(spread[5], 1) AS p99_ns,
    CAST(spread[6] AS BIGINT) AS max_ns,
    registers_per_thread
FROM centred
ORDER BY pass, total_ns DESC NULLS LAST, kernel, device
