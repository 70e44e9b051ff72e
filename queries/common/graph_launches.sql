-- One row per launch of a CUDA graph that ran: what the device recorded of the replay.
--
-- pass               name of the report
-- launch_id          identity of the call inside its report
-- process            process, numbered from 0 in the report
-- path               names of the ranges around the call, from the outside in; '<outside every range>' without any
-- call_start_ns      start of the call on the host in ns of the capture's clock
-- call_ns            time in the call in ns
-- records            nodes: the graph was traced node by node; whole graph: as one record; none: nothing was recorded
-- graph_exec_id      executable graph that ran; NULL unless it was recorded as a whole
-- nodes              distinct nodes that ran; NULL when unknown, as where the report does not number them
-- kernels            kernels that ran; NULL when unknown
-- memory_operations  copies and fills that ran; NULL when unknown
-- device_start_ns    start of the first record on the device in ns; NULL when nothing is timed
-- busy_ns            at least one record ran (union) in ns; NULL when nothing is timed
-- span_ns            from the first start to the last end on the device in ns; NULL when nothing is timed
-- reason             why kernels are unknown
WITH launched AS MATERIALIZED (
    SELECT pass, launch_id, process, path_id, start_ns, end_ns
    FROM launch
    WHERE kind = 'graph' AND captured IS DISTINCT FROM true
), work AS (
    SELECT pass, launch_id, 'kernel' AS kind, graph_node_id, start_ns, end_ns
    FROM kernel SEMI JOIN launched USING (pass, launch_id)
    UNION ALL
    SELECT pass, launch_id, kind, graph_node_id, start_ns, end_ns
    FROM memory_operation SEMI JOIN launched USING (pass, launch_id)
    UNION ALL
    SELECT pass, launch_id, 'graph', NULL, start_ns, end_ns
    FROM graph_run SEMI JOIN launched USING (pass, launch_id)
), placed AS (
    SELECT
        *,
        kind = 'graph' AS whole,
        max(end_ns) OVER (
            PARTITION BY pass, launch_id, kind = 'graph' ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS ended_ns
    FROM work
), recorded AS (
    SELECT
        pass,
        launch_id,
        whole,
        CASE WHEN count(graph_node_id) = count(*) THEN count(DISTINCT graph_node_id) END AS nodes,
        count(*) FILTER (kind = 'kernel') AS kernels,
        count(*) FILTER (kind <> 'kernel') AS memory_operations,
        min(start_ns) AS first_ns,
        max(end_ns) AS last_ns,
        -- What each adds to the union: its length past the end of all before it.
        sum(greatest(0, end_ns - greatest(start_ns, coalesce(ended_ns, start_ns))))
            FILTER (start_ns IS NOT NULL AND end_ns IS NOT NULL) AS busy
    FROM placed
    GROUP BY pass, launch_id, whole
), ran AS (
    SELECT pass, launch_id, min(graph_exec_id) AS graph_exec_id FROM graph_run GROUP BY pass, launch_id
)
SELECT
    l.pass,
    l.launch_id,
    l.process,
    CASE
        WHEN l.path_id IS NULL THEN '<outside every range>'
        ELSE coalesce(p.path, '<path ' || l.path_id || ' missing>')
    END AS path,
    l.start_ns AS call_start_ns,
    l.end_ns - l.start_ns AS call_ns,
    CASE
        WHEN n.launch_id IS NOT NULL THEN 'nodes'
        WHEN w.launch_id IS NOT NULL THEN 'whole graph'
        ELSE 'none'
    END AS records,
    r.graph_exec_id,
    n.nodes,
    n.kernels,
    n.memory_operations,
    coalesce(n.first_ns, w.first_ns) AS device_start_ns,
    CAST(coalesce(n.busy, w.busy) AS BIGINT) AS busy_ns,
    coalesce(n.last_ns - n.first_ns, w.last_ns - w.first_ns) AS span_ns,
    CASE
        WHEN n.launch_id IS NOT NULL THEN NULL
        WHEN w.launch_id IS NOT NULL THEN
            'traced as a whole: what ran inside is unknown, not zero; capture again with --cuda-graph-trace=node'
        ELSE 'no device record: traced as a whole without a record, lost, or not yet run when the capture ended'
    END AS reason
FROM launched AS l
LEFT JOIN recorded AS n ON n.pass = l.pass AND n.launch_id = l.launch_id AND NOT n.whole
LEFT JOIN recorded AS w ON w.pass = l.pass AND w.launch_id = l.launch_id AND w.whole
LEFT JOIN ran AS r ON r.pass = l.pass AND r.launch_id = l.launch_id
LEFT JOIN path AS p ON p.pass = l.pass AND p.path_id = l.path_id
ORDER BY l.pass, l.start_ns, l.launch_id
