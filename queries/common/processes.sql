-- One row per process of an nsys report: what was recorded of it, and whether the device did anything for it.
--
-- pass               name of the report
-- process            process, numbered from 0 in the report
-- pid                process id on its machine; NULL when unknown
-- listed             whether the report lists it among its processes; NULL when it has no list
-- api_calls          CUDA API calls; NULL when the report has no table of them
-- launches           launches among them; NULL likewise
-- ranges             NVTX ranges; NULL when the report has no table of them
-- kernels            kernels; NULL when the report cannot tell: it has no table of them, or CUDA was not traced
-- memory_operations  copies and fills on a device that were recorded
-- graph_runs         executions of whole graphs that were recorded in place of their kernels
-- on_device          whether it has any record of a device; NULL when the report cannot tell
--
-- A listed process without device records used no GPU, or was not traced: children made by fork often are not.
WITH known AS (
    SELECT
        r.pass,
        bool_or(r.call_rows IS NOT NULL) AS calls,
        bool_or(r.range_rows IS NOT NULL) AS ranges,
        bool_or(t.known) AS kernels
    FROM report AS r
    JOIN kernels_told AS t ON t.pass = r.pass
    WHERE r.format LIKE 'nsys%'
    GROUP BY r.pass
)
SELECT
    p.pass,
    p.process,
    p.pid,
    p.listed,
    CASE WHEN k.calls THEN p.api_calls END AS api_calls,
    CASE WHEN k.calls THEN p.launches END AS launches,
    CASE WHEN k.ranges THEN p.ranges END AS ranges,
    CASE WHEN k.kernels THEN p.kernels END AS kernels,
    p.memory_operations,
    p.graph_runs,
    CASE
        WHEN p.kernels > 0 OR p.memory_operations > 0 OR p.graph_runs > 0 THEN true
        WHEN k.kernels AND p.kernels = 0 THEN false
    END AS on_device
FROM process AS p
LEFT JOIN known AS k ON k.pass = p.pass
ORDER BY p.pass, p.process, p.pid
