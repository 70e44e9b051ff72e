-- One row per timed case: host completion of one unprofiled invocation.
--
-- case_id    experiment:variant:submission:shape
-- variant    name of the variant
-- submission stream or graph
-- shape      name of the problem size
-- samples    number of samples
-- median_ns  median in ns
-- p10_ns     10th percentile of the samples in ns; a quantile of repeats, not a confidence bound
-- p90_ns     90th percentile of the samples in ns
-- min_ns     smallest sample in ns
-- max_ns     largest sample in ns
--
-- Completion runs from just before submission to the return of synchronisation. This is the first session
-- (pass timing); session_completion tells of every session.
SELECT
    c.case_id,
    c.variant,
    c.submission,
    c.shape,
    count(*) AS samples,
    CAST(round(quantile_cont(s.duration_ns, 0.5)) AS BIGINT) AS median_ns,
    CAST(round(quantile_cont(s.duration_ns, 0.1)) AS BIGINT) AS p10_ns,
    CAST(round(quantile_cont(s.duration_ns, 0.9)) AS BIGINT) AS p90_ns,
    min(s.duration_ns) AS min_ns,
    max(s.duration_ns) AS max_ns
FROM sample AS s
JOIN variant_case AS c ON c.case_id = s.case_id
WHERE s.pass = 'timing' AND s.quantity = 'completion'
GROUP BY c.case_id, c.variant, c.submission, c.shape, c.case_order
ORDER BY c.case_order
