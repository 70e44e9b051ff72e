-- Calls that neither start device work nor wait for it.
INSERT INTO api_call BY NAME
SELECT
    getvariable('pass_name') AS pass,
    call.process,
    call.thread,
    api_name.name,
    call.start_ns,
    call.end_ns
FROM window_call AS call
JOIN nsys.api_name ON api_name.id IS NOT DISTINCT FROM call.name_id
WHERE call.kind IS NULL OR call.kind IN (5, 6);
