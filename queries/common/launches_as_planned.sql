-- One row per profiler pass, case and kernel launch of an invocation: its launch shape as planned and as seen.
--
-- pass                          nsys or ncu
-- case_id                       experiment:variant:submission:shape
-- kernel                        name of the kernel
-- turn                          which launch of this kernel in the invocation, from 0
-- planned_grid                  blocks as x,y,z, as the driver of this pass prepared it
-- planned_block                 threads of a block as x,y,z, likewise
-- planned_dynamic_shared_bytes  dynamic shared memory per block in bytes, likewise
-- kernels                       kernels that the profiler saw of this launch, one per invocation
-- differing                     of these, those that ran in another shape
-- seen_grid                     blocks as x,y,z of one that differs, else of one that does not; NULL when not told
-- seen_block                    threads of a block as x,y,z, likewise
-- seen_dynamic_shared_bytes     dynamic shared memory per block in bytes, likewise
--
-- Kernels of a library are chosen by its vendor and planned by nobody; they have no row.
WITH planned AS (
    SELECT
        pass,
        case_id,
        name,
        grid_x || ',' || grid_y || ',' || grid_z AS grid,
        block_x || ',' || block_y || ',' || block_z AS block,
        dynamic_shared_bytes,
        row_number() OVER (
            PARTITION BY pass, case_id, name
            ORDER BY ordinal, grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared_bytes
        ) - 1 AS turn
    FROM planned_launch
    WHERE kind = 'kernel'
), told AS (
    SELECT
        pass,
        workload_id,
        any_value(grid) AS grid,
        any_value(block) AS block,
        CAST(max(value) FILTER (
            metric = 'launch__shared_mem_per_block_dynamic' AND instance IS NULL AND section IS NULL
        ) AS BIGINT) AS dynamic_shared_bytes
    FROM counter
    GROUP BY pass, workload_id
), seen AS (
    SELECT
        i.pass,
        i.case_id,
        i.short_name AS name,
        k.grid_x || ',' || k.grid_y || ',' || k.grid_z AS grid,
        k.block_x || ',' || k.block_y || ',' || k.block_z AS block,
        k.dynamic_shared_bytes,
        row_number() OVER (PARTITION BY i.pass, i.range_id, i.short_name ORDER BY i.ordinal, i.kernel_id) - 1 AS turn
    FROM invocation_kernel AS i
    JOIN kernel AS k ON k.pass = i.pass AND k.kernel_id = i.kernel_id
    UNION ALL
    SELECT
        w.pass,
        w.case_id,
        w.short_name,
        t.grid,
        t.block,
        t.dynamic_shared_bytes,
        row_number() OVER (
            PARTITION BY w.pass, w.case_id, w.invocation, w.short_name ORDER BY w.ordinal, w.workload_id
        ) - 1
    FROM workload AS w
    JOIN told AS t ON t.pass = w.pass AND t.workload_id = w.workload_id
    WHERE w.workload = 'kernel' AND w.invocation IS NOT NULL
), held AS (
    SELECT
        p.pass,
        p.case_id,
        p.name,
        p.turn,
        p.grid,
        p.block,
        p.dynamic_shared_bytes,
        coalesce(
            s.grid <> p.grid OR s.block <> p.block OR s.dynamic_shared_bytes <> p.dynamic_shared_bytes, false
        ) AS differs,
        {'grid': s.grid, 'block': s.block, 'shared': s.dynamic_shared_bytes} AS shape
    FROM planned AS p
    JOIN seen AS s ON s.pass = p.pass AND s.case_id = p.case_id AND s.name = p.name AND s.turn = p.turn
), counted AS (
    SELECT
        pass,
        case_id,
        name,
        turn,
        grid,
        block,
        dynamic_shared_bytes,
        count(*) AS kernels,
        count(*) FILTER (differs) AS differing,
        coalesce(min(shape) FILTER (differs), min(shape)) AS shape
    FROM held
    GROUP BY pass, case_id, name, turn, grid, block, dynamic_shared_bytes
)
SELECT
    h.pass,
    h.case_id,
    h.name AS kernel,
    h.turn,
    h.grid AS planned_grid,
    h.block AS planned_block,
    h.dynamic_shared_bytes AS planned_dynamic_shared_bytes,
    h.kernels,
    h.differing,
    h.shape.grid AS seen_grid,
    h.shape.block AS seen_block,
    h.shape.shared AS seen_dynamic_shared_bytes
FROM counted AS h
LEFT JOIN variant_case AS c ON c.case_id = h.case_id
ORDER BY h.pass, c.case_order NULLS LAST, h.case_id, h.name, h.turn
