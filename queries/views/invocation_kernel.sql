-- One row per kernel that a measured invocation launched, in the order in which they ran.
CREATE VIEW invocation_kernel AS
SELECT
    i.pass,
    i.case_id,
    i.invocation,
    i.range_id,
    row_number() OVER (
        PARTITION BY i.pass, i.range_id ORDER BY k.start_ns NULLS LAST, k.end_ns, k.kernel_id
    ) - 1 AS ordinal,
    k.kernel_id,
    k.launch_id,
    k.name,
    -- `void cub::Reduce<float>(float*)` is `Reduce`: tools differ in how they write the rest.
    regexp_extract(k.name, '(?:^|[ :])([A-Za-z_][A-Za-z0-9_]*)(?:[<(]|$)', 1) AS short_name,
    k.stream,
    k.graph_node_id,
    k.start_ns,
    k.end_ns,
    k.end_ns - k.start_ns AS duration_ns
FROM invocation AS i
JOIN range_kernel AS rk ON rk.pass = i.pass AND rk.range_id = i.range_id
JOIN kernel AS k ON k.pass = rk.pass AND k.kernel_id = rk.kernel_id;

COMMENT ON VIEW invocation_kernel IS 'one row per kernel launched inside a measured invocation';
COMMENT ON COLUMN invocation_kernel.ordinal IS 'position in time inside the invocation, from 0';
COMMENT ON COLUMN invocation_kernel.short_name IS 'name without namespace, template arguments and parameters';
COMMENT ON COLUMN invocation_kernel.duration_ns IS 'duration on the device in ns; NULL when the tool did not time it';
