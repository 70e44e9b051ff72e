-- Kernels of one batch, each joined to the call that started it. Those that no recorded call started stay, unjoined.
SET VARIABLE first_id = (SELECT min(correlationId) FROM batch);
SET VARIABLE last_id = (SELECT max(correlationId) FROM batch);

INSERT INTO kernel BY NAME
SELECT
    getvariable('pass_name') AS pass,
    batch.row AS kernel_id,
    process.process,
    launch_of.launch_id,
    launch_of.place.range_id AS range_id,
    launch_of.place.path_id AS path_id,
    coalesce(
        full_name.value, short_name.value, '<string ' || batch.demangledName || ' missing>', '<unnamed>'
    ) AS name,
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
LEFT JOIN nsys.process ON process.global_pid = batch.globalPid
LEFT JOIN (
    SELECT
        process,
        correlation_id,
        min(launch_id) AS launch_id,
        arg_min({'range_id': range_id, 'path_id': path_id}, launch_id) AS place
    FROM launch
    WHERE pass = getvariable('pass_name')
        AND correlation_id BETWEEN getvariable('first_id') AND getvariable('last_id')
    GROUP BY ALL
) AS launch_of
    ON launch_of.process = process.process AND launch_of.correlation_id = batch.correlationId
LEFT JOIN nsys.string AS full_name ON full_name.id = batch.demangledName
LEFT JOIN nsys.string AS short_name ON short_name.id = batch.shortName;
