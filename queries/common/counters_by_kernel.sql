-- One row per ncu report, kernel, launch shape and metric: its values over the workloads of that kernel.
--
-- pass             name of the report
-- workload         kernel, or graph (a whole replay measured as one)
-- kernel           name of the kernel; 'graph' for whole replays
-- grid             grid as x,y,z blocks; NULL when the report does not tell
-- block            block as x,y,z threads; NULL when the report does not tell
-- section          section of a details page that shows the metric under a label of its own; NULL for the metric itself
-- metric           exact name of the metric, or its label
-- unit             base unit; empty for a plain number; NULL when unknown or when the workloads differ in it
-- workloads        workloads of that kernel and shape in the report
-- valid            workloads with a value
-- incomplete       whether any lacks a value: what follows is then of the valid ones only
-- min              smallest; NULL when there is none, or when units differ
-- median           median
-- max              largest
-- text             the one value of a metric that is no number; NULL when it is one, or when texts differ
-- shapes           launch shapes of that kernel in the report: above 1 the rows of a kernel are not one population
-- reason           why values are missing, each reason once
--
-- Missing values stay missing and are never taken for zero. Instances of a metric (addresses, opcodes) are left out.
WITH chosen AS MATERIALIZED (
    SELECT pass, workload_id, workload, name, grid, block, section, metric, value, text, unit, reason
    FROM counter
    WHERE instance IS NULL
), population AS (
    SELECT pass, workload, name, grid, block, count(DISTINCT workload_id) AS workloads
    FROM counter
    GROUP BY ALL
), spread AS (
    SELECT *, count(*) OVER (PARTITION BY pass, workload, name) AS shapes FROM population
), grouped AS (
    SELECT
        pass,
        workload,
        name,
        grid,
        block,
        section,
        metric,
        count(DISTINCT workload_id) FILTER (value IS NOT NULL OR text IS NOT NULL) AS valid,
        -- A value without a unit is of another unit than one with it.
        count(DISTINCT coalesce(unit, '<unknown>')) FILTER (value IS NOT NULL) AS units,
        max(unit) FILTER (value IS NOT NULL) AS unit,
        max(unit) AS any_unit,
        min(value) AS smallest,
        quantile_cont(value, 0.5) AS middle,
        max(value) AS largest,
        CASE WHEN count(DISTINCT text) = 1 AND count(value) = 0 THEN max(text) END AS text,
        string_agg(DISTINCT reason, '; ' ORDER BY reason) AS reasons
    FROM chosen
    GROUP BY ALL
)
SELECT
    g.pass,
    g.workload,
    g.name AS kernel,
    g.grid,
    g.block,
    g.section,
    g.metric,
    CASE g.units WHEN 0 THEN g.any_unit WHEN 1 THEN g.unit END AS unit,
    s.workloads,
    g.valid,
    g.valid < s.workloads AS incomplete,
    CASE WHEN g.units < 2 THEN g.smallest END AS "min",
    CASE WHEN g.units < 2 THEN g.middle END AS "median",
    CASE WHEN g.units < 2 THEN g.largest END AS "max",
    g.text,
    s.shapes,
    nullif(concat_ws(
        '; ',
        CASE WHEN g.units > 1 THEN 'the workloads give it in different units' END,
        g.reasons,
        CASE
            WHEN g.valid < s.workloads AND g.reasons IS NULL THEN 'not in the report for '
                || (s.workloads - g.valid) || ' of ' || s.workloads || ' workloads'
        END
    ), '') AS reason
FROM grouped AS g
JOIN spread AS s
    ON s.pass = g.pass
    AND s.workload IS NOT DISTINCT FROM g.workload
    AND s.name IS NOT DISTINCT FROM g.name
    AND s.grid IS NOT DISTINCT FROM g.grid
    AND s.block IS NOT DISTINCT FROM g.block
ORDER BY g.pass, g.workload, kernel, g.grid NULLS FIRST, g.block NULLS FIRST, g.section NULLS FIRST, g.metric
