-- One row per report, device and kind of memory: the fills and their bandwidth.
--
-- pass              name of the report
-- device            device number in the report
-- target_memory     kind of memory written; NULL when unknown
-- fills             fills recorded
-- untimed           of these, those without device times
-- bytes             bytes together
-- bytes_p50         median in bytes
-- total_ns          durations together in ns; NULL when none was timed
-- p50_ns            median duration in ns
-- max_ns            longest in ns
-- bytes_per_second  bytes over time of all fills with both; NULL when the clock shows no time
--
-- Of a damaged report that tells more bytes than 64 bits count, bytes or bytes_per_second are NULL.
SELECT
    pass,
    device,
    target_memory,
    count(*) AS fills,
    count(*) - count(end_ns - start_ns) AS untimed,
    TRY_CAST(sum(bytes) AS BIGINT) AS bytes,
    quantile_cont(bytes, 0.5) AS bytes_p50,
    CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns,
    quantile_cont(end_ns - start_ns, 0.5) AS p50_ns,
    max(end_ns - start_ns) AS max_ns,
    TRY_CAST(round(
        1e9 * sum(bytes) FILTER (end_ns > start_ns)
        / nullif(sum(end_ns - start_ns) FILTER (bytes IS NOT NULL AND end_ns > start_ns), 0)
    ) AS BIGINT) AS bytes_per_second
FROM memory_operation
WHERE kind = 'memset'
GROUP BY pass, device, target_memory
ORDER BY pass, total_ns DESC NULLS LAST, device NULLS FIRST, target_memory NULLS FIRST
