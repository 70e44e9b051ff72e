-- One row per control of a megakernel, shape and submission: what it costs against the form that it controls.
--
-- shape          name of the problem size
-- row_count      rows of the array
-- submission     stream or graph
-- kind           retention: less is kept for the store, same binary and launch shape; launch: an ordinary launch
--                of the same kernel instead of a cooperative one
-- control        variant of the control
-- against        variant that it is compared with
-- sessions       sessions that timed both
-- rounds         rounds in which both were timed, over all sessions
-- delta_ns       control minus the other: median over a session's rounds, mean over the sessions, in ns
-- delta_low_ns   smallest of the sessions' medians in ns
-- delta_high_ns  largest of the sessions' medians in ns
-- relative       delta_ns over the mean of the session medians of what it is compared with
--
-- Completions are paired by round inside a session before any median is taken; sessions are never mixed.
WITH pairs (kind, control, against) AS (
    VALUES
        ('retention', 'mega_grid_recompute', 'mega_grid'),
        ('retention', 'mega_grid_reload', 'mega_grid'),
        ('launch', 'mega_grid_ordinary', 'mega_grid'),
        ('launch', 'mega_row_ordinary', 'mega_row')
), completion AS (
    SELECT s.pass, s.round, s.duration_ns, c.shape, c.submission, c.variant, c.case_order, c.parameters
    FROM sample AS s
    JOIN variant_case AS c ON c.case_id = s.case_id
    WHERE c.experiment = 'rms' AND s.pass IN ('timing', 'timing-2') AND s.quantity = 'completion'
), sessions AS (
    SELECT
        a.shape,
        a.submission,
        a.parameters,
        a.case_order,
        p.kind,
        p.control,
        p.against,
        a.pass,
        count(*) AS rounds,
        quantile_cont(a.duration_ns - b.duration_ns, 0.5) AS delta_ns,
        quantile_cont(b.duration_ns, 0.5) AS against_ns
    FROM pairs AS p
    JOIN completion AS a ON a.variant = p.control
    JOIN completion AS b
        ON b.variant = p.against AND b.pass = a.pass AND b.round = a.round
        AND b.shape = a.shape AND b.submission = a.submission
    GROUP BY ALL
)
SELECT
    shape,
    CAST(parameters ->> 'rows' AS BIGINT) AS row_count,
    submission,
    kind,
    control,
    against,
    count(*) AS sessions,
    CAST(sum(rounds) AS BIGINT) AS rounds,
    CAST(round(avg(delta_ns)) AS BIGINT) AS delta_ns,
    CAST(round(min(delta_ns)) AS BIGINT) AS delta_low_ns,
    CAST(round(max(delta_ns)) AS BIGINT) AS delta_high_ns,
    round(avg(delta_ns) / avg(against_ns), 4) AS relative
FROM sessions
GROUP BY shape, parameters, submission, kind, control, against, case_order
ORDER BY case_order
