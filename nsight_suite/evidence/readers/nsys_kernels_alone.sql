-- Kernels as `batch` holds them, for questions to which it does not matter what started them.
DROP TABLE kernel;

CREATE VIEW kernel AS
SELECT
    kernel_cells.* EXCLUDE (global_pid),
    CAST(NULL AS BIGINT) AS process,
    CAST(NULL AS BIGINT) AS launch_id,
    CAST(NULL AS BIGINT) AS range_id,
    CAST(NULL AS BIGINT) AS path_id
FROM kernel_cells;
