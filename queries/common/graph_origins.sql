-- One row per graph, executable graph or graph node whose making nsys recorded: what it was copied from.
--
-- pass         name of the report
-- process      process, numbered from 0 in the report
-- kind         graph, executable graph, or node
-- id           its id; kernels name the node that they ran for
-- original_id  what it was directly copied from; NULL for one that was not
-- source_id    where the chain of copies begins; its own id when it was not copied
-- created_ns   when it was made, in ns of the capture's clock; NULL when unknown
-- executions   kernels that ran for it; NULL for what is no node
WITH ran AS (
    SELECT pass, process, graph_node_id, count(*) AS executions
    FROM kernel
    WHERE graph_node_id IS NOT NULL
    GROUP BY pass, process, graph_node_id
)
SELECT
    o.pass,
    o.process,
    o.kind,
    o.id,
    o.original_id,
    o.source_id,
    o.created_ns,
    CASE o.kind WHEN 'node' THEN coalesce(r.executions, 0) END AS executions
FROM graph_origin AS o
LEFT JOIN ran AS r
    ON r.pass = o.pass AND r.process IS NOT DISTINCT FROM o.process AND r.graph_node_id = o.id AND o.kind = 'node'
ORDER BY o.pass, o.process NULLS FIRST, o.kind, o.id, o.created_ns, o.original_id, o.source_id
