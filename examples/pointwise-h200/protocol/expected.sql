-- What each case of `pointwise` must show: the one place where the experiment declares it.
--
-- case_id              joins variant_case
-- kernels              kernels per invocation
-- graph_nodes          kernel nodes in the CUDA graph; NULL for stream submissions
-- kernel_names         names of the kernels in order
-- logical_read_bytes   bytes that the variant's kernels must read, each kernel's inputs once
-- logical_write_bytes  bytes that the variant's kernels must write, each kernel's outputs once
--
-- For N elements of 4 bytes. Separate: add_one reads x and writes a, square reads a and writes b, halve reads b and
-- writes y: 12 N read and 12 N written, 24 N. Fused reads x and writes y: 4 N and 4 N, 8 N. Logical bytes are what
-- the kernels ask for; whether they come from DRAM or from a cache is measured, not declared.
WITH sized AS (
    SELECT
        case_id,
        variant,
        submission,
        CASE variant WHEN 'separate' THEN 3 ELSE 1 END AS steps,
        4 * CAST(parameters ->> 'elements' AS BIGINT) AS array_bytes
    FROM variant_case
    WHERE experiment = 'pointwise'
)
SELECT
    case_id,
    CAST(steps AS BIGINT) AS kernels,
    CAST(CASE WHEN submission = 'graph' THEN steps END AS BIGINT) AS graph_nodes,
    CASE variant
        WHEN 'separate' THEN ['add_one', 'square', 'halve']
        WHEN 'fused' THEN ['add_square_halve']
    END AS kernel_names,
    steps * array_bytes AS logical_read_bytes,
    steps * array_bytes AS logical_write_bytes
FROM sized
