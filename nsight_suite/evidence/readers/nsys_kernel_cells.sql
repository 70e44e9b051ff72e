-- The kernels of `batch` with their names, in the columns of the table kernel that do not depend on what started them.
CREATE OR REPLACE TEMP VIEW kernel_cells AS
SELECT
    batch.globalPid AS global_pid,
    getvariable('pass_name') AS pass,
    batch.row AS kernel_id,
    named.name,
    batch.deviceId AS device,
    batch.contextId AS context,
    batch.streamId AS stream,
    batch.correlationId AS correlation_id,
    batch.graphNodeId AS graph_node_id,
    CASE WHEN timed("start", "end") THEN "start" END AS start_ns,
    CASE WHEN timed("start", "end") THEN "end" END AS end_ns,
    batch.registersPerThread AS registers_per_thread,
    batch.staticSharedMemory AS static_shared_bytes,
    batch.dynamicSharedMemory AS dynamic_shared_bytes,
    batch.localMemoryPerThread AS local_bytes_per_thread,
    batch.gridX AS grid_x,
    batch.gridY AS grid_y,
    batch.gridZ AS grid_z,
    batch.blockX AS block_x,
    batch.blockY AS block_y,
    batch.blockZ AS block_z
FROM batch
-- Each pair of numbers is in `named`, so no row is lost. An outer join would hand on text instead of the few numbers
-- of its entries, which doubles the time of a question that groups by name.
JOIN nsys.named
    ON named.demangledName IS NOT DISTINCT FROM batch.demangledName
    AND named.shortName IS NOT DISTINCT FROM batch.shortName;
