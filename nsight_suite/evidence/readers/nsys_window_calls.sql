-- Of the calls of a window those that start device work or wait for it; numbers only, none of them NULL.
SELECT
    row,
    process,
    thread,
    coalesce(correlation_id, -1) AS correlation_id,
    correlation_id IS NULL AS uncorrelated,
    coalesce(name_id, -1) AS name_id,
    kind,
    operations,
    kernels,
    timed,
    coalesce(CAST(device_ns AS BIGINT), 0) AS device_ns,
    coalesce(first_ns, 9223372036854775807) AS first_ns,
    coalesce(last_ns, -9223372036854775808) AS last_ns,
    -- For the ranges around it such a call ends where it starts.
    end_ns IS NULL AS unended,
    start_ns AS "start",
    greatest(coalesce(end_ns, start_ns), start_ns) AS "end"
FROM window_call
WHERE kind IN (0, 1, 2, 3, 4)
ORDER BY start_ns, "end" DESC, row
