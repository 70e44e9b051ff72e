-- One row per configuration with an empty baseline: the completion clock around a bare synchronisation.
--
-- case_id    case whose stream was synchronised; NULL when measured once for the device
-- samples    number of samples
-- median_ns  median in ns
-- p10_ns     10th percentile of the samples in ns
-- p90_ns     90th percentile of the samples in ns
--
-- It is shown, never subtracted. Of the first session (pass timing).
SELECT
    s.case_id,
    count(*) AS samples,
    CAST(round(quantile_cont(s.duration_ns, 0.5)) AS BIGINT) AS median_ns,
    CAST(round(quantile_cont(s.duration_ns, 0.1)) AS BIGINT) AS p10_ns,
    CAST(round(quantile_cont(s.duration_ns, 0.9)) AS BIGINT) AS p90_ns
FROM sample AS s
LEFT JOIN variant_case AS c ON c.case_id = s.case_id
WHERE s.pass = 'timing' AND s.quantity = 'empty_sync'
GROUP BY s.case_id, c.case_order
ORDER BY c.case_order NULLS FIRST, s.case_id NULLS FIRST
