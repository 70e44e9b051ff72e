-- Calls of one thread and window, as `found`, with the ranges that `lanes` found around them.
INSERT INTO launch BY NAME
SELECT
    getvariable('pass_name') AS pass,
    launch_id,
    process,
    thread,
    nullif(range_id, -1) AS range_id,
    nullif(path_id, -1) AS path_id,
    api_name.name,
    ['kernel', 'graph', 'memcpy', 'memset'][found.kind + 1] AS kind,
    CASE WHEN NOT uncorrelated THEN correlation_id END AS correlation_id,
    captured > 0 AND operations = 0 AS captured,
    kernels,
    operations,
    "start" AS start_ns,
    CASE WHEN NOT unended THEN "end" END AS end_ns
FROM found
JOIN nsys.api_name ON coalesce(api_name.id, -1) = found.name_id
WHERE found.kind <> 4;

INSERT INTO sync BY NAME
SELECT
    getvariable('pass_name') AS pass,
    process,
    thread,
    nullif(range_id, -1) AS range_id,
    api_name.name,
    CASE WHEN NOT uncorrelated THEN correlation_id END AS correlation_id,
    "start" AS start_ns,
    CASE WHEN NOT unended THEN "end" END AS end_ns
FROM found
JOIN nsys.api_name ON coalesce(api_name.id, -1) = found.name_id
WHERE found.kind = 4;
