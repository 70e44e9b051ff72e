-- One row per timed case: its completion and its device time against the time that a copy of as many bytes would take.
--
-- case_id                   experiment:variant:submission:shape
-- variant                   name of the variant
-- submission                stream or graph
-- shape                     name of the problem size
-- logical_bytes             bytes that the kernels must read and write, as declared; not DRAM bytes
-- copy_bytes_per_second     bandwidth of the device-to-device copy, read plus write, median of the largest copy
-- floor_ns                  logical_bytes at that bandwidth in ns
-- completion_ns             median host completion, unprofiled, in ns
-- busy_ns                   device work of one invocation (union) under nsys, median in ns
-- logical_bytes_per_second  logical_bytes over busy_ns; no DRAM bandwidth when data stays in L2
-- floor_over_busy           floor_ns over busy_ns: near 1 the device works at copy speed
-- busy_over_completion      busy_ns over completion_ns: near 1 the host's latency is device time
-- launches                  launching calls per invocation under nsys, median
-- l2_bytes                  size of the device's L2 cache
--
-- Completions and the copy are those of the first session (pass timing) where a run has two.
WITH copied AS (
    SELECT 1e9 * bytes / median(duration_ns) AS bytes_per_second
    FROM sample
    WHERE pass = 'timing' AND quantity = 'device_copy' AND bytes > 0 AND duration_ns > 0
    GROUP BY bytes
    ORDER BY bytes DESC
    LIMIT 1
), completed AS (
    SELECT case_id, median(duration_ns) AS median_ns
    FROM sample
    WHERE pass = 'timing' AND quantity = 'completion'
    GROUP BY case_id
), busy AS (
    SELECT case_id, median(device_union_ns) AS median_ns, median(launches) AS launches
    FROM split_of_invocation
    GROUP BY case_id
), sized AS (
    SELECT
        c.*,
        e.logical_read_bytes + e.logical_write_bytes AS logical_bytes,
        (SELECT bytes_per_second FROM copied) AS bytes_per_second,
        completed.median_ns AS completion_ns,
        busy.median_ns AS busy_ns,
        busy.launches
    FROM variant_case AS c
    LEFT JOIN expected AS e ON e.case_id = c.case_id
    LEFT JOIN completed ON completed.case_id = c.case_id
    LEFT JOIN busy ON busy.case_id = c.case_id
    WHERE c.timed
)
SELECT
    case_id,
    variant,
    submission,
    shape,
    logical_bytes,
    CAST(round(bytes_per_second) AS BIGINT) AS copy_bytes_per_second,
    CAST(round(1e9 * logical_bytes / bytes_per_second) AS BIGINT) AS floor_ns,
    CAST(round(completion_ns) AS BIGINT) AS completion_ns,
    CAST(round(busy_ns) AS BIGINT) AS busy_ns,
    CAST(round(1e9 * logical_bytes / nullif(busy_ns, 0)) AS BIGINT) AS logical_bytes_per_second,
    round(1e9 * logical_bytes / bytes_per_second / nullif(busy_ns, 0), 4) AS floor_over_busy,
    round(busy_ns / nullif(completion_ns, 0), 4) AS busy_over_completion,
    CAST(round(launches) AS BIGINT) AS launches,
    (SELECT max(l2_bytes) FROM device) AS l2_bytes
FROM sized
ORDER BY case_order
