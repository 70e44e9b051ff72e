-- One row per ncu report, kernel and launch shape: the blocks that a multiprocessor can hold, and what bounds them.
--
-- pass                   name of the report
-- kernel                 name of the kernel
-- grid                   grid as x,y,z blocks; NULL when the report does not tell
-- block                  block as x,y,z threads; NULL when the report does not tell
-- workloads              workloads of that kernel and shape
-- limit_registers        blocks per multiprocessor that the registers allow; NULL when not collected
-- limit_shared_memory    blocks that the shared memory allows; NULL when not collected
-- limit_warps            blocks that the warps allow; NULL when not collected
-- limit_blocks           blocks that the hardware allows; NULL when not collected
-- limit_barriers         blocks that the barriers allow; NULL when not collected: older ncu does not know it
-- resident_blocks_limit  smallest of the limits; NULL when any of the first four is missing
-- bound_by               the resource or resources with the smallest limit
-- theoretical_pct        warps that fit over warps of a full multiprocessor in percent; NULL when not collected
-- achieved_pct           sm__warps_active.avg.pct_of_peak_sustained_active in percent, median; NULL when not collected
-- waves                  rounds in which a full device works off the grid; NULL when not collected
-- reason                 why the smallest limit is unknown
--
-- A limit is a capacity: neither what was resident nor how busy the multiprocessor was. achieved_pct is measured.
WITH each AS (
    SELECT
        pass,
        workload_id,
        any_value(name) AS name,
        any_value(grid) AS grid,
        any_value(block) AS block,
        max(value) FILTER (metric = 'launch__occupancy_limit_registers') AS registers,
        max(value) FILTER (metric = 'launch__occupancy_limit_shared_mem') AS shared,
        max(value) FILTER (metric = 'launch__occupancy_limit_warps') AS warps,
        max(value) FILTER (metric = 'launch__occupancy_limit_blocks') AS blocks,
        max(value) FILTER (metric = 'launch__occupancy_limit_barriers') AS barriers,
        max(value) FILTER (metric = 'sm__maximum_warps_per_active_cycle_pct' AND unit = '%') AS theoretical,
        max(value) FILTER (metric = 'sm__warps_active.avg.pct_of_peak_sustained_active' AND unit = '%') AS achieved,
        max(value) FILTER (metric = 'launch__waves_per_multiprocessor') AS waves
    FROM counter
    WHERE workload = 'kernel' AND instance IS NULL AND section IS NULL
    GROUP BY pass, workload_id
), grouped AS (
    SELECT
        pass,
        name,
        grid,
        block,
        count(*) AS workloads,
        -- The tightest of any workload: they may differ where shared memory is configured between them.
        min(registers) AS registers,
        min(shared) AS shared,
        min(warps) AS warps,
        min(blocks) AS blocks,
        min(barriers) AS barriers,
        min(theoretical) AS theoretical,
        quantile_cont(achieved, 0.5) AS achieved,
        quantile_cont(waves, 0.5) AS waves
    FROM each
    GROUP BY pass, name, grid, block
), smallest AS (
    SELECT
        *,
        -- least() passes over barriers that were not collected.
        CASE
            WHEN registers + shared + warps + blocks IS NOT NULL
                THEN least(registers, shared, warps, blocks, barriers)
        END AS tightest
    FROM grouped
)
SELECT
    pass,
    name AS kernel,
    grid,
    block,
    workloads,
    CAST(registers AS BIGINT) AS limit_registers,
    CAST(shared AS BIGINT) AS limit_shared_memory,
    CAST(warps AS BIGINT) AS limit_warps,
    CAST(blocks AS BIGINT) AS limit_blocks,
    CAST(barriers AS BIGINT) AS limit_barriers,
    CAST(tightest AS BIGINT) AS resident_blocks_limit,
    nullif(concat_ws(
        '+',
        CASE WHEN registers = tightest THEN 'registers' END,
        CASE WHEN shared = tightest THEN 'shared memory' END,
        CASE WHEN warps = tightest THEN 'warps' END,
        CASE WHEN blocks = tightest THEN 'blocks' END,
        CASE WHEN barriers = tightest THEN 'barriers' END
    ), '') AS bound_by,
    theoretical AS theoretical_pct,
    achieved AS achieved_pct,
    waves,
    CASE
        WHEN tightest IS NULL THEN 'launch__occupancy_limit_{registers,shared_mem,warps,blocks} were not all collected'
    END AS reason
FROM smallest
ORDER BY pass, kernel, grid NULLS FIRST, smallest.block NULLS FIRST
