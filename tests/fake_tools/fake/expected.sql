-- One kernel per invocation, whatever the case.
SELECT
    case_id,
    CAST(1 AS BIGINT) AS kernels,
    CAST(CASE WHEN submission = 'graph' THEN 1 END AS BIGINT) AS graph_nodes,
    ['fake_kernel'] AS kernel_names,
    CAST(64 AS BIGINT) AS logical_read_bytes,
    CAST(64 AS BIGINT) AS logical_write_bytes
FROM variant_case
