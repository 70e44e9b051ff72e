-- What ran on the device, joined to the call that started it. Work that no recorded call started stays, unjoined.

CREATE TABLE nsys.launch_of AS
SELECT global_pid, correlation_id, call_id AS launch_id FROM nsys.call WHERE kind <> 'sync';

INSERT INTO kernel BY NAME
SELECT
    getvariable('pass_name') AS pass,
    CAST(row_number() OVER (ORDER BY untimed, kernel."start", kernel.row) - 1 AS BIGINT) AS kernel_id,
    process.process,
    launch_of.launch_id,
    innermost.range_id,
    coalesce(
        full_name.value, short_name.value, '<string ' || kernel.demangledName || ' missing>', '<unnamed>'
    ) AS name,
    kernel.deviceId AS device,
    kernel.contextId AS context,
    kernel.streamId AS stream,
    kernel.correlationId AS correlation_id,
    kernel.graphNodeId AS graph_node_id,
    CASE WHEN NOT untimed THEN kernel."start" END AS start_ns,
    CASE WHEN NOT untimed THEN kernel."end" END AS end_ns,
    kernel.registersPerThread AS registers_per_thread,
    kernel.staticSharedMemory AS static_shared_bytes,
    kernel.dynamicSharedMemory AS dynamic_shared_bytes,
    kernel.localMemoryPerThread AS local_bytes_per_thread,
    kernel.gridX AS grid_x,
    kernel.gridY AS grid_y,
    kernel.gridZ AS grid_z,
    kernel.blockX AS block_x,
    kernel.blockY AS block_y,
    kernel.blockZ AS block_z
FROM (
    -- CUPTI writes start = end = 0 when it has counted a kernel but not timed it.
    SELECT *, coalesce("start", 0) = 0 AND coalesce("end", 0) = 0 AS untimed FROM nsys.kernel
) AS kernel
LEFT JOIN nsys.process ON process.global_pid = kernel.globalPid
LEFT JOIN nsys.launch_of
    ON launch_of.global_pid = kernel.globalPid AND launch_of.correlation_id = kernel.correlationId
LEFT JOIN nsys.innermost ON innermost.call_id = launch_of.launch_id
LEFT JOIN nsys.string AS full_name ON full_name.id = kernel.demangledName
LEFT JOIN nsys.string AS short_name ON short_name.id = kernel.shortName
ORDER BY kernel_id;

INSERT INTO memory_operation BY NAME
SELECT
    getvariable('pass_name') AS pass,
    process.process,
    launch_of.launch_id,
    innermost.range_id,
    operation.kind,
    operation.bytes,
    operation.streamId AS stream,
    operation.graphNodeId AS graph_node_id,
    operation."start" AS start_ns,
    operation."end" AS end_ns
FROM (
    SELECT *, 'memcpy' AS kind FROM nsys.memcpy
    UNION ALL BY NAME
    SELECT *, 'memset' AS kind FROM nsys.memset
) AS operation
LEFT JOIN nsys.process ON process.global_pid = operation.globalPid
LEFT JOIN nsys.launch_of
    ON launch_of.global_pid = operation.globalPid AND launch_of.correlation_id = operation.correlationId
LEFT JOIN nsys.innermost ON innermost.call_id = launch_of.launch_id
ORDER BY operation."start", operation.kind, operation.row;
