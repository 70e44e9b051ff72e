-- One row per launching API call of a measured invocation: what it started.
--
-- pass               name of the pass
-- case_id            experiment:variant:submission:shape
-- invocation         ordinal of the invocation, from 0
-- launch_id          identity of the call inside its pass
-- name               API name
-- kind               kernel, graph, memcpy, memset
-- duration_ns        duration of the call in ns
-- kernels            kernels that it started
-- memory_operations  copies and fills that it started
WITH started AS (
    SELECT pass, launch_id, count(*) AS kernels FROM kernel GROUP BY pass, launch_id
), moved AS (
    SELECT pass, launch_id, count(*) AS operations FROM memory_operation GROUP BY pass, launch_id
)
SELECT
    l.pass,
    l.case_id,
    l.invocation,
    l.launch_id,
    l.name,
    l.kind,
    l.end_ns - l.start_ns AS duration_ns,
    coalesce(s.kernels, 0) AS kernels,
    coalesce(m.operations, 0) AS memory_operations
FROM invocation_launch AS l
JOIN variant_case AS c ON c.case_id = l.case_id
LEFT JOIN started AS s ON s.pass = l.pass AND s.launch_id = l.launch_id
LEFT JOIN moved AS m ON m.pass = l.pass AND m.launch_id = l.launch_id
ORDER BY l.pass, c.case_order, l.invocation, l.start_ns, l.launch_id
