-- What an nsys capture leaves in doubt, as rows of `finding`: each with the numbers seen and what to do.
INSERT INTO finding BY NAME
WITH launches AS (
    SELECT launch.*, kernel.launch_id IS NOT NULL OR memory.launch_id IS NOT NULL AS recorded
    FROM launch
    LEFT JOIN (SELECT DISTINCT pass, launch_id FROM kernel) AS kernel USING (pass, launch_id)
    LEFT JOIN (SELECT DISTINCT pass, launch_id FROM memory_operation) AS memory USING (pass, launch_id)
    WHERE pass = getvariable('pass_name')
),
replays AS (
    SELECT count(*) AS launches, coalesce(bool_or(recorded), false) AS any_recorded
    FROM launches
    WHERE kind = 'graph' AND NOT captured
),
lost AS (
    SELECT
        count(*) AS launches,
        count(*) FILTER (
            WHERE start_ns > (SELECT coalesce(max(start_ns), -1) FROM launches WHERE recorded)
        ) AS at_the_end
    FROM launches, replays
    WHERE NOT captured AND NOT recorded AND (kind = 'kernel' OR (kind = 'graph' AND any_recorded))
),
orphans AS (
    SELECT count(*) AS kernels FROM kernel WHERE pass = getvariable('pass_name') AND launch_id IS NULL
),
untimed AS (
    SELECT count(*) AS kernels FROM kernel WHERE pass = getvariable('pass_name') AND start_ns IS NULL
),
open_captures AS (
    SELECT coalesce(sum(opened) FILTER (WHERE opened > 0), 0) AS captures
    FROM (
        SELECT process, count(*) FILTER (WHERE kind = 'begin_capture') - count(*) FILTER (WHERE kind = 'end_capture')
            AS opened
        FROM nsys.capture
        GROUP BY process
    )
),
annotations AS (
    SELECT count(*) AS events, count(*) FILTER (WHERE eventType IN (59, 60, 70, 71)) AS ranges FROM nsys.nvtx
),
open_ranges AS (
    SELECT count(*) AS ranges FROM nsys.span WHERE end_ns IS NULL
)
SELECT code, getvariable('pass_name') AS pass, subject, reason
FROM (
    SELECT
        'graph-level-trace' AS code,
        'kernels of ' || launches || ' graph launches' AS subject,
        launches || ' graph launches have no kernel of a graph node'
            || (SELECT CASE WHEN count(*) > 0 THEN ' (whole replays were timed instead)' ELSE '' END FROM nsys.graph_trace)
            || '. Graphs were traced as a whole, so what ran inside is unknown, not zero. '
            || 'Capture again with --cuda-graph-trace=node.' AS reason
    FROM replays
    WHERE launches > 0 AND NOT any_recorded
    UNION ALL
    SELECT
        'launch-without-kernel',
        launches || ' launches',
        launches || ' launches have no device record, ' || at_the_end || ' of them after the last one that has. '
            || 'The capture ended before the device did, or records were dropped. Synchronise before the program '
            || 'ends and capture again.'
    FROM lost
    WHERE launches > 0
    UNION ALL
    SELECT
        'kernel-without-launch',
        kernels || ' kernels',
        kernels || ' kernels have no API call that launched them. They count, but belong to no range. '
            || 'The export was cut by time, API calls were skipped, or a kernel launched them.'
    FROM orphans
    WHERE kernels > 0
    UNION ALL
    SELECT
        'untimed-kernel',
        kernels || ' kernels',
        kernels || ' kernels have no device times. They count, but enter no sum of durations.'
    FROM untimed
    WHERE kernels > 0
    UNION ALL
    SELECT
        'capture-never-ended',
        captures || ' stream captures',
        captures || ' stream captures were begun and never ended, so no graph came of them. '
            || 'The program ended in the middle of a capture, or a capture failed.'
    FROM open_captures
    WHERE captures > 0
    UNION ALL
    SELECT
        'ranges-vanished',
        'NVTX_EVENTS',
        'NVTX_EVENTS holds ' || events || ' rows and no range. The nvtx wheel is too new for this nsys: from 0.2.12 '
            || 'on it loses every range under nsys 2023. Install nvtx==0.2.11 or a newer nsys, and capture again.'
    FROM annotations
    WHERE events > 0 AND ranges = 0
    UNION ALL
    SELECT
        'range-never-closed',
        ranges || ' ranges',
        ranges || ' NVTX ranges were never closed. They are taken to last to the end of the capture.'
    FROM open_ranges
    WHERE ranges > 0
)
ORDER BY code;
