-- One row per workload that ncu profiled: floating-point operations, DRAM bytes and time, as a roofline needs them.
--
-- pass                  name of the report
-- workload_id           ID of the workload in its report
-- workload              kernel, or graph (a whole replay measured as one)
-- kernel                name of the kernel; 'graph' for a whole replay
-- grid                  grid as x,y,z blocks; NULL when the report does not tell
-- block                 block as x,y,z threads; NULL when the report does not tell
-- fp16_flop             half-precision operations: additions, multiplications, and two for each fused pair
-- fp32_flop             single-precision operations, counted so
-- fp64_flop             double-precision operations, counted so
-- dram_bytes            bytes read from and written to DRAM; NULL when either is missing
-- duration_ns           gpu__time_duration.sum in ns; NULL when ncu gave none in ns
-- fp16_flop_per_byte    fp16_flop over dram_bytes; NULL without bytes
-- fp32_flop_per_byte    fp32_flop over dram_bytes; NULL without bytes
-- fp64_flop_per_byte    fp64_flop over dram_bytes; NULL without bytes
-- fp16_flop_per_second  fp16_flop per second of ncu's time
-- fp32_flop_per_second  fp32_flop per second of ncu's time
-- fp64_flop_per_second  fp64_flop per second of ncu's time
-- bytes_per_second      dram_bytes per second of ncu's time
-- reason                which metrics are missing; NULL when all are there
--
-- A count of operations is given only when all of its metrics are in the report:
-- smsp__sass_thread_inst_executed_op_{h,f,d}{add,mul,fma}_pred_on.sum. They count instructions of threads: work of
-- tensor cores is not in them, and a packed pair of halves counts as one. Of caches and clocks see ncu_workloads.
WITH named AS (
    SELECT
        pass,
        workload_id,
        workload,
        name,
        grid,
        block,
        CASE
            WHEN instance IS NOT NULL OR section IS NOT NULL THEN NULL
            WHEN metric = 'dram__bytes_read.sum' AND unit = 'byte' THEN 'read'
            WHEN metric = 'dram__bytes_write.sum' AND unit = 'byte' THEN 'write'
            WHEN metric = 'gpu__time_duration.sum' AND unit = 'ns' THEN 'duration'
            WHEN unit IN ('inst', '') THEN
                regexp_extract(metric, '^smsp__sass_thread_inst_executed_op_([hfd](add|mul|fma))_pred_on\.sum$', 1)
        END AS what,
        value
    FROM counter
), each AS (
    SELECT
        pass,
        workload_id,
        any_value(workload) AS workload,
        any_value(name) AS name,
        any_value(grid) AS grid,
        any_value(block) AS block,
        max(value) FILTER (what = 'hadd') + max(value) FILTER (what = 'hmul') + 2 * max(value) FILTER (what = 'hfma')
            AS fp16,
        max(value) FILTER (what = 'fadd') + max(value) FILTER (what = 'fmul') + 2 * max(value) FILTER (what = 'ffma')
            AS fp32,
        max(value) FILTER (what = 'dadd') + max(value) FILTER (what = 'dmul') + 2 * max(value) FILTER (what = 'dfma')
            AS fp64,
        max(value) FILTER (what = 'read') + max(value) FILTER (what = 'write') AS bytes,
        max(value) FILTER (what = 'duration') AS duration
    FROM named
    GROUP BY pass, workload_id
)
SELECT
    pass,
    workload_id,
    workload,
    name AS kernel,
    grid,
    block,
    CAST(fp16 AS BIGINT) AS fp16_flop,
    CAST(fp32 AS BIGINT) AS fp32_flop,
    CAST(fp64 AS BIGINT) AS fp64_flop,
    CAST(bytes AS BIGINT) AS dram_bytes,
    CAST(round(duration) AS BIGINT) AS duration_ns,
    round(fp16 / nullif(bytes, 0), 4) AS fp16_flop_per_byte,
    round(fp32 / nullif(bytes, 0), 4) AS fp32_flop_per_byte,
    round(fp64 / nullif(bytes, 0), 4) AS fp64_flop_per_byte,
    CAST(round(1e9 * fp16 / nullif(duration, 0)) AS BIGINT) AS fp16_flop_per_second,
    CAST(round(1e9 * fp32 / nullif(duration, 0)) AS BIGINT) AS fp32_flop_per_second,
    CAST(round(1e9 * fp64 / nullif(duration, 0)) AS BIGINT) AS fp64_flop_per_second,
    CAST(round(1e9 * bytes / nullif(duration, 0)) AS BIGINT) AS bytes_per_second,
    nullif(concat_ws(
        '; ',
        CASE WHEN fp16 IS NULL THEN 'fp16: an op_{hadd,hmul,hfma} metric is missing' END,
        CASE WHEN fp32 IS NULL THEN 'fp32: an op_{fadd,fmul,ffma} metric is missing' END,
        CASE WHEN fp64 IS NULL THEN 'fp64: an op_{dadd,dmul,dfma} metric is missing' END,
        CASE WHEN bytes IS NULL THEN 'bytes: dram__bytes_read.sum or dram__bytes_write.sum is missing' END,
        CASE WHEN duration IS NULL THEN 'time: gpu__time_duration.sum is missing' END,
        CASE WHEN bytes = 0 THEN 'nothing was moved to or from DRAM, so there is no ratio' END
    ), '') AS reason
FROM each
ORDER BY pass, workload_id
