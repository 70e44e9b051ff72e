-- One row per report and device: how much of its copying went on while kernels ran.
--
-- pass               name of the report
-- device             device number in the report
-- kernel_ns          at least one kernel or whole graph ran (union), in ns
-- memory_ns          at least one copy or fill ran (union), in ns
-- both_ns            both at the same time, in ns
-- kernel_only_ns     kernels without any copy or fill, in ns
-- memory_only_ns     copies or fills without any kernel, in ns: what they cost
-- hidden_share       both_ns over memory_ns: 1 when all copying hid behind kernels; NULL without copies
WITH work AS (
    SELECT
        pass,
        device,
        CASE WHEN kind IN ('kernel', 'graph') THEN 1 ELSE 0 END AS kernels,
        CASE WHEN kind IN ('kernel', 'graph') THEN 0 ELSE 1 END AS memory,
        start_ns,
        end_ns
    FROM device_work
    WHERE end_ns > start_ns
), moment AS (
    SELECT pass, device, start_ns AS time_ns, kernels, memory FROM work
    UNION ALL
    SELECT pass, device, end_ns, -kernels, -memory FROM work
), level AS (
    -- All changes of one moment count from each of its rows; only to the next moment does time pass.
    SELECT
        pass,
        device,
        sum(kernels) OVER so_far AS kernels,
        sum(memory) OVER so_far AS memory,
        lead(time_ns) OVER (PARTITION BY pass, device ORDER BY time_ns) - time_ns AS length_ns
    FROM moment
    WINDOW so_far AS (
        PARTITION BY pass, device ORDER BY time_ns RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
), summed AS (
    SELECT
        pass,
        device,
        coalesce(CAST(sum(length_ns) FILTER (kernels > 0) AS BIGINT), 0) AS kernel_ns,
        coalesce(CAST(sum(length_ns) FILTER (memory > 0) AS BIGINT), 0) AS memory_ns,
        coalesce(CAST(sum(length_ns) FILTER (kernels > 0 AND memory > 0) AS BIGINT), 0) AS both_ns
    FROM level
    GROUP BY pass, device
)
SELECT
    pass,
    device,
    kernel_ns,
    memory_ns,
    both_ns,
    kernel_ns - both_ns AS kernel_only_ns,
    memory_ns - both_ns AS memory_only_ns,
    round(both_ns / nullif(memory_ns, 0), 4) AS hidden_share
FROM summed
ORDER BY pass, device
