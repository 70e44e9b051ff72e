-- One row per report, process and name of a launching call or a kernel: the first against the median of the rest.
--
-- pass          name of the report
-- process       process, numbered from 0 in the report
-- what          call: time in a launching call on the host; kernel: time of a kernel on the device
-- name          name of the call or kernel
-- count         with a duration, the first included: none is left out
-- first_ns      duration of the first in ns
-- rest          how many the median is of
-- rest_p50_ns   median of all but the first in ns; NULL when there was one only
-- rest_max_ns   longest of all but the first in ns
-- ratio         first_ns over rest_p50_ns
-- note          too few: less than five remain, so that the median says little; NULL otherwise
--
-- The first often carries loading, compiling and allocating. Calls made while a stream was being captured are left out.
WITH timed AS (
    SELECT pass, process, 'call' AS what, name, launch_id AS id, start_ns, end_ns - start_ns AS duration_ns
    FROM launch
    WHERE captured IS DISTINCT FROM true AND end_ns IS NOT NULL
    UNION ALL
    SELECT pass, process, 'kernel', name, kernel_id, start_ns, end_ns - start_ns
    FROM kernel
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
), earliest AS MATERIALIZED (
    -- Of equal starts the smaller identity is the first.
    SELECT pass, process, what, name, arg_min(id, CAST(start_ns AS HUGEINT) * 18446744073709551616 + id) AS first_id
    FROM timed
    GROUP BY pass, process, what, name
), compared AS (
    SELECT
        t.pass,
        t.process,
        t.what,
        t.name,
        count(*) AS durations,
        max(t.duration_ns) FILTER (t.id = e.first_id) AS first_ns,
        quantile_cont(t.duration_ns, 0.5) FILTER (t.id <> e.first_id) AS middle,
        max(t.duration_ns) FILTER (t.id <> e.first_id) AS longest
    FROM timed AS t
    JOIN earliest AS e
        ON e.pass = t.pass
        AND e.process IS NOT DISTINCT FROM t.process
        AND e.what = t.what
        AND e.name IS NOT DISTINCT FROM t.name
    GROUP BY t.pass, t.process, t.what, t.name
)
SELECT
    pass,
    process,
    what,
    name,
    durations AS "count",
    first_ns,
    durations - 1 AS rest,
    middle AS rest_p50_ns,
    longest AS rest_max_ns,
    round(first_ns / nullif(middle, 0), 3) AS ratio,
    CASE WHEN durations < 6 THEN 'too few: ' || (durations - 1) || ' after the first' END AS note
FROM compared
ORDER BY pass, what, name, process NULLS FIRST
