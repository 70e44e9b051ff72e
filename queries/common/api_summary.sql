-- One row per report and CUDA API name: the calls and their time on the host.
--
-- pass       name of the report
-- api        name of the call, without version suffix
-- kind       kernel, graph, memcpy, memset: it starts such work; wait: it waits for the device; other
-- calls      calls recorded
-- total_ns   their durations together in ns; NULL when none has an end
-- share      total_ns over that of all calls of the report
-- mean_ns    mean duration in ns
-- stddev_ns  sample standard deviation in ns; NULL for one
-- min_ns     shortest in ns
-- p50_ns     median in ns
-- p90_ns     90th percentile in ns, interpolated between two durations, as by numpy
-- p99_ns     99th percentile in ns
-- max_ns     longest in ns
--
-- A runtime call may hold the driver call that does its work: then the time of both is in it, each under its name.
WITH called AS (
    SELECT pass, name, kind, start_ns, end_ns FROM launch
    UNION ALL
    SELECT pass, name, 'wait', start_ns, end_ns FROM sync
    UNION ALL
    SELECT pass, name, 'other', start_ns, end_ns FROM api_call
), grouped AS (
    SELECT
        pass,
        name,
        kind,
        count(*) AS calls,
        count(end_ns - start_ns) AS timed,
        sum(end_ns - start_ns) AS total,
        -- Whole numbers keep the deviation the same in whatever order rows come.
        sum(CAST(end_ns - start_ns AS HUGEINT) * (end_ns - start_ns)) AS squares,
        -- All that needs the durations in order, from the shortest to the longest, at once: apart it costs far more.
        quantile_cont(end_ns - start_ns, [0, 0.5, 0.9, 0.99, 1]) AS spread
    FROM called
    GROUP BY pass, name, kind
), centred AS (
    SELECT *, total // nullif(timed, 0) AS centre, total % nullif(timed, 0) AS rest FROM grouped
)
SELECT
    pass,
    name AS api,
    kind,
    calls,
    CAST(total AS BIGINT) AS total_ns,
    round(total / nullif(sum(total) OVER (PARTITION BY pass), 0), 4) AS share,
    round(total / nullif(timed, 0), 1) AS mean_ns,
    round(sqrt((squares - centre * (total + rest) - rest * rest / timed) / nullif(timed - 1, 0)), 1) AS stddev_ns,
    CAST(spread[1] AS BIGINT) AS min_ns,
    spread[2] AS p50_ns,
    round(spread[3], 1) AS p90_ns,
    round(spread[4], 1) AS p99_ns,
    CAST(spread[5] AS BIGINT) AS max_ns
FROM centred
ORDER BY pass, total_ns DESC NULLS LAST, api, kind
