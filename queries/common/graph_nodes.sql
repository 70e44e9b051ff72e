-- One row per case that is submitted as a CUDA graph: its nodes, by every witness.
--
-- case_id                experiment:variant:submission:shape
-- experiment             name of the experiment
-- variant                name of the variant
-- shape                  name of the problem size
-- expected_nodes         kernel nodes that the experiment declares; NULL when it declares none
-- api_nodes              kernel nodes by the graph API, equal in every pass; NULL when unknown or unequal
-- api_min                fewest kernel nodes by the graph API among the passes
-- api_max                most kernel nodes by the graph API among the passes
-- nsys_nodes_per_replay  kernel nodes that nsys saw run in every replay; NULL when they differ or are unknown
-- nodes                  kernel nodes that all witnesses at hand agree on; NULL when they do not
-- other_nodes            nodes of other kinds (memset, memcpy, empty …) by the graph API; NULL when unknown
-- other_kinds            their kinds, joined by '+'; NULL when there are none
WITH listed AS (
    -- A pass that lists nodes lists those of every case that it ran.
    SELECT pass, case_id FROM graph_node
    UNION
    SELECT pass, case_id FROM driven WHERE pass IN (SELECT pass FROM graph_node)
), per_pass AS (
    SELECT
        l.pass,
        l.case_id,
        count(*) FILTER (n.kind = 'kernel') AS kernels,
        count(*) FILTER (n.kind <> 'kernel') AS others,
        string_agg(DISTINCT n.kind, '+' ORDER BY n.kind) FILTER (n.kind <> 'kernel') AS kinds
    FROM listed AS l
    LEFT JOIN graph_node AS n ON n.pass = l.pass AND n.case_id = l.case_id
    GROUP BY l.pass, l.case_id
), api AS (
    SELECT
        case_id,
        min(kernels) AS fewest,
        max(kernels) AS most,
        CASE WHEN min(others) = max(others) THEN max(others) END AS others,
        max(kinds) AS kinds
    FROM per_pass
    GROUP BY case_id
), per_replay AS (
    SELECT i.case_id, i.range_id, count(DISTINCT k.graph_node_id) AS nodes
    FROM invocation AS i
    LEFT JOIN invocation_kernel AS k ON k.pass = i.pass AND k.range_id = i.range_id
    GROUP BY i.case_id, i.range_id
), nsys AS (
    -- No node at all in any replay means that the trace was not made node by node.
    SELECT case_id, CASE WHEN min(nodes) = max(nodes) AND max(nodes) > 0 THEN max(nodes) END AS nodes
    FROM per_replay
    GROUP BY case_id
), joined AS (
    SELECT
        c.case_id,
        c.experiment,
        c.variant,
        c.shape,
        c.case_order,
        e.graph_nodes AS expected_nodes,
        CASE WHEN api.fewest = api.most THEN api.most END AS api_nodes,
        api.fewest AS api_min,
        api.most AS api_max,
        nsys.nodes AS nsys_nodes_per_replay,
        api.others AS other_nodes,
        api.kinds AS other_kinds
    FROM variant_case AS c
    LEFT JOIN expected AS e ON e.case_id = c.case_id
    LEFT JOIN api ON api.case_id = c.case_id
    LEFT JOIN nsys ON nsys.case_id = c.case_id
    WHERE c.submission = 'graph'
)
SELECT
    case_id,
    experiment,
    variant,
    shape,
    expected_nodes,
    api_nodes,
    api_min,
    api_max,
    nsys_nodes_per_replay,
    CASE
        WHEN coalesce(api_min = api_max, true)
            AND coalesce(api_nodes = nsys_nodes_per_replay, true)
            AND coalesce(coalesce(api_nodes, nsys_nodes_per_replay) = expected_nodes, true)
        THEN coalesce(api_nodes, nsys_nodes_per_replay)
    END AS nodes,
    other_nodes,
    other_kinds
FROM joined
ORDER BY case_order
