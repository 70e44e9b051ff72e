-- One row per report and device: how much of its work ran at the same time.
--
-- pass              name of the report
-- device            device number in the report
-- operations        timed kernels, copies, fills and whole graph runs
-- streams           streams that they ran in, told apart by process and context
-- sum_ns            their durations together in ns
-- union_ns          at least one ran, in ns
-- overlap           sum_ns over union_ns: 1 when nothing ran at the same time; NULL for a union of nothing
-- span_ns           from the first start to the last end in ns
-- one_ns            exactly one ran, in ns
-- two_ns            exactly two ran, in ns
-- more_ns           three or more ran, in ns
-- one_share         one_ns over union_ns
-- two_share         two_ns over union_ns
-- more_share        more_ns over union_ns
-- most_at_once      most that ran at the same time; one that ends when another begins does not count with it
WITH moment AS (
    SELECT pass, device, start_ns AS time_ns, 1 AS change FROM device_work WHERE end_ns > start_ns
    UNION ALL
    SELECT pass, device, end_ns, -1 FROM device_work WHERE end_ns > start_ns
), level AS (
    -- All changes of one moment count from each of its rows; only to the next moment does time pass.
    SELECT
        pass,
        device,
        sum(change) OVER (
            PARTITION BY pass, device ORDER BY time_ns RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS running,
        lead(time_ns) OVER (PARTITION BY pass, device ORDER BY time_ns) - time_ns AS length_ns
    FROM moment
), shared AS (
    SELECT
        pass,
        device,
        sum(length_ns) FILTER (running = 1) AS one_ns,
        sum(length_ns) FILTER (running = 2) AS two_ns,
        sum(length_ns) FILTER (running > 2) AS more_ns,
        sum(length_ns) FILTER (running > 0) AS union_ns,
        max(running) AS most
    FROM level
    GROUP BY pass, device
), whole AS (
    SELECT
        pass,
        device,
        count(*) AS operations,
        count(DISTINCT (process, context, stream)) AS streams,
        sum(end_ns - start_ns) AS sum_ns,
        max(end_ns) - min(start_ns) AS span_ns
    FROM device_work
    GROUP BY pass, device
)
SELECT
    w.pass,
    w.device,
    w.operations,
    w.streams,
    CAST(w.sum_ns AS BIGINT) AS sum_ns,
    coalesce(CAST(s.union_ns AS BIGINT), 0) AS union_ns,
    round(w.sum_ns / nullif(s.union_ns, 0), 4) AS overlap,
    w.span_ns,
    coalesce(CAST(s.one_ns AS BIGINT), 0) AS one_ns,
    coalesce(CAST(s.two_ns AS BIGINT), 0) AS two_ns,
    coalesce(CAST(s.more_ns AS BIGINT), 0) AS more_ns,
    round(coalesce(s.one_ns, 0) / nullif(s.union_ns, 0), 4) AS one_share,
    round(coalesce(s.two_ns, 0) / nullif(s.union_ns, 0), 4) AS two_share,
    round(coalesce(s.more_ns, 0) / nullif(s.union_ns, 0), 4) AS more_share,
    CAST(coalesce(s.most, 1) AS BIGINT) AS most_at_once
FROM whole AS w
LEFT JOIN shared AS s ON s.pass = w.pass AND s.device IS NOT DISTINCT FROM w.device
ORDER BY w.pass, w.device
