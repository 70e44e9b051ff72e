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
    CAST(max(c.value) FILTER (c.metric = 'dram__bytes_read.sum' AND c.unit = 'byte') AS BIGINT) AS dram_read_bytes,
    CAST(max(c.value) FILTER (c.metric = 'dram__bytes_write.sum' AND c.unit = 'byte') AS BIGINT) AS dram_write_bytes,
    CAST(max(c.value) FILTER (c.metric = 'lts__t_bytes.sum' AND c.unit = 'byte') AS BIGINT) AS l2_bytes,
    CAST(max(c.value) FILTER (c.metric = 'gpu__time_duration.sum' AND c.unit = 'ns') AS BIGINT) AS duration_ns,
    CAST(max(c.value) FILTER (c.metric = 'launch__registers_per_thread') AS BIGINT) AS registers_per_thread
FROM counter AS c
GROUP BY c.pass, c.workload_id;

COMMENT ON VIEW workload IS 'one row per workload that ncu profiled: a kernel, or a whole graph';
COMMENT ON COLUMN workload.case_id IS 'name of its innermost range of the suite; joins variant_case when it is a case';
COMMENT ON COLUMN workload.dram_read_bytes IS 'bytes read from DRAM; NULL when ncu gave none in bytes';
COMMENT ON COLUMN workload.dram_write_bytes IS 'bytes written to DRAM; NULL when ncu gave none in bytes';
COMMENT ON COLUMN workload.l2_bytes IS 'bytes through the L2 cache; NULL when ncu gave none in bytes';
COMMENT ON COLUMN workload.duration_ns IS 'duration under ncu in ns; comparable with no other clock';
