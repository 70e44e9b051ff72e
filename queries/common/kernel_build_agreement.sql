-- One row per kernel that the suite compiled: its registers, shared and local memory by the assembler, nsys and ncu.
--
-- variant             name of the source that it was compiled from, without suffix
-- kernel              name of the kernel
-- architecture        sm_90 …
-- cubin_sha256        SHA-256 of the machine code
-- passes              passes that compiled it, joined by ', '
-- build_registers     registers per thread by the assembler
-- nsys_registers      registers per thread by nsys; NULL when it saw no such kernel in an invocation
-- ncu_registers       registers per thread by ncu; NULL when it profiled none
-- build_static_bytes  static shared memory per block in bytes by the assembler
-- nsys_static_bytes   static shared memory per block in bytes by nsys
-- ncu_static_bytes    static shared memory per block in bytes by ncu
-- build_local_bytes   local memory (stack and spills) per thread in bytes by the assembler
-- nsys_local_bytes    local memory per thread in bytes by nsys; ncu has no such number
-- agree               whether nsys and ncu tell what the assembler tells; NULL when neither tells anything
--
-- A launch is given 16 registers per thread at least, however few the assembler needs (seen on an H200): nsys and ncu
-- tell what is given. Kernels of the pass trace are instrumented, and left out. What a profiler saw belongs to the machine code that its
-- pass launched; of several values that it saw the one furthest from the assembler's is shown.
WITH compiled AS (
    SELECT
        variant,
        kernel,
        architecture,
        cubin_sha256,
        string_agg(DISTINCT pass, ', ' ORDER BY pass) AS passes,
        max(registers_per_thread) AS registers,
        max(static_shared_bytes) AS static_bytes,
        max(local_bytes_per_thread) AS local_bytes
    FROM build
    WHERE pass <> 'trace'
    GROUP BY variant, kernel, architecture, cubin_sha256
), launched AS (
    SELECT
        pass,
        case_id,
        name AS kernel,
        CASE WHEN count(DISTINCT cubin_sha256) = 1 THEN max(cubin_sha256) END AS cubin_sha256
    FROM planned_launch
    WHERE kind = 'kernel'
    GROUP BY pass, case_id, name
), sole AS (
    -- Where no launch tells its machine code, a name that only one of the pass's builds has is known too.
    SELECT
        pass,
        kernel,
        CASE WHEN count(DISTINCT cubin_sha256) = 1 THEN max(cubin_sha256) END AS cubin_sha256
    FROM build
    GROUP BY pass, kernel
), told AS (
    SELECT
        pass,
        workload_id,
        max(value) FILTER (metric = 'launch__shared_mem_per_block_static') AS static_bytes
    FROM counter
    WHERE instance IS NULL AND section IS NULL
    GROUP BY pass, workload_id
), seen AS (
    SELECT
        'nsys' AS tool,
        i.pass,
        i.case_id,
        i.short_name AS kernel,
        k.registers_per_thread AS registers,
        k.static_shared_bytes AS static_bytes,
        k.local_bytes_per_thread AS local_bytes
    FROM invocation_kernel AS i
    JOIN kernel AS k ON k.pass = i.pass AND k.kernel_id = i.kernel_id
    UNION ALL
    SELECT
        'ncu', w.pass, w.case_id, w.short_name, w.registers_per_thread, CAST(t.static_bytes AS BIGINT), NULL
    FROM workload AS w
    JOIN told AS t ON t.pass = w.pass AND t.workload_id = w.workload_id
    WHERE w.workload = 'kernel'
), by_code AS (
    SELECT DISTINCT
        s.tool,
        s.kernel,
        coalesce(l.cubin_sha256, o.cubin_sha256) AS cubin_sha256,
        s.registers,
        s.static_bytes,
        s.local_bytes
    FROM seen AS s
    LEFT JOIN launched AS l ON l.pass = s.pass AND l.case_id = s.case_id AND l.kernel = s.kernel
    LEFT JOIN sole AS o ON o.pass = s.pass AND o.kernel = s.kernel
), furthest AS (
    SELECT
        c.variant,
        c.kernel,
        c.architecture,
        c.cubin_sha256,
        s.tool,
        max({'by': abs(s.registers - greatest(c.registers, 16)), 'told': s.registers})
            FILTER (s.registers IS NOT NULL) AS registers,
        max({'by': abs(s.static_bytes - c.static_bytes), 'told': s.static_bytes})
            FILTER (s.static_bytes IS NOT NULL) AS static_bytes,
        max({'by': abs(s.local_bytes - c.local_bytes), 'told': s.local_bytes})
            FILTER (s.local_bytes IS NOT NULL) AS local_bytes
    FROM compiled AS c
    JOIN by_code AS s ON s.kernel = c.kernel AND s.cubin_sha256 = c.cubin_sha256
    GROUP BY c.variant, c.kernel, c.architecture, c.cubin_sha256, s.tool
)
SELECT
    c.variant,
    c.kernel,
    c.architecture,
    c.cubin_sha256,
    c.passes,
    c.registers AS build_registers,
    n.registers.told AS nsys_registers,
    u.registers.told AS ncu_registers,
    c.static_bytes AS build_static_bytes,
    n.static_bytes.told AS nsys_static_bytes,
    u.static_bytes.told AS ncu_static_bytes,
    c.local_bytes AS build_local_bytes,
    n.local_bytes.told AS nsys_local_bytes,
    list_bool_and([
        n.registers.told = greatest(c.registers, 16),
        u.registers.told = greatest(c.registers, 16),
        n.static_bytes.told = c.static_bytes,
        u.static_bytes.told = c.static_bytes,
        n.local_bytes.told = c.local_bytes
    ]) AS agree
FROM compiled AS c
LEFT JOIN furthest AS n
    ON n.tool = 'nsys'
    AND n.variant = c.variant
    AND n.kernel = c.kernel
    AND n.architecture IS NOT DISTINCT FROM c.architecture
    AND n.cubin_sha256 = c.cubin_sha256
LEFT JOIN furthest AS u
    ON u.tool = 'ncu'
    AND u.variant = c.variant
    AND u.kernel = c.kernel
    AND u.architecture IS NOT DISTINCT FROM c.architecture
    AND u.cubin_sha256 = c.cubin_sha256
ORDER BY
    c.variant NULLS FIRST, c.kernel NULLS FIRST, c.architecture NULLS FIRST, c.cubin_sha256 NULLS FIRST
