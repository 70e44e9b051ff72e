-- One row per measured invocation that nsys recorded: what it launched and what ran.
--
-- pass               name of the pass
-- case_id            experiment:variant:submission:shape
-- invocation         ordinal of the invocation, from 0
-- duration_ns        length of its range in ns; NULL when it was never closed
-- launches           launching calls on its thread
-- kernels            kernels launched inside it
-- memory_operations  copies and fills launched inside it
-- memsets            of these, fills; in a replay the memset nodes that ran
WITH launched AS (
    SELECT pass, range_id, count(*) AS launches FROM invocation_launch GROUP BY pass, range_id
), run_kernels AS (
    SELECT pass, range_id, count(*) AS kernels FROM invocation_kernel GROUP BY pass, range_id
), moved AS (
    SELECT l.pass, l.range_id, count(*) AS operations, count(*) FILTER (m.kind = 'memset') AS memsets
    FROM memory_operation AS m
    JOIN invocation_launch AS l ON l.pass = m.pass AND l.launch_id = m.launch_id
    GROUP BY l.pass, l.range_id
)
SELECT
    i.pass,
    i.case_id,
    i.invocation,
    i.end_ns - i.start_ns AS duration_ns,
    coalesce(l.launches, 0) AS launches,
    coalesce(k.kernels, 0) AS kernels,
    coalesce(m.operations, 0) AS memory_operations,
    coalesce(m.memsets, 0) AS memsets
FROM invocation AS i
LEFT JOIN launched AS l ON l.pass = i.pass AND l.range_id = i.range_id
LEFT JOIN run_kernels AS k ON k.pass = i.pass AND k.range_id = i.range_id
LEFT JOIN moved AS m ON m.pass = i.pass AND m.range_id = i.range_id
ORDER BY i.pass, i.case_order, i.invocation, i.range_id
