-- One row per kernel name of two nsys reports: the first report against each other one.
--
-- baseline          name of the report compared with: the one whose capture started first, else whose process did, else
--                   by name; a report that tells its start goes before one that does not
-- pass              name of the other report
-- kernel            name of the kernel; NULL where the reports cannot be compared at all
-- baseline_kernels  executions recorded in the baseline; NULL when it cannot tell
-- kernels           executions recorded in the other; NULL when it cannot tell
-- baseline_p50_ns   median duration in the baseline in ns; NULL when none is timed
-- p50_ns            median duration in the other in ns; NULL when none is timed
-- ratio             p50_ns over baseline_p50_ns: below 1 the other's kernel is shorter
-- baseline_total_ns durations in the baseline together in ns
-- total_ns          durations in the other together in ns
-- verdict           compared; compared in part; only in baseline; only in other; incomparable
-- reason            why there is no ratio, or why it is of a part only
--
-- A report without kernels, or whose kernels are unknown, is no faster than another: it is incomparable. Where launches
-- left no records of their kernels (graphs traced as a whole, lost records), a kernel that is not in the report may
-- have run all the same: it is incomparable too, and what is there is compared in part, with counts and sums that may
-- be too low. Compare only reports of the same program and machine.
WITH report_of_nsys AS (
    SELECT r.pass, any_value(t.known) AS known, any_value(t.answer) AS answer, min(r.session_start_utc_ns) AS session
    FROM report AS r
    JOIN kernels_told AS t ON t.pass = r.pass
    WHERE r.format LIKE 'nsys%'
    GROUP BY r.pass
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
), silent AS (
    -- Launches that ran and left no record of a kernel, copy or fill: of what they started nothing is known.
    SELECT pass, kind, launch_id
    FROM launch
    WHERE kind IN ('kernel', 'graph') AND captured IS DISTINCT FROM true AND operations = 0
    UNION ALL
    SELECT g.pass, 'graph', NULL
    FROM graph_run AS g
    ANTI JOIN launch AS l ON l.pass = g.pass AND l.launch_id = g.launch_id
), unknown AS (
    SELECT
        pass,
        concat_ws(
            ' and ',
            nullif(count(*) FILTER (kind = 'graph'), 0) || ' graph launches',
            nullif(count(*) FILTER (kind = 'kernel'), 0) || ' kernel launches'
        ) || ' in ' || pass || ' left no records of their kernels' AS told
    FROM silent
    GROUP BY pass
), sized AS MATERIALIZED (
    SELECT
        r.pass,
        r.session,
        coalesce(sum(g.kernels), 0) AS found,
        CASE WHEN r.known AND (found > 0 OR u.told IS NULL) THEN found END AS kernels,
        u.told AS doubt,
        CASE
            WHEN NOT r.known THEN 'it is unknown which kernels ran in ' || r.pass
                || CASE WHEN r.answer = 'not traced' THEN ': CUDA was not traced' ELSE '' END
            WHEN found = 0 AND u.told IS NOT NULL THEN 'it is unknown which kernels ran: ' || u.told
            WHEN found = 0 THEN r.pass || ' has no kernels'
        END AS obstacle
    FROM report_of_nsys AS r
    LEFT JOIN grouped AS g ON g.pass = r.pass
    LEFT JOIN unknown AS u ON u.pass = r.pass
    GROUP BY r.pass, r.session, r.known, r.answer, u.told
), base AS (
    SELECT sized.*
    FROM sized
    LEFT JOIN "pass" AS p ON p.pass = sized.pass
    ORDER BY sized.session NULLS LAST, p.started_utc NULLS LAST, sized.pass
    LIMIT 1
), pair AS (
    SELECT
        base.pass AS baseline,
        other.pass,
        coalesce(base.obstacle, other.obstacle) AS obstacle,
        base.kernels AS baseline_kernels,
        other.kernels,
        base.doubt AS baseline_doubt,
        other.doubt
    FROM base
    JOIN sized AS other ON other.pass <> base.pass
), named AS (
    -- Every name of either report of a pair.
    SELECT p.baseline, p.pass, p.baseline_doubt, p.doubt, g.name
    FROM pair AS p
    JOIN grouped AS g ON g.pass = p.pass
    WHERE p.obstacle IS NULL
    UNION
    SELECT p.baseline, p.pass, p.baseline_doubt, p.doubt, g.name
    FROM pair AS p
    JOIN grouped AS g ON g.pass = p.baseline
    WHERE p.obstacle IS NULL
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
        CASE WHEN b.pass IS NOT NULL OR n.baseline_doubt IS NULL THEN coalesce(b.kernels, 0) END AS baseline_kernels,
        CASE WHEN o.pass IS NOT NULL OR n.doubt IS NULL THEN coalesce(o.kernels, 0) END AS kernels,
        b.middle AS baseline_p50_ns,
        o.middle AS p50_ns,
        round(o.middle / nullif(b.middle, 0), 4) AS ratio,
        CAST(b.total AS BIGINT) AS baseline_total_ns,
        CAST(o.total AS BIGINT) AS total_ns,
        CASE
            WHEN (o.pass IS NULL AND n.doubt IS NOT NULL) OR (b.pass IS NULL AND n.baseline_doubt IS NOT NULL)
                THEN 'incomparable'
            WHEN o.pass IS NULL THEN 'only in baseline'
            WHEN b.pass IS NULL THEN 'only in other'
            WHEN n.doubt IS NOT NULL OR n.baseline_doubt IS NOT NULL THEN 'compared in part'
            ELSE 'compared'
        END AS verdict,
        CASE
            WHEN o.pass IS NULL THEN coalesce('it may have run: ' || n.doubt, 'it did not run in ' || n.pass)
            WHEN b.pass IS NULL
                THEN coalesce('it may have run: ' || n.baseline_doubt, 'it did not run in ' || n.baseline)
            ELSE nullif(concat_ws(
                '; ',
                CASE
                    WHEN b.middle IS NULL OR o.middle IS NULL THEN 'no execution is timed in one of them'
                    WHEN b.middle = 0 THEN 'the median of the baseline is zero'
                END,
                n.baseline_doubt,
                n.doubt
            ), '')
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
