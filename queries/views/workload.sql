-- One row per workload that ncu profiled, with the metrics that the suite asks for, each in its own column.
-- A metric counts as bytes or ns only when its unit says so.
CREATE VIEW workload AS
SELECT
    c.pass,
    c.workload_id,
    any_value(c.workload) AS workload,
    any_value(c.range_name) AS case_id,
    any_value(c.invocation) AS invocation,
    any_value(c.ordinal) AS ordinal,
    any_value(c.name) AS name,
    regexp_extract(any_value(c.name), '(?:^|[ :])([A-Za-z_][A-Za-z0-9_]*)(?:[<(]|$)', 1) AS short_name,
    CAST(max(c.value) FILTER (c.exact = 'dram__bytes_read.sum' AND c.unit = 'byte') AS BIGINT) AS dram_read_bytes,
    CAST(max(c.value) FILTER (c.exact = 'dram__bytes_write.sum' AND c.unit = 'byte') AS BIGINT) AS dram_write_bytes,
    CAST(max(c.value) FILTER (c.exact = 'lts__t_bytes.sum' AND c.unit = 'byte') AS BIGINT) AS l2_bytes,
    CAST(max(c.value) FILTER (c.exact = 'gpu__time_duration.sum' AND c.unit = 'ns') AS BIGINT) AS duration_ns,
    CAST(max(c.value) FILTER (c.exact = 'launch__registers_per_thread') AS BIGINT) AS registers_per_thread
FROM (
    -- An instance of a metric, or a label in a section, is not the metric as a whole.
    SELECT *, CASE WHEN instance IS NULL AND section IS NULL THEN metric END AS exact FROM counter
) AS c
GROUP BY c.pass, c.workload_id;

COMMENT ON VIEW workload IS 'one row per workload that ncu profiled: a kernel, or a whole graph';
COMMENT ON COLUMN workload.case_id IS 'name of its innermost range of the suite; joins variant_case when it is a case';
COMMENT ON COLUMN workload.dram_read_bytes IS 'bytes read from DRAM; NULL when ncu gave none in bytes';
COMMENT ON COLUMN workload.dram_write_bytes IS 'bytes written to DRAM; NULL when ncu gave none in bytes';
COMMENT ON COLUMN workload.l2_bytes IS 'bytes through the L2 cache; NULL when ncu gave none in bytes';
COMMENT ON COLUMN workload.duration_ns IS 'duration under ncu in ns; comparable with no other clock';
