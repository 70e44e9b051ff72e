-- One row per report: what it holds, what is missing from it, and what it cannot tell.
--
-- pass                       name of the report
-- file                       name of the file
-- format                     nsys-sqlite, nsys-parquet, ncu-csv, ncu-rep, nsight-python-csv, driver-records …
-- complete                   whether the file ends as it should; NULL when that cannot be told
-- kernels_told               recorded: there are kernels; zero rows: an empty table, so none ran; table absent: none was
--                            written, so it is unknown; not traced: CUDA was not asked for, so it is unknown too; NULL
--                            for other tools
-- kernels                    kernels recorded; NULL when the report cannot tell
-- untimed_kernels            of these, those without device times
-- kernels_without_launch     of these, those whose launching call is not in the report
-- kernels_outside_ranges     of these, those that belong to no range of the report
-- launches                   launching calls that ran; NULL when the report has no table of calls
-- captured_launches          launching calls that were only captured into a graph, and never ran; NULL likewise
-- launches_without_records   kernel launches without a device record; NULL when the report cannot tell
-- replays_without_nodes      graph launches without records of their nodes: their kernels are unknown, not zero
-- ranges                     NVTX ranges; NULL when the report has no table of them
-- open_ranges                of these, those that were never closed; NULL likewise
-- processes                  processes
-- idle_processes             of these, those without any device record; NULL when the report cannot tell
-- workloads                  workloads of an ncu report
-- missing_values             metrics of workloads whose value could not be had
-- findings                   doubts that its reader raised: query findings tells them
-- codes                      their codes, joined by '+'; NULL when there are none
--
-- Numbers of nsys are NULL for ncu and the other way round. Missing is never zero: a NULL was not looked at or cannot
-- be told.
WITH ran AS (
    SELECT
        pass,
        count(*) AS kernels,
        count(*) - count(end_ns - start_ns) AS untimed,
        count(*) FILTER (launch_id IS NULL) AS orphans,
        count(*) FILTER (path_id IS NULL AND range_id IS NULL) AS outside
    FROM kernel
    GROUP BY pass
), started AS (
    SELECT DISTINCT pass, launch_id FROM kernel
    UNION
    SELECT DISTINCT pass, launch_id FROM memory_operation
), launched AS (
    SELECT
        l.pass,
        count(*) FILTER (l.captured IS DISTINCT FROM true) AS launches,
        count(*) FILTER (l.captured) AS captured,
        count(*) FILTER (l.kind = 'kernel' AND l.captured IS DISTINCT FROM true AND s.launch_id IS NULL) AS lost,
        count(*) FILTER (l.kind = 'graph' AND l.captured IS DISTINCT FROM true AND s.launch_id IS NULL) AS opaque
    FROM launch AS l
    LEFT JOIN started AS s ON s.pass = l.pass AND s.launch_id = l.launch_id
    GROUP BY l.pass
), ranged AS (
    SELECT pass, count(*) AS ranges, count(*) FILTER (end_ns IS NULL) AS open_ranges FROM "range" GROUP BY pass
), lived AS (
    SELECT
        pass,
        count(*) AS processes,
        count(*) FILTER (
            coalesce(kernels, 0) + coalesce(memory_operations, 0) + coalesce(graph_runs, 0) = 0
        ) AS idle
    FROM process
    GROUP BY pass
), measured AS (
    SELECT
        pass,
        count(DISTINCT workload_id) AS workloads,
        count(*) FILTER (value IS NULL AND text IS NULL) AS missing
    FROM counter
    GROUP BY pass
), doubted AS (
    SELECT
        pass,
        count(*) AS findings,
        string_agg(DISTINCT code, '+' ORDER BY code) AS codes
    FROM finding
    GROUP BY pass
), joined AS (
    SELECT
        t.*,
        t.format LIKE 'nsys%' AS of_nsys,
        t.format LIKE 'ncu%' AS of_ncu,
        t.format LIKE 'nsys%' AND t.call_rows IS NOT NULL AS calls_known,
        t.format LIKE 'nsys%' AND t.range_rows IS NOT NULL AS ranges_known,
        coalesce(k.known, false) AS known,
        k.answer AS kernels_told,
        ran.kernels,
        ran.untimed,
        ran.orphans,
        ran.outside,
        launched.launches,
        launched.captured,
        launched.lost,
        launched.opaque,
        ranged.ranges,
        ranged.open_ranges,
        lived.processes,
        lived.idle,
        measured.workloads,
        measured.missing,
        coalesce(d.findings, 0) AS findings,
        d.codes
    FROM report AS t
    LEFT JOIN kernels_told AS k ON k.pass = t.pass AND t.format LIKE 'nsys%'
    LEFT JOIN ran ON ran.pass = t.pass
    LEFT JOIN launched ON launched.pass = t.pass
    LEFT JOIN ranged ON ranged.pass = t.pass
    LEFT JOIN lived ON lived.pass = t.pass
    LEFT JOIN measured ON measured.pass = t.pass
    LEFT JOIN doubted AS d ON d.pass = t.pass
)
SELECT
    pass,
    file,
    format,
    complete,
    kernels_told,
    CASE WHEN known THEN coalesce(kernels, 0) END AS kernels,
    CASE WHEN known THEN coalesce(untimed, 0) END AS untimed_kernels,
    CASE WHEN known THEN coalesce(orphans, 0) END AS kernels_without_launch,
    CASE WHEN known THEN coalesce(outside, 0) END AS kernels_outside_ranges,
    CASE WHEN calls_known THEN coalesce(launches, 0) END AS launches,
    CASE WHEN calls_known THEN coalesce(captured, 0) END AS captured_launches,
    CASE WHEN known AND calls_known THEN coalesce(lost, 0) END AS launches_without_records,
    CASE WHEN calls_known THEN coalesce(opaque, 0) END AS replays_without_nodes,
    CASE WHEN ranges_known THEN coalesce(ranges, 0) END AS ranges,
    CASE WHEN ranges_known THEN coalesce(open_ranges, 0) END AS open_ranges,
    CASE WHEN of_nsys THEN processes END AS processes,
    CASE WHEN known THEN idle END AS idle_processes,
    CASE WHEN of_ncu THEN coalesce(workloads, 0) END AS workloads,
    CASE WHEN of_ncu THEN coalesce(missing, 0) END AS missing_values,
    findings,
    codes
FROM joined
ORDER BY pass, file, format, sha256
