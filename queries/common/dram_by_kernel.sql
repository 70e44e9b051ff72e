-- One row per ncu report, kernel and launch shape, or graph of one range: the bytes that it moved to and from DRAM.
--
-- pass               name of the report
-- workload           kernel, or graph (a whole replay measured as one)
-- kernel             name of the kernel; 'graph' for whole replays
-- range_name         of a whole replay the NVTX range around it, which tells graphs apart; NULL for single kernels
-- grid               grid as x,y,z blocks; NULL when the report does not tell
-- block              block as x,y,z threads; NULL when the report does not tell
-- cache_control      all: caches flushed before each kernel; none: as found; unknown when the report does not tell
-- workloads          workloads of that kernel and shape
-- with_read          workloads with dram__bytes_read.sum in bytes
-- with_write         workloads with dram__bytes_write.sum in bytes
-- read_p50_bytes     bytes read, median
-- read_max_bytes     most bytes read
-- write_p50_bytes    bytes written, median
-- write_max_bytes    most bytes written
-- total_p50_bytes    bytes read and written, median over the workloads with both; NULL when any lacks one
-- read_per_second    bytes read over gpu__time_duration.sum, of all workloads with both, per second of ncu's time
-- reason             why a value is NULL
--
-- Only these exact metrics in the unit byte count as bytes: averages per unit, percentages and rates do not. Writes
-- are counted when they leave the L2 cache: what is still in it when a kernel ends is missing. Zero is a measurement.
WITH each AS (
    SELECT
        pass,
        workload_id,
        any_value(workload) AS workload,
        any_value(name) AS name,
        CASE WHEN any_value(workload) = 'graph' THEN any_value(range_name) END AS range_name,
        any_value(grid) AS grid,
        any_value(block) AS block,
        max(value) FILTER (metric = 'dram__bytes_read.sum' AND unit = 'byte') AS read,
        max(value) FILTER (metric = 'dram__bytes_write.sum' AND unit = 'byte') AS write,
        max(value) FILTER (metric = 'gpu__time_duration.sum' AND unit = 'ns') AS duration,
        bool_or(metric = 'dram__bytes_read.sum') AS asked_read,
        bool_or(metric = 'dram__bytes_write.sum') AS asked_write
    FROM (SELECT * FROM counter WHERE instance IS NULL AND section IS NULL)
    GROUP BY pass, workload_id
), grouped AS (
    SELECT
        pass,
        workload,
        name,
        range_name,
        grid,
        block,
        count(*) AS workloads,
        count(read) AS with_read,
        count(write) AS with_write,
        bool_or(asked_read) AS asked_read,
        bool_or(asked_write) AS asked_write,
        quantile_cont(read, 0.5) AS read_p50_bytes,
        CAST(max(read) AS BIGINT) AS read_max_bytes,
        quantile_cont(write, 0.5) AS write_p50_bytes,
        CAST(max(write) AS BIGINT) AS write_max_bytes,
        CASE WHEN count(read + write) = count(*) THEN quantile_cont(read + write, 0.5) END AS total_p50_bytes,
        sum(CAST(read AS HUGEINT)) FILTER (duration > 0) AS read_timed,
        sum(CAST(duration AS HUGEINT)) FILTER (read IS NOT NULL) AS duration_timed
    FROM each
    GROUP BY pass, workload, name, range_name, grid, block
)
SELECT
    g.pass,
    g.workload,
    g.name AS kernel,
    g.range_name,
    g.grid,
    g.block,
    coalesce(p.cache_control, 'unknown') AS cache_control,
    g.workloads,
    g.with_read,
    g.with_write,
    g.read_p50_bytes,
    g.read_max_bytes,
    g.write_p50_bytes,
    g.write_max_bytes,
    g.total_p50_bytes,
    CAST(round(1e9 * g.read_timed / nullif(g.duration_timed, 0)) AS BIGINT) AS read_per_second,
    nullif(concat_ws(
        '; ',
        CASE
            WHEN NOT g.asked_read THEN 'dram__bytes_read.sum was not collected'
            WHEN g.with_read < g.workloads THEN 'dram__bytes_read.sum in bytes is missing for '
                || (g.workloads - g.with_read) || ' of ' || g.workloads || ' workloads'
        END,
        CASE
            WHEN NOT g.asked_write THEN 'dram__bytes_write.sum was not collected'
            WHEN g.with_write < g.workloads THEN 'dram__bytes_write.sum in bytes is missing for '
                || (g.workloads - g.with_write) || ' of ' || g.workloads || ' workloads'
        END
    ), '') AS reason
FROM grouped AS g
LEFT JOIN "pass" AS p ON p.pass = g.pass
ORDER BY g.pass, g.workload, kernel, g.range_name NULLS FIRST, g.grid NULLS FIRST, g.block NULLS FIRST
