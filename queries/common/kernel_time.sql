-- One row per kernel of a case: its duration under nsys beside its duration under ncu.
--
-- case_id           experiment:variant:submission:shape
-- ordinal           position of the kernel inside the invocation, from 0
-- kernel            name of the kernel
-- nsys_ns           duration under nsys, median over invocations in ns
-- nsys_min_ns       smallest in ns
-- nsys_max_ns       largest in ns
-- ncu_flushed_ns    gpu__time_duration.sum with flushed caches, median in ns; NULL when not measured
-- ncu_warm_ns       gpu__time_duration.sum with caches as found, median in ns: it holds what ncu does before the
--                   kernel, 160 to 500 µs on an H200, and is no kernel duration; NULL when not measured per kernel
-- ncu_clock_control ncu --clock-control of those passes, joined by '+' when they differ
--
-- They are different quantities (ncu serialises, replays and may flush the caches), so they stand side by side and
-- are never subtracted.
WITH nsys AS (
    SELECT
        case_id,
        ordinal,
        min(name) AS kernel,
        median(duration_ns) AS median_ns,
        min(duration_ns) AS min_ns,
        max(duration_ns) AS max_ns
    FROM invocation_kernel
    GROUP BY case_id, ordinal
), ncu AS (
    SELECT
        w.case_id,
        w.ordinal,
        min(w.name) AS kernel,
        median(w.duration_ns) FILTER (p.cache_control = 'all') AS flushed_ns,
        median(w.duration_ns) FILTER (p.cache_control = 'none') AS warm_ns,
        string_agg(DISTINCT p.clock_control, '+' ORDER BY p.clock_control) AS clock_control
    FROM workload AS w
    LEFT JOIN "pass" AS p ON p.pass = w.pass
    WHERE w.workload = 'kernel'
    GROUP BY w.case_id, w.ordinal
)
SELECT
    c.case_id,
    coalesce(nsys.ordinal, ncu.ordinal) AS ordinal,
    coalesce(nsys.kernel, ncu.kernel) AS kernel,
    CAST(round(nsys.median_ns) AS BIGINT) AS nsys_ns,
    nsys.min_ns AS nsys_min_ns,
    nsys.max_ns AS nsys_max_ns,
    CAST(round(ncu.flushed_ns) AS BIGINT) AS ncu_flushed_ns,
    CAST(round(ncu.warm_ns) AS BIGINT) AS ncu_warm_ns,
    ncu.clock_control AS ncu_clock_control
FROM nsys
FULL JOIN ncu ON ncu.case_id = nsys.case_id AND ncu.ordinal = nsys.ordinal
JOIN variant_case AS c ON c.case_id = coalesce(nsys.case_id, ncu.case_id)
ORDER BY c.case_order, 2
