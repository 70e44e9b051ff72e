-- Calls that only wrap others that do the work, or are wrapped by them, as `found`.
INSERT INTO api_call BY NAME
SELECT
    getvariable('pass_name') AS pass,
    process,
    thread,
    api_name.name,
    "start" AS start_ns,
    CASE WHEN NOT unended THEN "end" END AS end_ns
FROM found
JOIN nsys.api_name ON coalesce(api_name.id, -1) = found.name_id;
