-- One row per kernel name of two nsys reports: the first report against each other one.
--
-- baseline          name of the report compared with: the first by its start where that is known, else by name
-- pass              name of the other report
-- kernel            name of the kernel; NULL where the reports cannot be compared at all
-- baseline_kernels  executions in the baseline; NULL when it cannot tell
-- kernels           executions in the other; NULL when it cannot tell
-- baseline_p50_ns   median duration in the baseline in ns; NULL when none is timed
-- p50_ns            median duration in the other in ns; NULL when none is timed
-- ratio             p50_ns over baseline_p50_ns: below 1 the other's kernel is shorter
-- baseline_total_ns durations in the baseline together in ns
-- total_ns          durations in the other together in ns
-- verdict           compared; only in baseline; only in other; incomparable
-- reason            why there is no ratio
--
-- A report without kernels, or whose kernels are unknown, is no faster than another: it is incomparable. Kernels
-- inside graphs that were traced as a whole are in neither. Compare only reports of the same program and machine.
WITH report_of_nsys AS (
    SELECT pass, bool_or("rows" IS NOT NULL) AS known FROM report WHERE format LIKE 'nsys%' GROUP BY pass
), grouped AS MATERIALIZED (
    SELECT
        k.pass,
        k.name,
        count(*) AS kernels,
        sum(k.end_ns - k.start_ns) AS total,
        quantile_cont(k.end_ns - k.start_ns, 0.5) AS middle
    FROM kernel AS k
    SEMI JOIN report_of_nsys AS r ON r.pass = k.pass
    GROUP BY k.pass, k.name
), sized AS (
    SELECT r.pass, r.known OR count(g.pass) > 0 AS known, coalesce(sum(g.kernels), 0) AS kernels
    FROM report_of_nsys AS r
    LEFT JOIN grouped AS g ON g.pass = r.pass
    GROUP BY r.pass, r.known
), base AS (
    SELECT sized.pass, sized.known, sized.kernels
    FROM sized
    LEFT JOIN "pass" AS p ON p.pass = sized.pass
    ORDER BY p.started_utc NULLS LAST, sized.pass
    LIMIT 1
), pair AS (
    SELECT
        base.pass AS baseline,
        other.pass,
        CASE
            WHEN NOT base.known THEN 'it is unknown which kernels ran in ' || base.pass
            WHEN NOT other.known THEN 'it is unknown which kernels ran in ' || other.pass
            WHEN base.kernels = 0 THEN base.pass || ' has no kernels'
            WHEN other.kernels = 0 THEN other.pass || ' has no kernels'
        END AS obstacle,
        CASE WHEN base.known THEN base.kernels END AS baseline_kernels,
        CASE WHEN other.known THEN other.kernels END AS kernels
    FROM base
    JOIN sized AS other ON other.pass <> base.pass
), named AS (
    -- Every name of either report of a pair.
    SELECT p.baseline, p.pass, g.name FROM pair AS p JOIN grouped AS g ON g.pass = p.pass WHERE p.obstacle IS NULL
    UNION
    SELECT p.baseline, p.pass, g.name FROM pair AS p JOIN grouped AS g ON g.pass = p.baseline WHERE p.obstacle IS NULL
)
SELECT
    baseline,
    pass,
    kernel,
    baseline_kernels,
    kernels,
    baseline_p50_ns,
    p50_ns,
    ratio,
    baseline_total_ns,
    total_ns,
    verdict,
    reason
FROM (
    SELECT
        n.baseline,
        n.pass,
        n.name AS kernel,
        coalesce(b.kernels, 0) AS baseline_kernels,
        coalesce(o.kernels, 0) AS kernels,
        b.middle AS baseline_p50_ns,
        o.middle AS p50_ns,
        round(o.middle / nullif(b.middle, 0), 4) AS ratio,
        CAST(b.total AS BIGINT) AS baseline_total_ns,
        CAST(o.total AS BIGINT) AS total_ns,
        CASE
            WHEN o.pass IS NULL THEN 'only in baseline'
            WHEN b.pass IS NULL THEN 'only in other'
            ELSE 'compared'
        END AS verdict,
        CASE
            WHEN o.pass IS NULL THEN 'it did not run in ' || n.pass
            WHEN b.pass IS NULL THEN 'it did not run in ' || n.baseline
            WHEN b.middle IS NULL OR o.middle IS NULL THEN 'no execution is timed in one of them'
            WHEN b.middle = 0 THEN 'the median of the baseline is zero'
        END AS reason
    FROM named AS n
    LEFT JOIN grouped AS b ON b.pass = n.baseline AND b.name IS NOT DISTINCT FROM n.name
    LEFT JOIN grouped AS o ON o.pass = n.pass AND o.name IS NOT DISTINCT FROM n.name
    UNION ALL
    SELECT
        baseline,
        pass,
        NULL,
        CAST(baseline_kernels AS BIGINT),
        CAST(kernels AS BIGINT),
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        'incomparable',
        obstacle
    FROM pair
    WHERE obstacle IS NOT NULL
)
ORDER BY baseline, pass, baseline_total_ns DESC NULLS LAST, total_ns DESC NULLS LAST, kernel
