-- One row per case and piece of device work of an invocation, as the drivers prepared it; more where passes differ.
--
-- case_id               experiment:variant:submission:shape
-- ordinal               position in the invocation, from 0
-- kind                  kernel, memset, library (a call whose kernels the vendor chooses)
-- name                  name of the kernel or of the call
-- source                name of its source file; NULL for what the suite does not compile
-- grid                  blocks as x,y,z; NULL for what is no kernel
-- block                 threads of a block as x,y,z; NULL likewise
-- blocks                blocks together; NULL likewise
-- threads_per_block     threads of a block together; NULL likewise
-- dynamic_shared_bytes  dynamic shared memory per block in bytes; NULL likewise
-- cooperative           whether all blocks are launched together; NULL likewise
-- bytes                 bytes that a memset sets; NULL for anything else
-- multiprocessors       multiprocessors of the device that these passes ran on; NULL when they do not tell
-- passes                passes that prepared just this, joined by ', '
--
-- Instrumented builds (pass trace) must be launched like those that are measured: then both have as many workers.
WITH used AS (
    SELECT pass, max(multiprocessors) AS multiprocessors FROM device GROUP BY pass
), told AS (
    SELECT
        p.*,
        p.grid_x || ',' || p.grid_y || ',' || p.grid_z AS grid,
        p.block_x || ',' || p.block_y || ',' || p.block_z AS block,
        p.grid_x * p.grid_y * p.grid_z AS blocks,
        p.block_x * p.block_y * p.block_z AS threads,
        u.multiprocessors
    FROM planned_launch AS p
    LEFT JOIN used AS u ON u.pass = p.pass
)
SELECT
    t.case_id,
    t.ordinal,
    t.kind,
    t.name,
    t.source,
    t.grid,
    t.block,
    t.blocks,
    t.threads AS threads_per_block,
    t.dynamic_shared_bytes,
    t.cooperative,
    t.bytes,
    t.multiprocessors,
    string_agg(DISTINCT t.pass, ', ' ORDER BY t.pass) AS passes
FROM told AS t
LEFT JOIN variant_case AS c ON c.case_id = t.case_id
GROUP BY
    c.case_order, t.case_id, t.ordinal, t.kind, t.name, t.source, t.grid, t.block, t.blocks, t.threads,
    t.dynamic_shared_bytes, t.cooperative, t.bytes, t.multiprocessors
ORDER BY
    c.case_order NULLS LAST, t.case_id NULLS FIRST, t.ordinal NULLS FIRST, passes, t.kind NULLS FIRST,
    t.name NULLS FIRST, t.source NULLS FIRST, t.grid NULLS FIRST, t.block NULLS FIRST, t.blocks NULLS FIRST,
    t.threads NULLS FIRST, t.dynamic_shared_bytes NULLS FIRST, t.cooperative NULLS FIRST, t.bytes NULLS FIRST,
    t.multiprocessors NULLS FIRST
