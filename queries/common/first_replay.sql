-- One row per graph case: its first replay beside its steady completion.
--
-- case_id          experiment:variant:submission:shape
-- variant          name of the variant
-- shape            name of the problem size
-- samples          first replays measured
-- first_replay_ns  completion of the first replay after instantiation and upload, median in ns
-- steady_ns        median completion of the steady rounds in ns; NULL when not measured
-- ratio            first over steady
--
-- Of the first session (pass timing) where a run has two.
WITH steady AS (
    SELECT case_id, median(duration_ns) AS median_ns
    FROM sample
    WHERE pass = 'timing' AND quantity = 'completion'
    GROUP BY case_id
)
SELECT
    c.case_id,
    c.variant,
    c.shape,
    count(*) AS samples,
    CAST(round(median(s.duration_ns)) AS BIGINT) AS first_replay_ns,
    CAST(round(any_value(steady.median_ns)) AS BIGINT) AS steady_ns,
    round(median(s.duration_ns) / nullif(any_value(steady.median_ns), 0), 3) AS ratio
FROM sample AS s
JOIN variant_case AS c ON c.case_id = s.case_id
LEFT JOIN steady ON steady.case_id = s.case_id
WHERE s.pass = 'timing' AND s.quantity = 'first_replay'
GROUP BY c.case_id, c.variant, c.shape, c.case_order
ORDER BY c.case_order
