-- One row per pass, case and check of the output arrays.
--
-- pass      name of the pass
-- case_id   experiment:variant:submission:shape
-- check     finite, nonnegative, error, row_sum, same_as_stream …
-- fixtures  inputs checked
-- held_out  how many of them were kept back until after the measurements
-- failed    inputs whose check failed
-- worst     largest violation measure; for `error` the largest |error| over its tolerance
-- limit     largest value that passes
SELECT
    v.pass,
    v.case_id,
    v.check,
    count(*) AS fixtures,
    count(*) FILTER (v.held_out) AS held_out,
    count(*) FILTER (v.passed IS DISTINCT FROM true) AS failed,
    max(v.worst) AS worst,
    max(v.limit) AS limit
FROM validation AS v
LEFT JOIN variant_case AS c ON c.case_id = v.case_id
GROUP BY v.pass, v.case_id, v.check, c.case_order
ORDER BY v.pass, c.case_order, v.case_id, v.check
