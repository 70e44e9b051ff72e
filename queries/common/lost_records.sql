-- One row per launching call of kernels or graphs that left fewer kernel records than it must have started.
--
-- pass              name of the pass
-- case_id           case of the measured invocation around it; NULL when it was launched outside of them
-- invocation        ordinal of that invocation; NULL outside
-- place             name of the range around the call; NULL when in none
-- launch_id         identity of the call inside its pass
-- name              API name
-- kind              kernel or graph
-- expected_kernels  one; for a graph the kernel nodes that its other replays ran, at least one
-- seen_kernels      kernel records that it left
--
-- Graphs without any kernel node record in the whole pass are left out: they were not traced node by node.
WITH node AS (
    SELECT DISTINCT pass, launch_id, (process, graph_node_id) AS node_id FROM kernel WHERE graph_node_id IS NOT NULL
), first_of_launch AS (
    SELECT pass, launch_id, min(node_id) AS first_node FROM node GROUP BY pass, launch_id
), graph_of_node AS (
    -- A graph is known by its smallest node, also to a replay that lost that very record.
    SELECT n.pass, n.node_id, min(f.first_node) AS graph
    FROM node AS n
    JOIN first_of_launch AS f ON f.pass = n.pass AND f.launch_id = n.launch_id
    GROUP BY n.pass, n.node_id
), size_of_graph AS (
    SELECT pass, graph, count(*) AS nodes FROM graph_of_node GROUP BY pass, graph
), graph_of_launch AS (
    SELECT n.pass, n.launch_id, min(g.graph) AS graph
    FROM node AS n
    JOIN graph_of_node AS g ON g.pass = n.pass AND g.node_id = n.node_id
    GROUP BY n.pass, n.launch_id
), started AS (
    SELECT pass, launch_id, count(*) AS kernels FROM kernel GROUP BY pass, launch_id
), moved AS (
    SELECT DISTINCT pass, launch_id FROM memory_operation
), judged AS (
    SELECT
        l.*,
        CASE l.kind WHEN 'graph' THEN coalesce(s.nodes, 1) ELSE 1 END AS expected_kernels,
        coalesce(k.kernels, 0) AS seen_kernels
    FROM launch AS l
    LEFT JOIN started AS k ON k.pass = l.pass AND k.launch_id = l.launch_id
    LEFT JOIN moved AS m ON m.pass = l.pass AND m.launch_id = l.launch_id
    LEFT JOIN graph_of_launch AS g ON g.pass = l.pass AND g.launch_id = l.launch_id
    LEFT JOIN size_of_graph AS s ON s.pass = g.pass AND s.graph = g.graph
    WHERE NOT l.captured
        AND (l.kind = 'kernel' OR (
            l.kind = 'graph'
            AND (k.kernels IS NOT NULL OR m.launch_id IS NULL)
            AND EXISTS (SELECT 1 FROM node WHERE node.pass = l.pass)
        ))
)
SELECT
    j.pass,
    i.case_id,
    i.invocation,
    r.name AS place,
    j.launch_id,
    j.name,
    j.kind,
    j.expected_kernels,
    j.seen_kernels
FROM judged AS j
LEFT JOIN invocation_launch AS i ON i.pass = j.pass AND i.launch_id = j.launch_id
LEFT JOIN "range" AS r ON r.pass = j.pass AND r.range_id = j.range_id
WHERE j.seen_kernels < j.expected_kernels
ORDER BY j.pass, j.launch_id
