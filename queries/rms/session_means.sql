-- One row per timed case: host completion as the mean of the sessions' medians, and what the pilot chose.
--
-- case_id     experiment:variant:submission:shape
-- variant     name of the variant
-- submission  stream or graph
-- shape       name of the problem size
-- row_count   rows of the array
-- sessions    sessions that timed the case
-- samples     fewest samples of a session
-- mean_ns     mean of the sessions' medians in ns
-- low_ns      smallest of the sessions' medians in ns
-- high_ns     largest of the sessions' medians in ns
-- chosen      whether the pilot chose this form of the megakernel here; NULL where it did not try the variant
WITH medians AS (
    SELECT pass, case_id, count(*) AS samples, quantile_cont(duration_ns, 0.5) AS median_ns
    FROM sample
    WHERE pass IN ('timing', 'timing-2') AND quantity = 'completion'
    GROUP BY pass, case_id
)
SELECT
    c.case_id,
    c.variant,
    c.submission,
    c.shape,
    CAST(c.parameters ->> 'rows' AS BIGINT) AS row_count,
    count(*) AS sessions,
    min(m.samples) AS samples,
    CAST(round(avg(m.median_ns)) AS BIGINT) AS mean_ns,
    CAST(round(min(m.median_ns)) AS BIGINT) AS low_ns,
    CAST(round(max(m.median_ns)) AS BIGINT) AS high_ns,
    bool_or(p.chosen) AS chosen
FROM medians AS m
JOIN variant_case AS c ON c.case_id = m.case_id
LEFT JOIN choice AS p
    ON p.group_name = 'mega' AND p.shape = c.shape AND p.submission = c.submission AND p.variant = c.variant
WHERE c.experiment = 'rms'
GROUP BY c.case_id, c.variant, c.submission, c.shape, c.parameters, c.case_order
ORDER BY c.case_order
