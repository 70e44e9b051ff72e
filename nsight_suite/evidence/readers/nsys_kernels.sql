-- Kernels of one batch, each joined to the call that started it. Those that no recorded call started stay, unjoined.
SET VARIABLE first_id = (SELECT min(correlationId) FROM batch);
SET VARIABLE last_id = (SELECT max(correlationId) FROM batch);

INSERT INTO kernel BY NAME
SELECT
    kernel_cells.* EXCLUDE (global_pid),
    process.process,
    launch_of.launch_id,
    launch_of.place.range_id AS range_id,
    launch_of.place.path_id AS path_id
FROM kernel_cells
LEFT JOIN nsys.process ON process.global_pid = kernel_cells.global_pid
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
    ON launch_of.process = process.process AND launch_of.correlation_id = kernel_cells.correlation_id;
