-- One row per candidate of a pilot: which variant of a group was taken at a shape, and whether the samples say so.
--
-- pass              name of the pass
-- group_name        what is chosen, as the protocol names it
-- shape             name of the problem size
-- submission        stream or graph
-- variant           candidate
-- case_id           experiment:variant:submission:shape; NULL when the run has no such case
-- rounds            samples that the pilot says it chose by
-- median_ns         their median in ns, as the pilot told it
-- samples           completions of the candidate that the pilot recorded
-- sample_median_ns  their median in ns; NULL when there are none
-- chosen            whether the pilot took it
-- fastest           whether no candidate of its group has a smaller sample_median_ns; NULL when one has no samples
-- before_sessions   whether the pilot began no later than any session of timing; NULL when the passes do not tell
--
-- A choice is made by the pilot's own samples, which enter no other table.
WITH sampled AS (
    SELECT pass, case_id, count(*) AS samples, median(duration_ns) AS median_ns
    FROM sample
    WHERE quantity = 'completion'
    GROUP BY pass, case_id
), begun AS (
    SELECT min(started_utc) AS started_utc FROM "pass" WHERE pass IN ('timing', 'timing-2')
), joined AS (
    SELECT
        h.*,
        c.case_id,
        c.case_order,
        coalesce(s.samples, 0) AS samples,
        s.median_ns AS sample_median_ns,
        p.started_utc <= (SELECT started_utc FROM begun) AS before_sessions
    FROM choice AS h
    LEFT JOIN variant_case AS c
        ON c.variant = h.variant AND c.submission = h.submission AND c.shape = h.shape
    LEFT JOIN sampled AS s ON s.pass = h.pass AND s.case_id = c.case_id
    LEFT JOIN "pass" AS p ON p.pass = h.pass
), judged AS (
    SELECT
        *,
        CASE WHEN count(*) OVER candidates = count(sample_median_ns) OVER candidates
            THEN sample_median_ns = min(sample_median_ns) OVER candidates
        END AS fastest
    FROM joined
    WINDOW candidates AS (PARTITION BY pass, group_name, shape, submission)
)
SELECT
    pass,
    group_name,
    shape,
    submission,
    variant,
    case_id,
    rounds,
    median_ns,
    samples,
    sample_median_ns,
    chosen,
    fastest,
    before_sessions
FROM judged
ORDER BY
    pass, group_name NULLS FIRST, case_order NULLS LAST, shape NULLS FIRST, submission NULLS FIRST,
    variant NULLS FIRST, rounds NULLS FIRST, median_ns NULLS FIRST, chosen NULLS FIRST
