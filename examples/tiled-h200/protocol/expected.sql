-- What each case of `tiled` must show: the one place where the experiment declares it.
--
-- case_id              joins variant_case
-- kernels              kernels per invocation
-- graph_nodes          kernel nodes in the CUDA graph; NULL for stream submissions
-- kernel_names         names of the kernels in order
-- logical_read_bytes   bytes that the variant's kernels must read, each kernel's inputs once
-- logical_write_bytes  bytes that the variant's kernels must write, each kernel's outputs once
-- reread_bytes         bytes that a kernel comes back to after all others may have pushed them out of the caches
-- memset_nodes         memsets per invocation: none, no counter is reset by one
--
-- x and y are 4,096 bytes a tile; two summaries are 8 bytes a tile and 8 bytes a row. Separate: the first
-- kernel reads x and writes the tiles' summaries; the second reads these and writes the rows'; the third reads
-- x and the rows' and writes y. The others are one kernel for all of that: they must read x once and write y
-- and all summaries once. Phased and queue come back to x for C: whether that reaches DRAM is up to the L2
-- cache, and so is what such a kernel reads of its own results, which is not declared. Layout arrays, counters and the
-- queue (which queue_init fills) are left out as well: less than 24 bytes a tile.
WITH sized AS (
    SELECT
        case_id,
        variant,
        submission,
        CAST(parameters ->> 'rows' AS BIGINT) AS rows,
        CAST(parameters ->> 'rows' AS BIGINT) // 8
            * (CAST(parameters ->> 'tiles_long' AS BIGINT) + 7 * CAST(parameters ->> 'tiles_short' AS BIGINT))
            AS tiles
    FROM variant_case
    WHERE experiment = 'tiled'
), named AS (
    SELECT
        *,
        CASE variant
            WHEN 'separate' THEN ['tile_summary', 'combine_rows', 'normalise_tiles']
            WHEN 'phased' THEN ['persistent']
            WHEN 'queue' THEN ['queue_init', 'persistent']
            WHEN 'dataflow' THEN ['dataflow']
        END AS kernel_names
    FROM sized
)
SELECT
    case_id,
    CAST(len(kernel_names) AS BIGINT) AS kernels,
    CAST(CASE WHEN submission = 'graph' THEN len(kernel_names) END AS BIGINT) AS graph_nodes,
    kernel_names,
    CASE variant WHEN 'separate' THEN (2 * 4096 + 8) * tiles + 8 * rows ELSE 4096 * tiles END
        AS logical_read_bytes,
    (4096 + 8) * tiles + 8 * rows AS logical_write_bytes,
    CASE WHEN variant IN ('phased', 'queue') THEN 4096 * tiles ELSE 0 END AS reread_bytes,
    CAST(0 AS BIGINT) AS memset_nodes
FROM named
