-- One row per graph case and step of making its graph ready; never part of a completion sample.
--
-- case_id    experiment:variant:submission:shape
-- variant    name of the variant
-- shape      name of the problem size
-- step       capture, instantiate or upload
-- repeats    times the step was measured
-- median_ns  median in ns
-- min_ns     smallest in ns
-- max_ns     largest in ns
--
-- Of the first session (pass timing) where a run has two.
SELECT
    c.case_id,
    c.variant,
    c.shape,
    g.step,
    count(*) AS repeats,
    CAST(round(median(g.duration_ns)) AS BIGINT) AS median_ns,
    min(g.duration_ns) AS min_ns,
    max(g.duration_ns) AS max_ns
FROM graph_setup AS g
JOIN variant_case AS c ON c.case_id = g.case_id
WHERE g.pass = 'timing'
GROUP BY c.case_id, c.variant, c.shape, c.case_order, g.step
ORDER BY c.case_order, g.step
