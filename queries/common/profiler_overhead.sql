-- One row per timed case: what nsys costs, the same completion clock without and with it.
--
-- case_id            experiment:variant:submission:shape
-- variant            name of the variant
-- submission         stream or graph
-- shape              name of the problem size
-- unprofiled_samples samples of the timing pass
-- profiled_samples   samples of the nsys pass
-- unprofiled_ns      median completion in the timing pass in ns
-- profiled_ns        median completion in the nsys pass in ns; enters no latency table
-- factor             profiled over unprofiled
-- extra_ns           profiled minus unprofiled in ns
--
-- Of the first session (pass timing) where a run has two.
WITH medians AS (
    SELECT
        case_id,
        count(*) FILTER (pass = 'timing') AS unprofiled_samples,
        count(*) FILTER (pass = 'nsys') AS profiled_samples,
        median(duration_ns) FILTER (pass = 'timing') AS unprofiled_ns,
        median(duration_ns) FILTER (pass = 'nsys') AS profiled_ns
    FROM sample
    WHERE quantity = 'completion' AND pass IN ('timing', 'nsys')
    GROUP BY case_id
)
SELECT
    c.case_id,
    c.variant,
    c.submission,
    c.shape,
    m.unprofiled_samples,
    m.profiled_samples,
    CAST(round(m.unprofiled_ns) AS BIGINT) AS unprofiled_ns,
    CAST(round(m.profiled_ns) AS BIGINT) AS profiled_ns,
    round(m.profiled_ns / nullif(m.unprofiled_ns, 0), 3) AS factor,
    CAST(round(m.profiled_ns - m.unprofiled_ns) AS BIGINT) AS extra_ns
FROM medians AS m
JOIN variant_case AS c ON c.case_id = m.case_id
ORDER BY c.case_order
