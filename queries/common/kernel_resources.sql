-- One row per report, kernel and launch shape: the resources that each thread and block takes.
--
-- pass                  name of the report
-- tool                  nsys or ncu: which of them tells it
-- kernel                name of the kernel
-- grid                  grid as x,y,z blocks; NULL when the report does not tell
-- block                 block as x,y,z threads; NULL when the report does not tell
-- blocks                blocks of a launch; NULL when the report does not tell
-- threads_per_block     threads of a block; NULL when the report does not tell
-- registers_per_thread  registers per thread; NULL when the report does not tell
-- static_shared_bytes   static shared memory per block in bytes; NULL when the report does not tell
-- dynamic_shared_bytes  dynamic shared memory per block in bytes; NULL when the report does not tell
-- local_bytes           local memory (stack and spills) per thread in bytes, by nsys
-- kernels               executions, or workloads of ncu, of that shape
--
-- What these resources allow to be resident depends on the device: ncu works it out, see occupancy_limits.
WITH each AS (
    SELECT
        pass,
        workload_id,
        any_value(name) AS name,
        any_value(grid) AS grid,
        any_value(block) AS block,
        max(value) FILTER (metric = 'launch__registers_per_thread') AS registers,
        max(value) FILTER (metric = 'launch__shared_mem_per_block_static') AS static_shared,
        max(value) FILTER (metric = 'launch__shared_mem_per_block_dynamic') AS dynamic_shared,
        -- Where the metric was not collected, the shape tells as much.
        coalesce(
            max(value) FILTER (metric = 'launch__grid_size'),
            list_product(TRY_CAST(string_split(any_value(grid), ',') AS DOUBLE[]))
        ) AS blocks,
        coalesce(
            max(value) FILTER (metric = 'launch__block_size'),
            list_product(TRY_CAST(string_split(any_value(block), ',') AS DOUBLE[]))
        ) AS threads
    FROM counter
    WHERE workload = 'kernel' AND instance IS NULL AND section IS NULL
    GROUP BY pass, workload_id
), told AS (
    SELECT
        pass,
        'nsys' AS tool,
        name,
        grid_x || ',' || grid_y || ',' || grid_z AS grid,
        block_x || ',' || block_y || ',' || block_z AS block,
        -- Of a damaged report the product may be more than any number holds.
        TRY(grid_x * grid_y * grid_z) AS blocks,
        TRY(block_x * block_y * block_z) AS threads,
        registers_per_thread AS registers,
        static_shared_bytes AS static_shared,
        dynamic_shared_bytes AS dynamic_shared,
        local_bytes_per_thread AS local_bytes,
        kernels
    FROM (
        SELECT
            pass,
            name,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            registers_per_thread,
            static_shared_bytes,
            dynamic_shared_bytes,
            local_bytes_per_thread,
            count(*) AS kernels
        FROM kernel
        GROUP BY ALL
    )
    UNION ALL
    SELECT pass, 'ncu', name, grid, block, blocks, threads, registers, static_shared, dynamic_shared, NULL, count(*)
    FROM each
    GROUP BY ALL
)
SELECT
    pass,
    tool,
    name AS kernel,
    grid,
    block,
    TRY_CAST(blocks AS BIGINT) AS blocks,
    TRY_CAST(threads AS BIGINT) AS threads_per_block,
    CAST(registers AS BIGINT) AS registers_per_thread,
    CAST(static_shared AS BIGINT) AS static_shared_bytes,
    CAST(dynamic_shared AS BIGINT) AS dynamic_shared_bytes,
    CAST(local_bytes AS BIGINT) AS local_bytes,
    kernels
FROM told
ORDER BY
    pass,
    tool,
    kernel,
    told.blocks NULLS FIRST,
    told.grid NULLS FIRST,
    told.block NULLS FIRST,
    told.threads NULLS FIRST,
    registers_per_thread NULLS FIRST,
    static_shared_bytes NULLS FIRST,
    dynamic_shared_bytes NULLS FIRST,
    told.local_bytes NULLS FIRST
