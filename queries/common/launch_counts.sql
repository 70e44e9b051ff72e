-- One row per report, process and kind of launching call: how many were made, and what became of them.
--
-- pass                name of the report
-- process             process, numbered from 0 in the report
-- kind                kernel (direct launch), graph (replay), memcpy or memset
-- calls               calls recorded, each once however much work it started
-- captured            of these, calls while their stream was being captured: recorded, but never run by this call
-- with_records        calls that left device records
-- without_records     calls that ran and left none; NULL when the report cannot tell
-- kernels             kernels recorded of these calls; NULL when the report cannot tell of any
-- memory_operations   copies and fills that these calls ran
-- call_ns             time in these calls on the host together in ns, each call once
-- reason              why something is NULL, or how much of the kernels is not in the count
--
-- Copies between host memories and fills of nothing leave no record by nature. A graph traced as a whole leaves one
-- record and no kernels: what ran inside is unknown.
WITH started AS (
    SELECT pass, launch_id, sum(kernels) AS kernels, sum(memory) AS memory, sum(graphs) AS graphs
    FROM (
        SELECT pass, launch_id, count(*) AS kernels, 0 AS memory, 0 AS graphs FROM kernel GROUP BY pass, launch_id
        UNION ALL
        SELECT pass, launch_id, 0, count(*), 0 FROM memory_operation GROUP BY pass, launch_id
        UNION ALL
        SELECT pass, launch_id, 0, 0, count(*) FROM graph_run GROUP BY pass, launch_id
    )
    GROUP BY pass, launch_id
), grouped AS (
    SELECT
        l.pass,
        l.process,
        l.kind,
        count(*) AS calls,
        count(*) FILTER (l.captured) AS captured,
        count(s.launch_id) AS with_records,
        count(*) FILTER (s.launch_id IS NULL AND l.captured IS DISTINCT FROM true) AS without_records,
        CAST(sum(coalesce(s.kernels, 0)) AS BIGINT) AS kernels,
        CAST(sum(coalesce(s.memory, 0)) AS BIGINT) AS memory_operations,
        -- A graph is known from inside by the records of its nodes.
        count(*) FILTER (
            l.kind = 'graph' AND l.captured IS DISTINCT FROM true AND coalesce(s.kernels + s.memory, 0) = 0
        ) AS opaque,
        CAST(sum(l.end_ns - l.start_ns) AS BIGINT) AS call_ns
    FROM launch AS l
    LEFT JOIN started AS s ON s.pass = l.pass AND s.launch_id = l.launch_id
    GROUP BY l.pass, l.process, l.kind
), told AS (
    -- An nsys report without a table of kernels tells nothing of what ran.
    SELECT pass, bool_or("rows" IS NULL) AS unknown FROM report WHERE format LIKE 'nsys%' GROUP BY pass
), judged AS (
    SELECT
        g.*,
        coalesce(told.unknown, false) AND g.kind IN ('kernel', 'graph') AND g.kernels = 0 AS untold,
        g.opaque > 0 AND g.kernels = 0 AND g.memory_operations = 0 AS hidden
    FROM grouped AS g
    LEFT JOIN told ON told.pass = g.pass
)
SELECT
    pass,
    process,
    kind,
    calls,
    captured,
    with_records,
    CASE WHEN NOT untold THEN without_records END AS without_records,
    CASE WHEN NOT (untold OR hidden) THEN kernels END AS kernels,
    memory_operations,
    call_ns,
    CASE
        WHEN untold THEN 'the report has no table of kernels, so what ran is unknown, not zero'
        WHEN opaque > 0 THEN
            opaque || ' replays left no records of their nodes: the kernels inside are unknown, not zero'
    END AS reason
FROM judged
ORDER BY pass, process NULLS FIRST, kind
