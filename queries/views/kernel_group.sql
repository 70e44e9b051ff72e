-- Kept: in a large run the rows of this view lie beside the tables, since durations must be put in order for them.
-- One row per report, device and kernel name, with all that a summary of its durations needs.
CREATE VIEW kernel_group AS
SELECT
    pass,
    device,
    name,
    count(*) AS kernels,
    count(end_ns - start_ns) AS timed,
    -- Whole numbers keep the deviation the same in whatever order rows come; Parquet has no larger ones than these.
    CAST(sum(end_ns - start_ns) AS DECIMAL(38, 0)) AS total,
    CAST(sum(CAST(end_ns - start_ns AS HUGEINT) * (end_ns - start_ns)) AS DECIMAL(38, 0)) AS squares,
    -- All that needs the durations in order, from the shortest to the longest, at once: apart it costs far more.
    quantile_cont(end_ns - start_ns, [0, 0.1, 0.5, 0.9, 0.99, 1]) AS spread,
    max(registers_per_thread) AS registers_per_thread
FROM kernel
GROUP BY pass, device, name;

COMMENT ON VIEW kernel_group IS 'one row per report, device and kernel name: how often it ran, and its durations';
COMMENT ON COLUMN kernel_group.kernels IS 'executions recorded';
COMMENT ON COLUMN kernel_group.timed IS 'of these, those with device times';
COMMENT ON COLUMN kernel_group.total IS 'their durations together in ns; NULL when none was timed';
COMMENT ON COLUMN kernel_group.squares IS 'the squares of their durations together in ns²';
COMMENT ON COLUMN kernel_group.spread IS 'shortest, 10th, 50th, 90th and 99th percentile, longest, in ns';
COMMENT ON COLUMN kernel_group.registers_per_thread IS 'registers per thread, the largest';
