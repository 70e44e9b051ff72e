-- What each case of `jobs` must show: the one place where the experiment declares it.
--
-- case_id              joins variant_case
-- kernels              kernels per invocation
-- graph_nodes          kernel nodes in the CUDA graph; NULL for stream submissions
-- kernel_names         names of the kernels in order
-- memset_nodes         memsets per invocation: the queue's counter is reset each time
-- logical_read_bytes   bytes that the variant's kernels must read, each kernel's inputs once; NULL when the number of
--                      multiprocessors, and with it that of the jobs, is unknown
-- logical_write_bytes  bytes that the variant's kernels must write, each kernel's outputs once
--
-- Every kernel runs under an artificial reservation: just over half of a multiprocessor's shared memory per block,
-- which it does not touch, so that one block fits on a multiprocessor.
--
-- Per job x, a and y have 1024 bytes each, and its number of iterations 4. Separate: stage A reads x and the
-- iterations and writes a, stage B reads a and writes y. Fused and queue read x and the iterations and write a and y;
-- they load again the a that they have just stored, which is in the L2 cache and no input. Queue also reads and
-- writes its counter. All of it is some 1 MB: it fits the L2 cache, and bytes decide nothing here.
WITH sized AS (
    SELECT c.case_id, c.variant, c.submission, 4 * d.multiprocessors + d.multiprocessors // 2 + 3 AS jobs
    FROM variant_case AS c
    CROSS JOIN (SELECT max(multiprocessors) AS multiprocessors FROM device) AS d
    WHERE c.experiment = 'jobs'
)
SELECT
    case_id,
    CAST(CASE variant WHEN 'separate' THEN 2 ELSE 1 END AS BIGINT) AS kernels,
    CAST(CASE WHEN submission = 'graph' THEN CASE variant WHEN 'separate' THEN 2 ELSE 1 END END AS BIGINT)
        AS graph_nodes,
    CASE variant
        WHEN 'separate' THEN ['jobs_stage_a', 'jobs_stage_b']
        WHEN 'fused' THEN ['jobs_fused']
        WHEN 'queue' THEN ['jobs_queue']
    END AS kernel_names,
    CAST(CASE variant WHEN 'queue' THEN 1 ELSE 0 END AS BIGINT) AS memset_nodes,
    CASE variant
        WHEN 'separate' THEN jobs * (1024 + 4 + 1024)
        WHEN 'fused' THEN jobs * (1024 + 4)
        WHEN 'queue' THEN jobs * (1024 + 4) + 4
    END AS logical_read_bytes,
    CASE variant WHEN 'queue' THEN jobs * 2048 + 4 ELSE jobs * 2048 END AS logical_write_bytes
FROM sized
