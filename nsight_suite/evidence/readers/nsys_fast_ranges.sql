-- Ranges, as `found`, with all that ran inside them, as loops.py tells it: early is 9223372036854775807 minus the
-- first start, late the last end plus 1, counts the operations in the upper 32 bits with the kernels in the lower ones.
-- What is the same for many ranges stands in nsys.code.
CREATE TEMP VIEW found_range AS
SELECT
    getvariable('pass_name') AS pass,
    range_id,
    code.process,
    code.thread,
    code.domain,
    code.name,
    nullif(payload, CAST('-9223372036854775808' AS BIGINT)) AS payload,
    code.style,
    code.closed,
    "start" AS start_ns,
    nullif("end", 9223372036854775807) AS end_ns,
    CAST(NULL AS BIGINT) AS parent_range_id,
    CAST(NULL AS BIGINT) AS depth,
    CAST(NULL AS BIGINT) AS path_id,
    CAST(NULL AS BIGINT) AS first_launch_id,
    CAST(NULL AS BIGINT) AS last_launch_id,
    CAST(launches AS BIGINT) AS launches,
    counts & 4294967295 AS kernels,
    counts >> 32 AS operations,
    CASE WHEN early > 0 THEN spent END AS device_ns,
    CASE WHEN early > 0 THEN 9223372036854775807 - early END AS projected_start_ns,
    CASE WHEN early > 0 THEN late - 1 END AS projected_end_ns
FROM found
JOIN nsys.code USING (code);
DROP TABLE "range";
CREATE VIEW "range" AS FROM found_range;
