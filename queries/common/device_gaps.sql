-- One row per report and device: how long it worked and how long it stood idle between its first and its last work.
--
-- pass              name of the report
-- device            device number in the report
-- operations        timed kernels, copies, fills and whole graph runs
-- span_ns           from the first start to the last end in ns
-- busy_ns           at least one of them ran (union) in ns
-- idle_ns           none ran: the gaps together in ns
-- busy_share        busy_ns over span_ns; NULL for a span of nothing
-- gaps              gaps between work
-- gap_p50_ns        median gap in ns; NULL when there is none
-- gap_p90_ns        90th percentile in ns, interpolated between two gaps, as by numpy; NULL when there is none
-- gap_max_ns        longest gap in ns; NULL when there is none
-- longest_after_ns  when the longest begins, in ns after the first start; the first of equals
--
-- The ends of the span are the device's own work, so waiting before the first and after the last is no gap. A device
-- without timed work has no row.
WITH placed AS (
    SELECT
        pass,
        device,
        start_ns,
        end_ns,
        -- Up to here all earlier work has ended.
        max(end_ns) OVER (
            PARTITION BY pass, device ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS ended_ns
    FROM device_work
), gapped AS (
    SELECT *, CASE WHEN start_ns > ended_ns THEN start_ns - ended_ns END AS gap_ns FROM placed
), summed AS (
    SELECT
        pass,
        device,
        count(*) AS operations,
        min(start_ns) AS first_ns,
        max(end_ns) - min(start_ns) AS span_ns,
        coalesce(CAST(sum(gap_ns) AS BIGINT), 0) AS idle_ns,
        count(gap_ns) AS gaps,
        quantile_cont(gap_ns, [0.5, 0.9]) AS spread,
        max(gap_ns) AS longest,
        -- A longer gap is worth more than an earlier one.
        max(CAST(gap_ns AS HUGEINT) * 18446744073709551616 - ended_ns) AS longest_first
    FROM gapped
    GROUP BY pass, device
)
SELECT
    pass,
    device,
    operations,
    span_ns,
    span_ns - idle_ns AS busy_ns,
    idle_ns,
    round((span_ns - idle_ns) / nullif(span_ns, 0), 4) AS busy_share,
    gaps,
    spread[1] AS gap_p50_ns,
    round(spread[2], 1) AS gap_p90_ns,
    longest AS gap_max_ns,
    CAST(CAST(longest AS HUGEINT) * 18446744073709551616 - longest_first - first_ns AS BIGINT) AS longest_after_ns
FROM summed
ORDER BY pass, device
