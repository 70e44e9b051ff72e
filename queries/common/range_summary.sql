-- One row per report, range name and style: its instances together, on the host and on the device.
--
-- pass                 name of the report
-- domain               NVTX domain; NULL for the default one
-- range                name of the range
-- style                push_pop or start_end
-- instances            instances
-- never_closed         of these, those without an end: they count, but enter no time on the host
-- host_total_ns        time on the host together in ns; NULL when none was closed
-- host_p50_ns          median time on the host in ns
-- projected_instances  instances whose device work is known and not nothing
-- unknown_instances    instances that replayed CUDA graphs which were not traced: what ran in them is unknown
-- kernels              kernels launched inside, at any depth; NULL when it is unknown for any instance
-- operations           kernels, copies and fills launched inside, at any depth; NULL likewise
-- device_total_ns      durations of these operations together in ns; NULL when there is none, and likewise
-- projected_total_ns   projected durations together in ns: each from the first start to the last end on the device;
--                      NULL when there is none, and when it is unknown for any instance
-- projected_mean_ns    mean projected duration in ns
-- projected_stddev_ns  sample standard deviation in ns; NULL for one
-- projected_min_ns     shortest in ns
-- projected_p50_ns     median in ns
-- projected_p90_ns     90th percentile in ns, interpolated between two durations, as by numpy
-- projected_max_ns     longest in ns
--
-- Mean, deviation and percentiles are of the projected instances alone.
-- Inclusive: nested ranges hold the same work again. Projected durations of instances that overlap on the device add
-- up to more than the time that passed. This is the summary of nsys' own nvtx_gpu_proj_sum, and follows its rules: a
-- range that was never closed counts until the last NVTX event, one that another thread closed counts nothing, and work
-- launched on another thread is not in it. kernel_by_path and kernel_by_range are about single kernels, which know no
-- such end: there a kernel may belong to a range that does not count it here.
WITH grouped AS (
    SELECT
        pass,
        domain,
        name,
        style,
        count(*) AS instances,
        count(*) FILTER (end_ns IS NULL) AS never_closed,
        sum(end_ns - start_ns) AS host_total,
        quantile_cont(end_ns - start_ns, 0.5) AS host_middle,
        count(projected_end_ns) AS projected,
        count(*) - count(operations) AS unknown,
        sum(kernels) AS kernels,
        sum(operations) AS operations,
        sum(device_ns) AS device_total,
        sum(projected_end_ns - projected_start_ns) AS total,
        -- Whole numbers keep the deviation the same in whatever order rows come.
        sum(CAST(projected_end_ns - projected_start_ns AS HUGEINT) * (projected_end_ns - projected_start_ns))
            AS squares,
        quantile_cont(projected_end_ns - projected_start_ns, [0, 0.5, 0.9, 1]) AS spread
    FROM "range"
    GROUP BY pass, domain, name, style
), centred AS (
    SELECT *, total // nullif(projected, 0) AS centre, total % nullif(projected, 0) AS rest FROM grouped
)
SELECT
    pass,
    domain,
    name AS "range",
    style,
    instances,
    never_closed,
    CAST(host_total AS BIGINT) AS host_total_ns,
    host_middle AS host_p50_ns,
    projected AS projected_instances,
    unknown AS unknown_instances,
    CASE WHEN unknown = 0 THEN CAST(kernels AS BIGINT) END AS kernels,
    CASE WHEN unknown = 0 THEN CAST(operations AS BIGINT) END AS operations,
    CASE WHEN unknown = 0 THEN CAST(device_total AS BIGINT) END AS device_total_ns,
    CASE WHEN unknown = 0 THEN CAST(total AS BIGINT) END AS projected_total_ns,
    round(total / nullif(projected, 0), 1) AS projected_mean_ns,
    round(
        sqrt((squares - centre * (total + rest) - rest * rest / projected) / nullif(projected - 1, 0)), 1
    ) AS projected_stddev_ns,
    CAST(spread[1] AS BIGINT) AS projected_min_ns,
    spread[2] AS projected_p50_ns,
    round(spread[3], 1) AS projected_p90_ns,
    CAST(spread[4] AS BIGINT) AS projected_max_ns
FROM centred
ORDER BY pass, projected_total_ns DESC NULLS LAST, host_total_ns DESC NULLS LAST, "range", domain NULLS FIRST, style
