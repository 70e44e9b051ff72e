-- One row per case that is submitted as a CUDA graph: its nodes, by every witness.
--
-- case_id                  experiment:variant:submission:shape
-- experiment               name of the experiment
-- variant                  name of the variant
-- shape                    name of the problem size
-- expected_nodes           kernel nodes that the experiment declares; NULL when it declares none
-- api_nodes                kernel nodes by the graph API, equal in every pass; NULL when unknown or unequal
-- api_min                  fewest kernel nodes by the graph API among the passes
-- api_max                  most kernel nodes by the graph API among the passes
-- dot_nodes                kernel nodes by the driver's DOT dump, equal in every pass that made one; else NULL
-- nsys_nodes_per_replay    kernel nodes that nsys saw run in every replay; NULL when they differ or are unknown
-- nodes                    kernel nodes that all witnesses at hand agree on; NULL when they do not
-- expected_memsets         memset nodes that the experiment declares; NULL when it declares nothing
-- api_memsets              memset nodes by the graph API, equal in every pass; NULL when unknown or unequal
-- api_memsets_min          fewest memset nodes by the graph API among the passes
-- api_memsets_max          most memset nodes by the graph API among the passes
-- dot_memsets              memset nodes by the DOT dump, equal in every pass that made one; else NULL
-- nsys_memsets_per_replay  memsets that nsys saw run in every replay; NULL when they differ or are unknown
-- dot_agrees               whether the DOT dump tells the same nodes of every kind as the API in its pass; NULL without
-- api_kinds                nodes by kind by the graph API, such as `kernel 2, memset 1`; several, by ` or `, where passes
--                          differ
-- dot_kinds                the same by the DOT dump; NULL without one
-- other_nodes              nodes of other kinds than kernel (memset, memcpy, empty …) by the graph API; NULL when unknown
-- other_kinds              their kinds, joined by '+'; NULL when there are none
--
-- A memset is a node of its own and no kernel.
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
        count(*) FILTER (n.kind = 'memset') AS memsets,
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
        min(memsets) AS fewest_memsets,
        max(memsets) AS most_memsets,
        CASE WHEN min(others) = max(others) THEN max(others) END AS others,
        max(kinds) AS kinds
    FROM per_pass
    GROUP BY case_id
), api_kind AS (
    SELECT pass, case_id, kind, count(*) AS nodes FROM graph_node GROUP BY pass, case_id, kind
), api_told AS (
    SELECT pass, case_id, string_agg(kind || ' ' || nodes, ', ' ORDER BY kind) AS kinds
    FROM api_kind
    GROUP BY pass, case_id
), dot_kind AS (
    SELECT pass, case_id, kind, CAST(sum(nodes) AS BIGINT) AS nodes
    FROM graph_dot
    WHERE nodes > 0
    GROUP BY pass, case_id, kind
), dot_told AS (
    SELECT
        pass,
        case_id,
        coalesce(sum(nodes) FILTER (kind = 'kernel'), 0) AS kernels,
        coalesce(sum(nodes) FILTER (kind = 'memset'), 0) AS memsets,
        string_agg(kind || ' ' || nodes, ', ' ORDER BY kind) AS kinds
    FROM dot_kind
    GROUP BY pass, case_id
), api_said AS (
    SELECT case_id, string_agg(DISTINCT kinds, ' or ' ORDER BY kinds) AS kinds FROM api_told GROUP BY case_id
), dot AS (
    SELECT
        d.case_id,
        CASE WHEN min(d.kernels) = max(d.kernels) THEN CAST(max(d.kernels) AS BIGINT) END AS kernels,
        CASE WHEN min(d.memsets) = max(d.memsets) THEN CAST(max(d.memsets) AS BIGINT) END AS memsets,
        string_agg(DISTINCT d.kinds, ' or ' ORDER BY d.kinds) AS kinds,
        -- A pass that listed no node by the API has nothing to compare with.
        bool_and(d.kinds = a.kinds) AS agrees
    FROM dot_told AS d
    LEFT JOIN api_told AS a ON a.pass = d.pass AND a.case_id = d.case_id
    GROUP BY d.case_id
), per_replay AS (
    SELECT i.case_id, i.range_id, count(DISTINCT k.graph_node_id) AS nodes
    FROM invocation AS i
    LEFT JOIN invocation_kernel AS k ON k.pass = i.pass AND k.range_id = i.range_id
    GROUP BY i.case_id, i.range_id
), set_per_replay AS (
    -- A replay is launched by the suite itself, inside no other range.
    SELECT i.case_id, i.pass, i.range_id, count(m.graph_node_id) AS memsets
    FROM invocation AS i
    LEFT JOIN memory_operation AS m
        ON m.pass = i.pass AND m.range_id = i.range_id AND m.kind = 'memset' AND m.graph_node_id IS NOT NULL
    GROUP BY i.case_id, i.pass, i.range_id
), nsys AS (
    -- No node at all in any replay means that the trace was not made node by node.
    SELECT case_id, CASE WHEN min(nodes) = max(nodes) AND max(nodes) > 0 THEN max(nodes) END AS nodes
    FROM per_replay
    GROUP BY case_id
), nsys_sets AS (
    SELECT case_id, CASE WHEN min(memsets) = max(memsets) THEN max(memsets) END AS memsets
    FROM set_per_replay
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
        dot.kernels AS dot_nodes,
        nsys.nodes AS nsys_nodes_per_replay,
        e.memset_nodes AS expected_memsets,
        CASE WHEN api.fewest_memsets = api.most_memsets THEN api.most_memsets END AS api_memsets,
        api.fewest_memsets AS api_memsets_min,
        api.most_memsets AS api_memsets_max,
        dot.memsets AS dot_memsets,
        CASE WHEN nsys.nodes IS NOT NULL THEN nsys_sets.memsets END AS nsys_memsets_per_replay,
        dot.agrees AS dot_agrees,
        api_said.kinds AS api_kinds,
        dot.kinds AS dot_kinds,
        api.others AS other_nodes,
        api.kinds AS other_kinds
    FROM variant_case AS c
    LEFT JOIN expected AS e ON e.case_id = c.case_id
    LEFT JOIN api ON api.case_id = c.case_id
    LEFT JOIN api_said ON api_said.case_id = c.case_id
    LEFT JOIN dot ON dot.case_id = c.case_id
    LEFT JOIN nsys ON nsys.case_id = c.case_id
    LEFT JOIN nsys_sets ON nsys_sets.case_id = c.case_id
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
    dot_nodes,
    nsys_nodes_per_replay,
    CASE
        WHEN coalesce(api_min = api_max, true)
            AND coalesce(api_nodes = nsys_nodes_per_replay, true)
            AND coalesce(dot_nodes = api_nodes, true)
            AND coalesce(coalesce(api_nodes, nsys_nodes_per_replay) = expected_nodes, true)
        THEN coalesce(api_nodes, nsys_nodes_per_replay)
    END AS nodes,
    expected_memsets,
    api_memsets,
    api_memsets_min,
    api_memsets_max,
    dot_memsets,
    nsys_memsets_per_replay,
    dot_agrees,
    api_kinds,
    dot_kinds,
    other_nodes,
    other_kinds
FROM joined
ORDER BY case_order
