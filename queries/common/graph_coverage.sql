-- One row per report with CUDA graphs: how many of the graph launches left device records, and what may be concluded.
--
-- pass             name of the report
-- graph_trace      granularity that the report itself states: node or graph; NULL when it does not say
-- graph_launches   graph launches that ran; those made while a stream was being captured are left out
-- by_node          of these, with records of single nodes
-- as_a_whole       of these, with a record of the whole graph only
-- without_records  of these, without any device record
-- coverage         launches with records over graph_launches; NULL without launches
-- node_records     kernels, copies and fills of graph nodes
-- without_launch   of these and of whole graphs, records whose launch is not in the report
-- verdict          what the records can answer, or why an answer is withheld
WITH launched AS MATERIALIZED (
    SELECT pass, launch_id FROM launch WHERE kind = 'graph' AND captured IS DISTINCT FROM true
), node_record AS (
    SELECT pass, launch_id, count(*) AS records
    FROM kernel
    WHERE graph_node_id IS NOT NULL
    GROUP BY pass, launch_id
    UNION ALL
    SELECT pass, launch_id, count(*) FROM memory_operation WHERE graph_node_id IS NOT NULL GROUP BY pass, launch_id
    UNION ALL
    -- Some reports tell of no nodes, but a graph's launch alone makes its records a graph's.
    SELECT pass, launch_id, count(*)
    FROM kernel SEMI JOIN launched USING (pass, launch_id)
    WHERE graph_node_id IS NULL
    GROUP BY pass, launch_id
    UNION ALL
    SELECT pass, launch_id, count(*)
    FROM memory_operation SEMI JOIN launched USING (pass, launch_id)
    WHERE graph_node_id IS NULL
    GROUP BY pass, launch_id
), seen AS (
    SELECT pass, launch_id, sum(nodes) AS nodes, sum(wholes) AS wholes
    FROM (
        SELECT pass, launch_id, records AS nodes, 0 AS wholes FROM node_record
        UNION ALL
        SELECT pass, launch_id, 0, count(*) FROM graph_run GROUP BY pass, launch_id
    )
    GROUP BY pass, launch_id
), joined AS (
    SELECT
        coalesce(l.pass, s.pass) AS pass,
        l.launch_id IS NOT NULL AS launched,
        coalesce(s.nodes, 0) AS nodes,
        coalesce(s.wholes, 0) AS wholes
    FROM launched AS l
    FULL JOIN seen AS s ON s.pass = l.pass AND s.launch_id = l.launch_id
), counted AS (
    SELECT
        pass,
        count(*) FILTER (launched) AS launches,
        count(*) FILTER (launched AND nodes > 0) AS by_node,
        count(*) FILTER (launched AND nodes = 0 AND wholes > 0) AS as_a_whole,
        CAST(sum(nodes) AS BIGINT) AS node_records,
        coalesce(CAST(sum(nodes + wholes) FILTER (NOT launched) AS BIGINT), 0) AS without_launch
    FROM joined
    GROUP BY pass
), traced AS (
    SELECT pass, min(graph_trace) AS graph_trace FROM report GROUP BY pass HAVING count(DISTINCT graph_trace) = 1
)
SELECT
    c.pass,
    t.graph_trace,
    c.launches AS graph_launches,
    c.by_node,
    c.as_a_whole,
    c.launches - c.by_node - c.as_a_whole AS without_records,
    round((c.by_node + c.as_a_whole) / nullif(c.launches, 0), 4) AS coverage,
    c.node_records,
    c.without_launch,
    CASE
        WHEN c.launches = 0 THEN
            'withheld: the report has records of graphs and none of their launches, so coverage is unknown'
        WHEN c.by_node + c.as_a_whole = 0 THEN
            'withheld: 0 % covered; no graph launch left a device record, so what ran is unknown, not zero; '
            || 'capture again with --cuda-graph-trace=node'
        WHEN c.by_node + c.as_a_whole < c.launches THEN
            'withheld: ' || CAST(floor(100 * (c.by_node + c.as_a_whole) / c.launches) AS BIGINT) || ' % covered; '
            || (c.by_node + c.as_a_whole) || ' of ' || c.launches || ' graph launches left device records'
        WHEN c.as_a_whole = c.launches THEN
            'busy time only: every graph was traced as a whole, so the kernels inside are unknown, not zero; '
            || 'capture again with --cuda-graph-trace=node'
        WHEN c.as_a_whole > 0 THEN
            'busy time only: some graphs were traced as a whole, so the kernels inside these are unknown, not zero'
        ELSE 'covered: every graph launch left records of its nodes'
    END AS verdict
FROM counted AS c
LEFT JOIN traced AS t ON t.pass = c.pass
ORDER BY c.pass
