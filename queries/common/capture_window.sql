-- One row per report and kind of record: how many nsys made, and from when to when.
--
-- pass      name of the report
-- record    range, launch, wait, api call, mark, kernel, memcpy, memset, graph or overhead; 'program' for all of them
--           but overhead
-- side      host or device: where the record was made; NULL for the program
-- records   how many
-- first_ns  first moment in ns; NULL when none is timed
-- last_ns   last moment in ns; NULL when none is timed
-- span_ns   last_ns minus first_ns in ns
--
-- All moments of a report are in one clock, the capture's own: those of host and device compare inside a report, with
-- an error of some hundred ns. Nothing compares between reports, with a host's stopwatch or with ncu, but durations.
WITH counted AS (
    SELECT
        pass,
        'range' AS record,
        'host' AS side,
        count(*) AS records,
        min(start_ns) AS first_ns,
        max(end_ns) AS last_ns
    FROM "range"
    GROUP BY pass
    UNION ALL
    SELECT pass, 'launch', 'host', count(*), min(start_ns), max(end_ns) FROM launch GROUP BY pass
    UNION ALL
    SELECT pass, 'wait', 'host', count(*), min(start_ns), max(end_ns) FROM sync GROUP BY pass
    UNION ALL
    SELECT pass, 'api call', 'host', count(*), min(start_ns), max(end_ns) FROM api_call GROUP BY pass
    UNION ALL
    SELECT pass, 'mark', 'host', count(*), min(time_ns), max(time_ns) FROM mark GROUP BY pass
    UNION ALL
    SELECT pass, 'overhead', 'host', count(*), min(start_ns), max(end_ns) FROM overhead GROUP BY pass
    UNION ALL
    SELECT pass, 'kernel', 'device', count(*), min(start_ns), max(end_ns) FROM kernel GROUP BY pass
    UNION ALL
    SELECT pass, kind, 'device', count(*), min(start_ns), max(end_ns) FROM memory_operation GROUP BY pass, kind
    UNION ALL
    SELECT pass, 'graph', 'device', count(*), min(start_ns), max(end_ns) FROM graph_run GROUP BY pass
)
SELECT pass, record, side, records, first_ns, last_ns, last_ns - first_ns AS span_ns
FROM (
    SELECT * FROM counted
    UNION ALL
    SELECT c.pass, 'program', NULL, CAST(sum(c.records) AS BIGINT), any_value(w.start_ns), any_value(w.end_ns)
    FROM counted AS c
    LEFT JOIN capture_window AS w ON w.pass = c.pass
    WHERE c.record <> 'overhead'
    GROUP BY c.pass
)
ORDER BY pass, side NULLS FIRST, record
