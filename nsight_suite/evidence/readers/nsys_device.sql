-- Copies, fills, whole graphs, marks, and what the report tells of processes, GPUs, graphs and nsys itself.

CREATE TABLE nsys.launch_of AS
SELECT
    process, correlation_id, min(launch_id) AS launch_id,
    arg_min({'range_id': range_id, 'path_id': path_id}, launch_id) AS place
FROM launch
WHERE pass = getvariable('pass_name') AND kind IN ('memcpy', 'memset', 'graph', 'kernel')
    -- Most launches run kernels alone, which are joined already.
    AND ((operations > kernels) OR EXISTS (FROM nsys.graph_trace))
GROUP BY ALL;

INSERT INTO memory_operation BY NAME
WITH memory_kind AS (SELECT id, min(label) AS label FROM nsys.memory_kind GROUP BY id)
SELECT
    getvariable('pass_name') AS pass,
    process.process,
    launch_of.launch_id,
    launch_of.place.range_id AS range_id,
    launch_of.place.path_id AS path_id,
    operation.kind,
    lower(direction.label) AS direction,
    lower(source.label) AS source_memory,
    lower(target.label) AS target_memory,
    operation.bytes,
    operation.deviceId AS device,
    operation.contextId AS context,
    operation.streamId AS stream,
    operation.correlationId AS correlation_id,
    operation.graphNodeId AS graph_node_id,
    CASE WHEN timed("start", "end") THEN "start" END AS start_ns,
    CASE WHEN timed("start", "end") THEN "end" END AS end_ns
FROM (
    SELECT *, dstKind AS target, 'memcpy' AS kind FROM nsys.memcpy
    UNION ALL BY NAME
    SELECT *, memKind AS target, 'memset' AS kind FROM nsys.memset
) AS operation
LEFT JOIN nsys.process ON process.global_pid = operation.globalPid
LEFT JOIN nsys.launch_of
    ON launch_of.process = process.process AND launch_of.correlation_id = operation.correlationId
LEFT JOIN (SELECT id, min(label) AS label FROM nsys.memcpy_kind GROUP BY id) AS direction ON direction.id = operation.copyKind
LEFT JOIN memory_kind AS source ON source.id = operation.srcKind
LEFT JOIN memory_kind AS target ON target.id = operation.target
ORDER BY operation."start", operation.kind, operation.row;

INSERT INTO graph_run BY NAME
SELECT
    getvariable('pass_name') AS pass,
    process.process,
    launch_of.launch_id,
    launch_of.place.range_id AS range_id,
    launch_of.place.path_id AS path_id,
    trace.deviceId AS device,
    trace.contextId AS context,
    trace.streamId AS stream,
    trace.correlationId AS correlation_id,
    trace.graphId AS graph_id,
    trace.graphExecId AS graph_exec_id,
    CASE WHEN timed(trace."start", trace."end") THEN trace."start" END AS start_ns,
    CASE WHEN timed(trace."start", trace."end") THEN trace."end" END AS end_ns
FROM nsys.graph_trace AS trace
LEFT JOIN nsys.process ON process.global_pid = trace.globalPid
LEFT JOIN nsys.launch_of
    ON launch_of.process = process.process AND launch_of.correlation_id = trace.correlationId
ORDER BY trace."start", trace.row;

INSERT INTO mark BY NAME
SELECT
    getvariable('pass_name') AS pass,
    thread.process,
    thread.thread,
    domain_label.name AS domain,
    coalesce(nvtx.int64Value, nvtx.uint64Value, nvtx.int32Value, nvtx.uint32Value) AS payload,
    nvtx."start" AS time_ns
FROM nsys.nvtx AS nvtx
LEFT JOIN nsys.thread ON thread.global_tid = nvtx.globalTid
LEFT JOIN nsys.domain ON domain.global_pid = thread.global_pid AND domain.domain_id = nvtx.domainId
LEFT JOIN nsys.label AS domain_label ON domain_label.label = domain.label
WHERE nvtx.eventType = 34
ORDER BY nvtx."start", nvtx.row;

-- Nodes stand in CUDA_GRAPH_EVENTS or, in newer versions, in a table of their own; graphs in the former only.
-- A copy names what it was copied from, which may itself be a copy.
INSERT INTO graph_origin BY NAME
WITH RECURSIVE made AS (
    SELECT globalTid & -16777216 AS global_pid, 'node' AS kind, graphNodeId AS id,
        originalGraphNodeId AS original_id, "start" AS created_ns
    FROM (
        SELECT globalTid, graphNodeId, originalGraphNodeId, "start" FROM nsys.graph_event
        UNION ALL SELECT globalTid, graphNodeId, originalGraphNodeId, "start" FROM nsys.graph_node_event
    )
    UNION ALL
    SELECT globalTid & -16777216, 'graph', graphId, originalGraphId, "start" FROM nsys.graph_event
    WHERE graphExecId IS NULL
    UNION ALL
    SELECT globalTid & -16777216, 'executable graph', graphExecId, graphId, "start" FROM nsys.graph_event
    WHERE graphExecId IS NOT NULL
),
once AS (
    SELECT global_pid, kind, id, min(original_id) FILTER (WHERE original_id <> id OR kind = 'executable graph')
        AS original_id, min(created_ns) AS created_ns
    FROM made
    WHERE id IS NOT NULL
    GROUP BY ALL
),
chain AS (
    SELECT global_pid, kind, id, coalesce(original_id, id) AS reached, 1 AS steps FROM once
    UNION ALL
    SELECT chain.global_pid, chain.kind, chain.id, once.original_id, steps + 1
    FROM chain
    JOIN once ON once.global_pid = chain.global_pid AND once.id = chain.reached
        AND once.kind = CASE chain.kind WHEN 'node' THEN 'node' ELSE 'graph' END
    -- No chain of copies is long; a circle in a damaged report ends here too.
    WHERE once.original_id IS NOT NULL AND steps < 64
)
SELECT getvariable('pass_name') AS pass, process.process, once.kind, once.id, once.original_id, source.reached AS source_id,
    once.created_ns
FROM once
LEFT JOIN nsys.process ON process.global_pid = once.global_pid
JOIN (SELECT global_pid, kind, id, arg_max(reached, steps) AS reached FROM chain GROUP BY ALL) AS source
    ON source.global_pid IS NOT DISTINCT FROM once.global_pid AND source.kind = once.kind AND source.id = once.id
ORDER BY process.process, once.kind, once.id;

INSERT INTO overhead BY NAME
SELECT
    getvariable('pass_name') AS pass,
    process.process,
    thread.thread,
    cost.kind,
    cost.correlationId AS correlation_id,
    cost."start" AS start_ns,
    CASE WHEN cost."end" >= cost."start" THEN cost."end" END AS end_ns
FROM (
    SELECT "start", "end", globalTid, NULL AS globalPid, NULL AS correlationId, row,
        'type ' || overheadType AS kind
    FROM nsys.overhead
    UNION ALL
    SELECT "start", "end", globalTid, globalPid, correlationId, row, 'type ' || coalesce(overheadType, overheadKind)
    FROM nsys.cupti_overhead
) AS cost
LEFT JOIN nsys.thread ON thread.global_tid = cost.globalTid
LEFT JOIN nsys.process ON process.global_pid = coalesce(cost.globalPid, cost.globalTid & -16777216)
ORDER BY cost."start", cost.row;

INSERT INTO gpu BY NAME
SELECT
    getvariable('pass_name') AS pass,
    id AS device,
    name,
    CASE WHEN uuid LIKE 'GPU-%' THEN uuid ELSE 'GPU-' || uuid END AS uuid,
    computeMajor || '.' || computeMinor AS compute_capability,
    smCount AS multiprocessors,
    totalMemory AS memory_bytes,
    l2CacheSize AS l2_bytes,
    memoryBandwidth AS memory_bytes_per_second
FROM nsys.gpu
ORDER BY device, row;

INSERT INTO process BY NAME
SELECT
    getvariable('pass_name') AS pass,
    process.process,
    CASE WHEN (SELECT count(*) FROM nsys.listed) > 0 THEN bool_or(listed.globalPid IS NOT NULL) END AS listed,
    coalesce(max(listed.pid), (process.global_pid & 281474959933440) >> 24) AS pid,
    coalesce(max(calls.calls), 0) AS api_calls,
    coalesce(max(launches.launches), 0) AS launches,
    coalesce(max(ranges.ranges), 0) AS ranges,
    coalesce(max(records.kernels), 0) AS kernels,
    coalesce(max(records.memory_operations), 0) AS memory_operations,
    coalesce(max(graphs.runs), 0) AS graph_runs
FROM nsys.process
LEFT JOIN nsys.listed ON listed.globalPid = process.global_pid
LEFT JOIN (SELECT process, sum(calls) AS calls FROM nsys.thread GROUP BY ALL) AS calls USING (process)
LEFT JOIN (
    SELECT process, count(*) AS launches FROM launch WHERE pass = getvariable('pass_name') GROUP BY ALL
) AS launches USING (process)
LEFT JOIN (
    SELECT process, count(*) AS ranges FROM "range" WHERE pass = getvariable('pass_name') GROUP BY ALL
) AS ranges USING (process)
LEFT JOIN (
    SELECT globalPid AS global_pid, count(*) FILTER (WHERE kind = 0) AS kernels,
        count(*) FILTER (WHERE kind <> 0) AS memory_operations
    FROM nsys.record GROUP BY ALL
) AS records ON records.global_pid = process.global_pid
LEFT JOIN (
    SELECT globalPid AS global_pid, count(*) AS runs FROM nsys.graph_trace GROUP BY ALL
) AS graphs ON graphs.global_pid = process.global_pid
GROUP BY process.process, process.global_pid
ORDER BY process.process;
