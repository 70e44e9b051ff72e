-- The GPUs that the device attributes of a report describe.
INSERT INTO gpu BY NAME
SELECT
    getvariable('pass_name') AS pass,
    device,
    max(text) FILTER (metric = 'device__attribute_display_name') AS name,
    TRY_CAST(max(value) FILTER (metric = 'device__attribute_compute_capability_major') AS BIGINT)
    || '.'
    || TRY_CAST(max(value) FILTER (metric = 'device__attribute_compute_capability_minor') AS BIGINT) AS compute_capability,
    TRY_CAST(max(value) FILTER (metric = 'device__attribute_multiprocessor_count') AS BIGINT) AS multiprocessors,
    TRY_CAST(max(value) FILTER (metric = 'device__attribute_total_memory') AS BIGINT) AS memory_bytes,
    TRY_CAST(max(value) FILTER (metric = 'device__attribute_l2_cache_size') AS BIGINT) AS l2_bytes
FROM counter
WHERE pass = getvariable('pass_name') AND starts_with(metric, 'device__attribute_')
GROUP BY device;
