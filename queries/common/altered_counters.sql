-- One row per byte count whose value is not what its report printed: the evidence was changed after it was read.
--
-- pass            ncu or ncu-warm
-- case_id         the range around the launch
-- invocation      ordinal of the invocation, from 0; NULL when unknown
-- workload_id     ID of the workload in its report
-- kernel          name of the kernel, without namespace, template arguments and parameters
-- metric          exact name of the metric
-- value_bytes     value in the evidence
-- original        value as printed in the report
-- original_unit   unit as printed in the report
-- original_bytes  the printed value in bytes
WITH printed AS (
    SELECT
        *,
        TRY_CAST(replace(original, ',', '') AS DOUBLE) * CASE original_unit
            WHEN 'byte' THEN 1 WHEN 'Kbyte' THEN 1e3 WHEN 'Mbyte' THEN 1e6 WHEN 'Gbyte' THEN 1e9 WHEN 'Tbyte' THEN 1e12
        END AS original_bytes
    FROM counter
    WHERE unit = 'byte'
)
SELECT
    pass,
    range_name AS case_id,
    invocation,
    workload_id,
    regexp_extract(name, '(?:^|[ :])([A-Za-z_][A-Za-z0-9_]*)(?:[<(]|$)', 1) AS kernel,
    metric,
    value AS value_bytes,
    original,
    original_unit,
    original_bytes
FROM printed
-- Printed numbers may be rounded to three digits.
WHERE abs(value - original_bytes) > 0.006 * greatest(abs(value), abs(original_bytes))
ORDER BY pass, workload_id, metric
