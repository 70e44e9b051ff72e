-- One row per timed case and session: host completion of one unprofiled invocation, session by session.
--
-- case_id             experiment:variant:submission:shape
-- variant             name of the variant
-- submission          stream or graph
-- shape               name of the problem size
-- pass                session: timing, or timing-2 (a process of its own, shapes reversed, its own shuffle)
-- uuid                GPU UUID of the session
-- samples             number of samples
-- median_ns           median in ns
-- p10_ns              10th percentile of the samples in ns; a quantile of repeats, not a confidence bound
-- p90_ns              90th percentile of the samples in ns
-- sessions            sessions in which the case was timed
-- mean_of_medians_ns  mean of the medians of these sessions in ns: one session weighs as much as another
--
-- Sessions on two GPUs tell how far two devices differ; one device's result is not another's.
WITH each AS (
    SELECT
        s.case_id,
        s.pass,
        count(*) AS samples,
        quantile_cont(s.duration_ns, 0.5) AS median_ns,
        quantile_cont(s.duration_ns, 0.1) AS p10_ns,
        quantile_cont(s.duration_ns, 0.9) AS p90_ns
    FROM sample AS s
    WHERE s.pass IN ('timing', 'timing-2') AND s.quantity = 'completion'
    GROUP BY s.case_id, s.pass
), together AS (
    SELECT case_id, count(*) AS sessions, avg(median_ns) AS mean_ns FROM each GROUP BY case_id
), used AS (
    SELECT pass, max(uuid) AS uuid FROM device GROUP BY pass
)
SELECT
    c.case_id,
    c.variant,
    c.submission,
    c.shape,
    e.pass,
    u.uuid,
    e.samples,
    CAST(round(e.median_ns) AS BIGINT) AS median_ns,
    CAST(round(e.p10_ns) AS BIGINT) AS p10_ns,
    CAST(round(e.p90_ns) AS BIGINT) AS p90_ns,
    t.sessions,
    CAST(round(t.mean_ns) AS BIGINT) AS mean_of_medians_ns
FROM each AS e
JOIN together AS t ON t.case_id = e.case_id
JOIN variant_case AS c ON c.case_id = e.case_id
LEFT JOIN used AS u ON u.pass = e.pass
ORDER BY c.case_order, e.pass
