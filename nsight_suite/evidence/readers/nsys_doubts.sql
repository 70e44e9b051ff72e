-- What an nsys capture leaves in doubt, as rows of `finding`: each with the numbers seen and what to do.
INSERT INTO finding BY NAME
WITH replays AS (
    SELECT
        count(*) AS launches,
        count(*) FILTER (WHERE operations > 0) AS by_node,
        count(*) FILTER (
            WHERE operations > 0 OR launch_id IN (
                SELECT launch_id FROM graph_run WHERE pass = getvariable('pass_name') AND launch_id IS NOT NULL
            )
        ) AS recorded
    FROM launch
    WHERE pass = getvariable('pass_name') AND kind = 'graph' AND NOT captured
),
lost AS (
    SELECT
        count(*) AS launches,
        count(*) FILTER (
            WHERE start_ns > (
                SELECT coalesce(max(start_ns), -1) FROM launch WHERE pass = getvariable('pass_name') AND operations > 0
            )
        ) AS at_the_end
    FROM launch
    WHERE pass = getvariable('pass_name') AND NOT captured AND operations = 0 AND kind = 'kernel'
),
orphans AS (
    SELECT count(*) AS kernels FROM kernel WHERE pass = getvariable('pass_name') AND launch_id IS NULL
),
-- A call counts whatever carries its correlation id, a record belongs to one call.
shared AS (
    SELECT
        (SELECT coalesce(sum(operations), 0) FROM launch WHERE pass = getvariable('pass_name'))
        - (SELECT count(launch_id) FROM kernel WHERE pass = getvariable('pass_name'))
        - (SELECT count(launch_id) FROM memory_operation WHERE pass = getvariable('pass_name')) AS operations
),
silent AS (
    SELECT string_agg(pid, ', ' ORDER BY process) AS pids, count(*) AS processes
    FROM process
    WHERE pass = getvariable('pass_name') AND launches > 0 AND kernels + memory_operations + graph_runs = 0
        AND (
            SELECT sum(kernels + memory_operations + graph_runs) FROM process WHERE pass = getvariable('pass_name')
        ) > 0
),
untimed AS (
    SELECT count(*) AS kernels FROM kernel WHERE pass = getvariable('pass_name') AND start_ns IS NULL
),
impossible AS (
    SELECT
        (SELECT count(*) FROM nsys.record WHERE impossible)
        + (SELECT count(*) FROM nsys.graph_trace WHERE "end" < "start") AS operations,
        (
            SELECT count(*) FROM nsys.nvtx WHERE eventType IN (59, 60, 70, 71) AND "end" < "start"
        ) + (SELECT count(*) FROM nsys.api WHERE "end" < "start") AS on_the_host
),
endless AS (
    SELECT count(*) AS calls FROM nsys.api WHERE "end" IS NULL AND "start" IS NOT NULL AND globalTid IS NOT NULL
),
placeless AS (
    SELECT count(*) AS calls FROM nsys.api WHERE "start" IS NULL OR globalTid IS NULL
),
open_captures AS (
    SELECT coalesce(sum(opened) FILTER (WHERE opened > 0), 0) AS captures
    FROM (
        SELECT sum(CASE api_name.kind WHEN 5 THEN 1 ELSE -1 END) AS opened
        FROM nsys.api JOIN nsys.api_name ON api_name.id = api.nameId
        WHERE api_name.kind IN (5, 6)
        GROUP BY globalTid & -16777216
    )
),
annotations AS (
    SELECT
        count(*) AS events,
        count(*) FILTER (WHERE eventType IN (59, 60, 70, 71)) AS ranges,
        count(*) FILTER (WHERE eventType IN (59, 70)) AS nested,
        count(*) FILTER (WHERE eventType IN (59, 60, 70, 71) AND ("start" IS NULL OR globalTid IS NULL)) AS placeless
    FROM nsys.nvtx
),
open_ranges AS (
    SELECT count(*) AS ranges FROM "range" WHERE pass = getvariable('pass_name') AND end_ns IS NULL
)
SELECT code, getvariable('pass_name') AS pass, subject, reason
FROM (
    SELECT
        'graph-level-trace' AS code,
        'kernels of ' || opaque || ' graph launches' AS subject,
        opaque || ' of ' || launches || ' graph launches have no kernel of a graph node'
            || CASE
                WHEN whole > 0 THEN ' (' || whole || ' whole replays were recorded instead: '
                    || coalesce(whole_ns || ' ns of device time', 'none was timed') || ')'
                ELSE ''
            END
            || '. Graphs were traced as a whole, so what ran inside is unknown, not zero. '
            || 'Capture again with --cuda-graph-trace=node.' AS reason
    FROM (
        SELECT
            *,
            CASE WHEN by_node = 0 THEN launches ELSE recorded - by_node END AS opaque,
            (SELECT count(*) FROM nsys.graph_trace) AS whole,
            (
                SELECT CAST(sum("end" - "start") AS BIGINT) FROM nsys.graph_trace WHERE timed("start", "end")
            ) AS whole_ns
        FROM replays
    )
    WHERE opaque > 0
    UNION ALL
    SELECT
        'graph-coverage',
        recorded || ' of ' || launches || ' graph launches',
        recorded || ' of ' || launches || ' graph launches have device records: '
            || floor(100 * recorded / launches)::BIGINT || ' % are covered. Sums and counts over graph replays are '
            || 'too low by an unknown amount, so no verdict on them is given. '
            || 'Records were dropped, or the capture ended early: capture a shorter stretch.'
    FROM replays
    WHERE recorded > 0 AND recorded < launches
    UNION ALL
    SELECT
        'launch-without-kernel',
        launches || ' launches',
        launches || ' launches have no device record, ' || at_the_end || ' of them after the last one that has. '
            || 'The capture ended before the device did, or records were dropped. Synchronise before the program '
            || 'ends and capture again.'
    FROM lost
    -- Without the table of kernels none is lost: nothing of them is known.
    WHERE launches > 0 AND getvariable('kernel_rows') IS NOT NULL
    UNION ALL
    SELECT
        'kernel-without-launch',
        kernels || ' kernels',
        kernels || ' kernels have no API call that launched them. They count, but belong to no range. '
            || 'The export was cut by time, API calls were skipped, or a kernel launched them.'
    FROM orphans
    WHERE kernels > 0 AND getvariable('call_rows') IS NOT NULL
    UNION ALL
    SELECT
        'repeated-correlation-id',
        operations || ' operations',
        'Several API calls of one process carry the same correlation id, so ' || operations || ' times a kernel, copy or '
            || 'fill counts for more than one call and in the ranges around each, while it belongs to the first alone. '
            || 'Export the report again; if that does not help, the sums of ranges are too high.'
    FROM shared
    WHERE operations > 0
    UNION ALL
    SELECT
        'process-without-device-work',
        processes || ' processes',
        'The processes ' || pids || ' launched work, but no device record of theirs is there. '
            || 'They ended before their records were written, or nsys did not follow them to the device.'
    FROM silent
    WHERE processes > 0
    UNION ALL
    SELECT
        'untimed-kernel',
        kernels || ' kernels',
        kernels || ' kernels have no device times. They count, but enter no sum of durations.'
    FROM untimed
    WHERE kernels > 0
    UNION ALL
    SELECT
        'impossible-times',
        operations || ' operations, ' || on_the_host || ' calls and ranges',
        operations || ' kernels, copies, fills and whole graphs end before they start: they count, but enter no sum of durations. '
            || on_the_host || ' calls and ranges do: they are taken to end where they start. '
            || 'Export the report again; if that does not help, the capture is damaged.'
    FROM impossible
    WHERE operations + on_the_host > 0
    UNION ALL
    SELECT
        'call-never-ended',
        calls || ' calls',
        calls || ' API calls have no end. They count, but enter no sum of durations; what they launched counts for the '
            || 'ranges around their start. The program ended inside of them, or the export is damaged.'
    FROM endless
    WHERE calls > 0
    UNION ALL
    SELECT
        'call-without-place',
        calls || ' calls',
        calls || ' API calls have no start or no thread. They are left out.'
    FROM placeless
    WHERE calls > 0
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
    WHERE events > 0 AND ranges = 0 AND (SELECT count(*) FROM nsys.nvtx WHERE eventType IN (75, 76)) > 0
    UNION ALL
    SELECT
        'only-start-end-ranges',
        ranges || ' ranges',
        'All NVTX ranges are start/end ranges, which belong to no thread. Such a range holds the launches of the '
            || 'thread that began it; launches of other threads of its process count for it when no range of '
            || 'their own thread holds them.'
    FROM annotations
    WHERE ranges > 0 AND nested = 0
    UNION ALL
    SELECT
        'range-without-place',
        placeless || ' ranges',
        placeless || ' NVTX ranges have no start or no thread. They are left out.'
    FROM annotations
    WHERE placeless > 0
    UNION ALL
    SELECT
        'range-never-closed',
        ranges || ' ranges',
        ranges || ' NVTX ranges were never closed. They are taken to last to the end of the capture.'
    FROM open_ranges
    WHERE ranges > 0
)
ORDER BY code;
