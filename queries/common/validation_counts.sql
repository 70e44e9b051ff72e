-- One row per pass and variant, and one per pass for all its variants: how much was checked, and how much of it failed.
--
-- pass            name of the pass
-- variant         name of the variant; `all variants` for the pass together
-- cases           cases whose arrays were checked
-- fixtures        different inputs
-- arrays          different arrays by name; where none is named, one
-- arrays_checked  arrays checked: each array of each case on each input counts once
-- checks          checks of these arrays
-- held_out        of these, checks on inputs kept back until after the measurements
-- failed          of these, checks that do not hold, or whose worst is above the limit whatever their record says
WITH checked AS (
    SELECT v.*, c.variant, c.case_order, coalesce(v.array, '') AS named
    FROM validation AS v
    JOIN variant_case AS c ON c.case_id = v.case_id
)
SELECT
    pass,
    CASE WHEN grouping(variant) = 1 THEN 'all variants' ELSE variant END AS variant,
    count(DISTINCT case_id) AS cases,
    count(DISTINCT fixture) AS fixtures,
    count(DISTINCT named) AS arrays,
    count(DISTINCT (case_id, fixture, named)) AS arrays_checked,
    count(*) AS checks,
    count(*) FILTER (held_out) AS held_out,
    count(*) FILTER (passed IS DISTINCT FROM true OR worst > "limit") AS failed
FROM checked
GROUP BY GROUPING SETS ((pass, variant), (pass))
ORDER BY pass, grouping(variant), min(case_order), 2 NULLS FIRST
