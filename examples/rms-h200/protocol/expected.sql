-- What each case of `rms` must show: the one place where the experiment declares it.
--
-- case_id              joins variant_case
-- kernels              kernels per invocation
-- graph_nodes          kernel nodes in the CUDA graph; NULL for stream submissions
-- kernel_names         names of the kernels in order
-- logical_read_bytes   bytes that the variant's kernels must read, each kernel's inputs once
-- logical_write_bytes  bytes that the variant's kernels must write, each kernel's outputs once
--
-- Baseline: nine kernels, of which eight read a whole array and five write one; the numbers of rows are read
-- four times and written four times. Local: each of three kernels reads x, the last one writes y; the
-- statistics of the tiles (8 bytes each) are written once and read twice, their sums (4 bytes) written and read
-- once. A tile has 4096 floats, or 1024 when the whole array has fewer than 2^20.
--
-- Mega: x in, y out. What its blocks tell one another inside the kernel (12 to 24 bytes each) is no input and
-- no output, and neither is the second look at x of mega_grid_reload another input.
--
-- A mega launch holds as many rows as have all their tiles in shared memory at once, one tile per
-- multiprocessor. A row of 131072 floats is 512 KiB: four blocks of up to 227 KB (compute capability 9 to 11)
-- or 163 KB (8.0, 8.7), sixteen of 64 KB (7.5), eight of about 96 KB (others). Where the device is unknown, the
-- launches that the driver planned are taken: then the count is held against itself on that side, and against
-- nsys, ncu and the graph API still.
WITH gpu AS (
    SELECT
        max(multiprocessors) AS multiprocessors,
        max(CASE
            WHEN split_part(compute_capability, '.', 1) IN ('9', '10', '11') THEN 4
            WHEN compute_capability IN ('8.0', '8.7') THEN 4
            WHEN compute_capability = '7.5' THEN 16
            ELSE 8
        END) AS blocks_per_row
    FROM device
    WHERE multiprocessors IS NOT NULL AND compute_capability IS NOT NULL
), planned AS (
    SELECT case_id, max(launches) AS launches
    FROM (SELECT pass, case_id, count(*) AS launches FROM planned_launch GROUP BY pass, case_id)
    GROUP BY case_id
), sized AS (
    SELECT
        c.case_id,
        c.variant,
        c.submission,
        CAST(c.parameters ->> 'rows' AS BIGINT) AS row_count,
        CAST(c.parameters ->> 'rows' AS BIGINT) * CAST(c.parameters ->> 'columns' AS BIGINT) AS elements,
        gpu.multiprocessors // gpu.blocks_per_row AS rows_at_once,
        planned.launches AS planned_launches
    FROM variant_case AS c
    CROSS JOIN gpu
    LEFT JOIN planned ON planned.case_id = c.case_id
    WHERE c.experiment = 'rms'
), counted AS (
    SELECT
        *,
        4 * elements AS array_bytes,
        4 * row_count AS row_bytes,
        elements // CASE WHEN elements < 1048576 THEN 1024 ELSE 4096 END AS tiles,
        CASE variant
            WHEN 'baseline' THEN 9
            WHEN 'local' THEN 3
            ELSE coalesce((row_count + rows_at_once - 1) // rows_at_once, planned_launches)
        END AS launches
    FROM sized
)
SELECT
    case_id,
    CAST(launches AS BIGINT) AS kernels,
    CAST(CASE WHEN submission = 'graph' THEN launches END AS BIGINT) AS graph_nodes,
    CASE
        WHEN variant = 'baseline' THEN [
            'square', 'mean_square', 'inverse_rms', 'row_max', 'subtract',
            'scale', 'exponential', 'row_sum', 'divide'
        ]
        WHEN variant = 'local' THEN ['local_statistics', 'local_sums', 'local_normalise']
        WHEN variant LIKE 'mega_grid%' THEN ['mega_grid' FOR launch IN range(launches)]
        ELSE ['mega_row' FOR launch IN range(launches)]
    END AS kernel_names,
    CASE variant
        WHEN 'baseline' THEN 8 * array_bytes + 4 * row_bytes
        WHEN 'local' THEN 3 * array_bytes + 20 * tiles
        ELSE array_bytes
    END AS logical_read_bytes,
    CASE variant
        WHEN 'baseline' THEN 5 * array_bytes + 4 * row_bytes
        WHEN 'local' THEN array_bytes + 12 * tiles
        ELSE array_bytes
    END AS logical_write_bytes
FROM counted
