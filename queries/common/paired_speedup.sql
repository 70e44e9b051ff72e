-- One row per ordered pair of cases that differ in the variant or in the submission: their completions by round.
--
-- shape                 name of the problem size
-- differs               what differs: variant or submission
-- baseline              case_id of the case that is compared with
-- case_id               case_id of the case
-- rounds                rounds in which both were measured
-- speedup               baseline over case, median of the per-round ratios; above 1 the case is faster
-- speedup_p10           10th percentile of the per-round ratios
-- speedup_p90           90th percentile of the per-round ratios
-- difference_ns         case minus baseline, median of the per-round differences in ns
--
-- Variants may differ in the number of kernels and in the storage of intermediates at once; a ratio of times alone
-- attributes to neither. The rounds are those of the first session (pass timing).
WITH completion AS (
    SELECT c.*, s.round, s.duration_ns
    FROM sample AS s
    JOIN variant_case AS c ON c.case_id = s.case_id
    WHERE s.pass = 'timing' AND s.quantity = 'completion' AND s.duration_ns > 0
), pairs AS (
    SELECT
        a.shape,
        a.case_order,
        CASE WHEN a.variant <> b.variant THEN 'variant' ELSE 'submission' END AS differs,
        a.case_id AS baseline,
        b.case_id,
        b.case_order AS other_order,
        a.duration_ns AS baseline_ns,
        b.duration_ns
    FROM completion AS a
    JOIN completion AS b
        ON a.experiment = b.experiment AND a.shape = b.shape AND a.round = b.round
        AND (a.variant <> b.variant) <> (a.submission <> b.submission)
)
SELECT
    shape,
    differs,
    baseline,
    case_id,
    count(*) AS rounds,
    round(quantile_cont(baseline_ns / duration_ns, 0.5), 4) AS speedup,
    round(quantile_cont(baseline_ns / duration_ns, 0.1), 4) AS speedup_p10,
    round(quantile_cont(baseline_ns / duration_ns, 0.9), 4) AS speedup_p90,
    CAST(round(quantile_cont(duration_ns - baseline_ns, 0.5)) AS BIGINT) AS difference_ns
FROM pairs
GROUP BY shape, case_order, differs, baseline, case_id, other_order
ORDER BY case_order, differs, other_order
