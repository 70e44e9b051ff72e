-- Ranges, as `found`, with all that ran inside them. 9223372036854775807 is the end of a range without one.
CREATE TEMP VIEW found_range AS
SELECT
    getvariable('pass_name') AS pass,
    range_id,
    process,
    thread,
    domain.name AS domain,
    label.name,
    CASE WHEN paid > 0 THEN payload END AS payload,
    CASE style WHEN 1 THEN 'push_pop' ELSE 'start_end' END AS style,
    ['here', 'elsewhere', 'never'][closed + 1] AS closed,
    "start" AS start_ns,
    nullif("end", 9223372036854775807) AS end_ns,
    nullif(parent, -1) AS parent_range_id,
    depth,
    path_id,
    nullif(first_launch_id, -1) AS first_launch_id,
    nullif(last_launch_id, -1) AS last_launch_id,
    launches,
    kernels,
    operations,
    CASE WHEN timed > 0 THEN device_ns END AS device_ns,
    CASE WHEN timed > 0 THEN first_ns END AS projected_start_ns,
    CASE WHEN timed > 0 THEN last_ns END AS projected_end_ns
FROM found
JOIN nsys.label USING (label)
LEFT JOIN nsys.label AS domain ON domain.label = found.domain;
