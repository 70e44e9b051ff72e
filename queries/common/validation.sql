-- One row per pass, case, array and check of the arrays that a case writes.
--
-- pass      name of the pass
-- case_id   experiment:variant:submission:shape
-- array     name of the array; NULL in runs that were recorded before arrays had names
-- check     finite, nonnegative, error, row_sum, exact, same_as_stream, same_as:VARIANT …
-- fixtures  inputs checked
-- held_out  how many of them were kept back until after the measurements
-- failed    inputs whose check failed, or whose worst is above the limit whatever its record says
-- worst     largest violation measure; for `error` the largest |error| over its tolerance
-- limit     largest value that passes
SELECT
    v.pass,
    v.case_id,
    v.array,
    v.check,
    count(*) AS fixtures,
    count(*) FILTER (v.held_out) AS held_out,
    count(*) FILTER (v.passed IS DISTINCT FROM true OR v.worst > v.limit) AS failed,
    max(v.worst) AS worst,
    max(v.limit) AS limit
FROM validation AS v
LEFT JOIN variant_case AS c ON c.case_id = v.case_id
GROUP BY v.pass, v.case_id, v.array, v.check, c.case_order
ORDER BY v.pass, c.case_order, v.case_id, v.array NULLS FIRST, v.check
