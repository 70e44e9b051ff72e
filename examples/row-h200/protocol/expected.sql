-- What each case of `row` must show: the one place where the experiment declares it.
--
-- case_id              joins variant_case
-- kernels              kernels per invocation
-- graph_nodes          kernel nodes in the CUDA graph; NULL for stream submissions
-- kernel_names         names of the kernels in order; NULL where the vendor chooses them. Those of tuned are what the
--                      rule of the protocol must come to
-- logical_read_bytes   bytes that the variant's kernels must read, each kernel's inputs once
-- logical_write_bytes  bytes that the variant's kernels must write, each kernel's outputs once
--
-- Staged: max reads x and writes m; exp reads x, m and writes e; sum reads e and writes z;
-- divide reads e, z and writes y. Fused, tuned and cuDNN read x once and write y once.
WITH sized AS (
    SELECT
        case_id,
        variant,
        submission,
        shape,
        4 * CAST(parameters ->> 'rows' AS BIGINT) * CAST(parameters ->> 'columns' AS BIGINT) AS array_bytes,
        4 * CAST(parameters ->> 'rows' AS BIGINT) AS row_bytes
    FROM variant_case
    WHERE experiment = 'row'
)
SELECT
    case_id,
    CAST(CASE variant WHEN 'staged' THEN 4 ELSE 1 END AS BIGINT) AS kernels,
    CAST(CASE WHEN submission = 'graph' THEN CASE variant WHEN 'staged' THEN 4 ELSE 1 END END AS BIGINT)
        AS graph_nodes,
    CASE variant
        WHEN 'staged' THEN ['row_max', 'row_exp', 'row_sum', 'row_divide']
        WHEN 'fused' THEN ['row_softmax']
        WHEN 'tuned' THEN [CASE shape
            WHEN '1x128' THEN 'row_128_l32q1_c1'
            WHEN '32x1024' THEN 'row_1024_w4q2_ls'
            WHEN '4096x128' THEN 'row_128_l32q1_c16'
            WHEN '4096x1024' THEN 'row_1024_w4q2_ls'
            WHEN '4096x4096' THEN 'row_4096_w8q4'
            WHEN '16384x1024' THEN 'row_1024_w2q4_ls'
            ELSE 'row_any'
        END]
    END AS kernel_names,
    CASE variant WHEN 'staged' THEN 4 * array_bytes + 2 * row_bytes ELSE array_bytes END AS logical_read_bytes,
    CASE variant WHEN 'staged' THEN 2 * array_bytes + 2 * row_bytes ELSE array_bytes END AS logical_write_bytes
FROM sized
