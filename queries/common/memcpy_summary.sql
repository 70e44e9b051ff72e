-- One row per report, device, direction and kinds of memory: the copies and their bandwidth.
--
-- pass              name of the report
-- device            device number in the report
-- direction         host-to-device, device-to-host, device-to-device …; NULL when the report does not tell
-- source_memory     kind of memory read: pageable, pinned, device, managed …; NULL when unknown
-- target_memory     kind of memory written; NULL when unknown
-- copies            copies recorded
-- untimed           of these, those without device times
-- bytes             bytes together
-- bytes_min         smallest copy in bytes
-- bytes_p50         median in bytes
-- bytes_max         largest copy in bytes
-- total_ns          durations together in ns; NULL when none was timed
-- p50_ns            median duration in ns
-- max_ns            longest in ns
-- bytes_per_second  bytes over time of all copies with both; NULL when the clock shows no time
--
-- Of a damaged report that tells more bytes than 64 bits count, bytes or bytes_per_second are NULL.
SELECT
    pass,
    device,
    direction,
    source_memory,
    target_memory,
    count(*) AS copies,
    count(*) - count(end_ns - start_ns) AS untimed,
    TRY_CAST(sum(bytes) AS BIGINT) AS bytes,
    min(bytes) AS bytes_min,
    quantile_cont(bytes, 0.5) AS bytes_p50,
    max(bytes) AS bytes_max,
    CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns,
    quantile_cont(end_ns - start_ns, 0.5) AS p50_ns,
    max(end_ns - start_ns) AS max_ns,
    TRY_CAST(round(
        1e9 * sum(bytes) FILTER (end_ns > start_ns)
        / nullif(sum(end_ns - start_ns) FILTER (bytes IS NOT NULL AND end_ns > start_ns), 0)
    ) AS BIGINT) AS bytes_per_second
FROM memory_operation
WHERE kind = 'memcpy'
GROUP BY pass, device, direction, source_memory, target_memory
ORDER BY
    pass,
    total_ns DESC NULLS LAST,
    device NULLS FIRST,
    direction NULLS FIRST,
    source_memory NULLS FIRST,
    target_memory NULLS FIRST
