-- One row per report, device and kernel name: how long its kernels waited from the return of the call to their start.
--
-- pass          name of the report
-- device        device number in the report
-- kernel        name of the kernel
-- launched      timed kernels whose launching call is known; of a graph's replay only those that begin first
-- at_once       of these, started before the call returned: they have no queue time
-- queued        of these, started at its return or later
-- queue_p50_ns  median queue time of the queued in ns; NULL when none queued
-- queue_p90_ns  90th percentile in ns, interpolated between two times, as by numpy; NULL when none queued
-- queue_p99_ns  99th percentile in ns; NULL when none queued
-- queue_max_ns  longest in ns; NULL when none queued
-- queue_sum_ns  together in ns; NULL when none queued
--
-- As in nsys' own cuda_kern_exec_sum: the true wait is a little longer, for work is queued inside the call. Queue
-- time is no fault: it shows that the device had other work. The later kernels of a replay wait for their graph.
WITH first_of_graph AS (
    SELECT pass, launch_id, min(start_ns) AS first_ns
    FROM kernel
    WHERE graph_node_id IS NOT NULL AND launch_id IS NOT NULL AND start_ns IS NOT NULL
    GROUP BY pass, launch_id
), chosen AS (
    SELECT pass, device, name, launch_id, start_ns
    FROM kernel
    WHERE graph_node_id IS NULL AND launch_id IS NOT NULL AND start_ns IS NOT NULL
    UNION ALL
    SELECT k.pass, k.device, k.name, k.launch_id, k.start_ns
    FROM kernel AS k
    JOIN first_of_graph AS f ON f.pass = k.pass AND f.launch_id = k.launch_id AND f.first_ns = k.start_ns
    WHERE k.graph_node_id IS NOT NULL
), waited AS (
    SELECT
        c.pass,
        c.device,
        c.name,
        c.start_ns < l.end_ns AS at_once,
        CASE WHEN c.start_ns >= l.end_ns THEN c.start_ns - l.end_ns END AS queue_ns
    FROM chosen AS c
    JOIN launch AS l ON l.pass = c.pass AND l.launch_id = c.launch_id
    WHERE l.end_ns IS NOT NULL
), grouped AS (
    SELECT
        pass,
        device,
        name,
        count(*) AS launched,
        count(*) FILTER (at_once) AS at_once,
        count(queue_ns) AS queued,
        quantile_cont(queue_ns, [0.5, 0.9, 0.99, 1]) AS spread,
        sum(queue_ns) AS total
    FROM waited
    GROUP BY pass, device, name
)
SELECT
    pass,
    device,
    name AS kernel,
    launched,
    at_once,
    queued,
    spread[1] AS queue_p50_ns,
    round(spread[2], 1) AS queue_p90_ns,
    round(spread[3], 1) AS queue_p99_ns,
    CAST(spread[4] AS BIGINT) AS queue_max_ns,
    CAST(total AS BIGINT) AS queue_sum_ns
FROM grouped
ORDER BY pass, queue_sum_ns DESC NULLS LAST, kernel, device NULLS FIRST
