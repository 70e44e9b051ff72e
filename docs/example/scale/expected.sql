-- What each case of `scale` must show.
WITH sized AS (
    SELECT *, 4 * CAST(parameters ->> 'elements' AS BIGINT) AS array_bytes
    FROM variant_case
    WHERE experiment = 'scale'
)
SELECT
    case_id,
    CAST(CASE variant WHEN 'separate' THEN 2 ELSE 1 END AS BIGINT) AS kernels,
    CAST(CASE WHEN submission = 'graph' THEN CASE variant WHEN 'separate' THEN 2 ELSE 1 END END AS BIGINT) AS graph_nodes,
    CASE variant WHEN 'separate' THEN ['multiply', 'add'] ELSE ['scale'] END AS kernel_names,
    CASE variant WHEN 'separate' THEN 2 ELSE 1 END * array_bytes AS logical_read_bytes,
    CASE variant WHEN 'separate' THEN 2 ELSE 1 END * array_bytes AS logical_write_bytes
FROM sized
