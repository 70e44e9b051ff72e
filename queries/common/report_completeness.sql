-- One row per report: what it holds, what is missing from it, and what it cannot tell.
--
-- pass                       name of the report
-- file                       name of the file
-- format                     nsys-sqlite, nsys-parquet, ncu-csv, ncu-rep, nsight-python-csv, driver-records …
-- complete                   whether the file ends as it should; NULL when that cannot be told
-- kernels_told               recorded: there are kernels; zero rows: an empty table, so none ran; table absent: none was
--                            written, so it is unknown; not traced: CUDA was not asked for; NULL for other tools
-- kernels                    kernels recorded; NULL when the report cannot tell
-- untimed_kernels            of these, those without device times
-- kernels_without_launch     of these, those whose launching call is not in the report
-- kernels_outside_ranges     of these, those launched outside every range
-- launches                   launching calls that ran
-- captured_launches          launching calls that were only captured into a graph, and never ran
-- launches_without_records   kernel launches without a device record; NULL when the report cannot tell
-- replays_without_nodes      graph launches without records of their nodes: their kernels are unknown, not zero
-- ranges                     NVTX ranges
-- open_ranges                of these, those that were never closed
-- processes                  processes
-- idle_processes             of these, those without any device record
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
        count(*) FILTER (coalesce(kernels, 0) + coalesce(memory_operations, 0) = 0) AS idle
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
        string_agg(DISTINCT code, '+' ORDER BY code) AS codes,
        bool_or(code IN ('not-traced', 'cuda-not-traced')
            OR (code = 'no-kernel-table' AND reason LIKE 'CUDA was not traced%')) AS untraced
    FROM finding
    GROUP BY pass
), joined AS (
    SELECT
        t.*,
        t.format LIKE 'nsys%' AS of_nsys,
        t.format LIKE 'ncu%' AS of_ncu,
        CASE
            WHEN t.format NOT LIKE 'nsys%' THEN NULL
            WHEN t."rows" > 0 OR ran.kernels > 0 THEN 'recorded'
            WHEN t."rows" = 0 THEN 'zero rows'
            WHEN d.untraced THEN 'not traced'
            ELSE 'table absent'
        END AS kernels_told,
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
    LEFT JOIN ran ON ran.pass = t.pass
    LEFT JOIN launched ON launched.pass = t.pass
    LEFT JOIN ranged ON ranged.pass = t.pass
    LEFT JOIN lived ON lived.pass = t.pass
    LEFT JOIN measured ON measured.pass = t.pass
    LEFT JOIN doubted AS d ON d.pass = t.pass
), told AS (
    SELECT *, coalesce(kernels_told IN ('recorded', 'zero rows'), false) AS known FROM joined
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
    CASE WHEN of_nsys THEN coalesce(launches, 0) END AS launches,
    CASE WHEN of_nsys THEN coalesce(captured, 0) END AS captured_launches,
    CASE WHEN known THEN coalesce(lost, 0) END AS launches_without_records,
    CASE WHEN of_nsys THEN coalesce(opaque, 0) END AS replays_without_nodes,
    CASE WHEN of_nsys THEN coalesce(ranges, 0) END AS ranges,
    CASE WHEN of_nsys THEN coalesce(open_ranges, 0) END AS open_ranges,
    CASE WHEN of_nsys THEN processes END AS processes,
    CASE WHEN known THEN idle END AS idle_processes,
    CASE WHEN of_ncu THEN coalesce(workloads, 0) END AS workloads,
    CASE WHEN of_ncu THEN coalesce(missing, 0) END AS missing_values,
    findings,
    codes
FROM told
ORDER BY pass, file, format, sha256
