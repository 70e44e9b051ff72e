-- One row per report and name of a launching call: how long the call takes, and how long until the device begins.
--
-- pass             name of the report
-- api              name of the call, without version suffix
-- kind             kernel, graph, memcpy, memset
-- calls            calls that ran; those made while a stream was being captured are left out
-- call_mean_ns     mean time in the call in ns
-- call_p50_ns      median in ns
-- call_p99_ns      99th percentile in ns, interpolated between two durations, as by numpy
-- call_max_ns      longest in ns
-- seen             calls with a timed device record: only they have a latency
-- latency_min_ns   start of the call to the start of its first work on the device, shortest in ns; NULL without any
-- latency_p50_ns   median in ns
-- latency_p90_ns   90th percentile in ns
-- latency_p99_ns   99th percentile in ns
-- latency_max_ns   longest in ns
--
-- The latency of a graph is that of its first kernel, copy or fill. It holds the wait for earlier work of the stream:
-- a long one means a busy device as well as a slow launch; see queue_time. Host and device clock differ by some
-- hundred ns, so that very short ones may come out negative; they are kept as they are.
WITH begun AS (
    SELECT pass, launch_id, min(start_ns) AS first_ns
    FROM (
        SELECT pass, launch_id, start_ns FROM kernel
        UNION ALL SELECT pass, launch_id, start_ns FROM memory_operation
        UNION ALL SELECT pass, launch_id, start_ns FROM graph_run
    )
    WHERE launch_id IS NOT NULL AND start_ns IS NOT NULL
    GROUP BY pass, launch_id
), called AS (
    SELECT l.pass, l.name, l.kind, l.end_ns - l.start_ns AS call_ns, b.first_ns - l.start_ns AS latency_ns
    FROM launch AS l
    LEFT JOIN begun AS b ON b.pass = l.pass AND b.launch_id = l.launch_id
    WHERE l.captured IS DISTINCT FROM true
), grouped AS (
    SELECT
        pass,
        name,
        kind,
        count(*) AS calls,
        avg(call_ns) AS call_mean,
        quantile_cont(call_ns, [0.5, 0.99, 1]) AS call_spread,
        count(latency_ns) AS seen,
        quantile_cont(latency_ns, [0, 0.5, 0.9, 0.99, 1]) AS spread
    FROM called
    GROUP BY pass, name, kind
)
SELECT
    pass,
    name AS api,
    kind,
    calls,
    round(call_mean, 1) AS call_mean_ns,
    call_spread[1] AS call_p50_ns,
    round(call_spread[2], 1) AS call_p99_ns,
    CAST(call_spread[3] AS BIGINT) AS call_max_ns,
    seen,
    CAST(spread[1] AS BIGINT) AS latency_min_ns,
    spread[2] AS latency_p50_ns,
    round(spread[3], 1) AS latency_p90_ns,
    round(spread[4], 1) AS latency_p99_ns,
    CAST(spread[5] AS BIGINT) AS latency_max_ns
FROM grouped
ORDER BY pass, calls DESC, api, kind
