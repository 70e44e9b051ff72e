-- One row per size of device-to-device copy that was timed: the bandwidth that this device really gives.
--
-- device_uuid        GPU UUID of the timing pass
-- bytes              bytes read plus bytes written by one copy
-- samples            number of samples
-- median_ns          median duration in ns
-- bytes_per_second   bytes over the median duration
-- fastest_bytes_per_second  bytes over the smallest duration
--
-- Of the first session (pass timing) where a run has two.
SELECT
    (SELECT max(uuid) FROM device WHERE pass = 'timing') AS device_uuid,
    bytes,
    count(*) AS samples,
    CAST(round(median(duration_ns)) AS BIGINT) AS median_ns,
    CAST(round(1e9 * bytes / median(duration_ns)) AS BIGINT) AS bytes_per_second,
    CAST(round(1e9 * bytes / min(duration_ns)) AS BIGINT) AS fastest_bytes_per_second
FROM sample
WHERE pass = 'timing' AND quantity = 'device_copy' AND bytes > 0 AND duration_ns > 0
GROUP BY bytes
ORDER BY bytes
