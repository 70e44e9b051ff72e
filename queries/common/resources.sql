-- One row per kernel of a variant at a shape: resources by the assembler, nsys and ncu, and what bounds residency.
--
-- variant                name of the variant
-- shape                  name of the problem size
-- kernel                 name of the kernel
-- build_registers        registers per thread by the assembler; NULL for kernels that the suite did not compile
-- nsys_registers         registers per thread by nsys
-- ncu_registers          registers per thread by ncu
-- static_shared_bytes    static shared memory per block in bytes, by nsys
-- dynamic_shared_bytes   dynamic shared memory per block in bytes, by nsys
-- local_bytes            local memory (stack and spills) per thread in bytes, by the assembler, else by nsys
-- blocks                 blocks of the launch, by nsys
-- threads_per_block      threads per block, by nsys
-- limit_registers        blocks per multiprocessor that the registers allow, by ncu
-- limit_shared_memory    blocks per multiprocessor that the shared memory allows, by ncu
-- limit_warps            blocks per multiprocessor that the warps allow, by ncu
-- limit_blocks           blocks per multiprocessor that the hardware allows, by ncu
-- resident_blocks_limit  smallest of the limits: a capacity, not what was resident and not utilisation
-- bound_by               the resource or resources with the smallest limit
WITH nsys AS (
    SELECT
        c.variant,
        c.shape,
        i.short_name,
        min(k.name) AS name,
        max(k.registers_per_thread) AS registers,
        max(k.static_shared_bytes) AS static_shared,
        max(k.dynamic_shared_bytes) AS dynamic_shared,
        max(k.local_bytes_per_thread) AS local,
        max(k.grid_x * k.grid_y * k.grid_z) AS blocks,
        max(k.block_x * k.block_y * k.block_z) AS threads
    FROM invocation_kernel AS i
    JOIN kernel AS k ON k.pass = i.pass AND k.kernel_id = i.kernel_id
    JOIN variant_case AS c ON c.case_id = i.case_id
    GROUP BY c.variant, c.shape, i.short_name
), ncu AS (
    SELECT
        c.variant,
        c.shape,
        w.short_name,
        min(k.name) AS name,
        max(k.value) FILTER (k.metric = 'launch__registers_per_thread') AS registers,
        max(k.value) FILTER (k.metric = 'launch__occupancy_limit_registers') AS limit_registers,
        max(k.value) FILTER (k.metric = 'launch__occupancy_limit_shared_mem') AS limit_shared,
        max(k.value) FILTER (k.metric = 'launch__occupancy_limit_warps') AS limit_warps,
        max(k.value) FILTER (k.metric = 'launch__occupancy_limit_blocks') AS limit_blocks
    FROM counter AS k
    JOIN workload AS w ON w.pass = k.pass AND w.workload_id = k.workload_id
    JOIN variant_case AS c ON c.case_id = k.range_name
    WHERE k.workload = 'kernel' AND k.metric LIKE 'launch\_\_%' ESCAPE '\'
    GROUP BY c.variant, c.shape, w.short_name
), compiled AS (
    -- A build is known by its source, which may be that of several variants: these are told by what they launch.
    SELECT variant, kernel, registers_per_thread, local_bytes_per_thread FROM build WHERE pass <> 'trace'
    UNION ALL
    SELECT c.variant, b.kernel, b.registers_per_thread, b.local_bytes_per_thread
    FROM planned_launch AS p
    JOIN variant_case AS c ON c.case_id = p.case_id
    JOIN build AS b ON b.pass = p.pass AND b.kernel = p.name AND b.cubin_sha256 = p.cubin_sha256
    WHERE p.pass <> 'trace'
), built AS (
    SELECT variant, kernel, max(registers_per_thread) AS registers, max(local_bytes_per_thread) AS local
    FROM compiled
    GROUP BY variant, kernel
), joined AS (
    -- Tools write the same name in different ways (`ops::` or not, `(int)2` or `2`).
    SELECT
        coalesce(nsys.variant, ncu.variant) AS variant,
        coalesce(nsys.shape, ncu.shape) AS shape,
        coalesce(nsys.short_name, ncu.short_name) AS short_name,
        coalesce(nsys.name, ncu.name) AS kernel,
        nsys.registers AS nsys_registers,
        ncu.registers AS ncu_registers,
        nsys.* EXCLUDE (variant, shape, short_name, name, registers),
        ncu.* EXCLUDE (variant, shape, short_name, name, registers),
        least(ncu.limit_registers, ncu.limit_shared, ncu.limit_warps, ncu.limit_blocks) AS smallest
    FROM nsys
    FULL JOIN ncu
        ON nsys.variant = ncu.variant AND nsys.shape = ncu.shape AND nsys.short_name = ncu.short_name
)
SELECT
    j.variant,
    j.shape,
    j.kernel,
    b.registers AS build_registers,
    j.nsys_registers,
    CAST(j.ncu_registers AS BIGINT) AS ncu_registers,
    j.static_shared AS static_shared_bytes,
    j.dynamic_shared AS dynamic_shared_bytes,
    coalesce(b.local, j.local) AS local_bytes,
    j.blocks,
    j.threads AS threads_per_block,
    CAST(j.limit_registers AS BIGINT) AS limit_registers,
    CAST(j.limit_shared AS BIGINT) AS limit_shared_memory,
    CAST(j.limit_warps AS BIGINT) AS limit_warps,
    CAST(j.limit_blocks AS BIGINT) AS limit_blocks,
    CAST(j.smallest AS BIGINT) AS resident_blocks_limit,
    nullif(concat_ws(
        '+',
        CASE WHEN j.limit_registers = j.smallest THEN 'registers' END,
        CASE WHEN j.limit_shared = j.smallest THEN 'shared memory' END,
        CASE WHEN j.limit_warps = j.smallest THEN 'warps' END,
        CASE WHEN j.limit_blocks = j.smallest THEN 'blocks' END
    ), '') AS bound_by
FROM joined AS j
LEFT JOIN built AS b
    ON b.variant = j.variant AND b.kernel = j.short_name
LEFT JOIN (SELECT variant, shape, min(case_order) AS case_order FROM variant_case GROUP BY ALL) AS o
    ON o.variant = j.variant AND o.shape = j.shape
ORDER BY o.case_order, j.variant, j.shape, j.kernel
