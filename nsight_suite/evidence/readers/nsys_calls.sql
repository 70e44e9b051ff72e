-- API calls that start device work or wait for it, each once, with the ranges that enclose it.

-- What the device recorded for a call. 'kernel' sorts first: a memset that runs a kernel counts as one.
CREATE TABLE nsys.device_record AS
SELECT global_pid, correlation_id, min(kind) AS kind, bool_or(graph_node_id IS NOT NULL) AS graph
FROM (
    SELECT globalPid AS global_pid, correlationId AS correlation_id, 'kernel' AS kind, graphNodeId AS graph_node_id
    FROM nsys.kernel
    UNION ALL SELECT globalPid, correlationId, 'memcpy', graphNodeId FROM nsys.memcpy
    UNION ALL SELECT globalPid, correlationId, 'memset', graphNodeId FROM nsys.memset
)
WHERE correlation_id IS NOT NULL
GROUP BY ALL;

CREATE TABLE nsys.candidate AS
SELECT
    api.row,
    thread.global_tid & -16777216 AS global_pid,
    thread.process,
    thread.thread,
    api.correlationId AS correlation_id,
    api_name.name,
    coalesce(api_name.kind, CASE WHEN device_record.graph THEN 'graph' ELSE device_record.kind END) AS kind,
    device_record.correlation_id IS NOT NULL AS recorded,
    api."start" AS start_ns,
    api."end" AS end_ns
FROM nsys.api
JOIN nsys.thread ON thread.global_tid = api.globalTid
JOIN nsys.api_name ON api_name.id IS NOT DISTINCT FROM api.nameId
LEFT JOIN nsys.device_record
    ON device_record.global_pid = api.globalTid & -16777216
    AND device_record.correlation_id = api.correlationId
WHERE api."start" IS NOT NULL
    AND coalesce(api_name.kind, '') NOT IN ('begin_capture', 'end_capture')
    AND (api_name.kind IS NOT NULL OR device_record.correlation_id IS NOT NULL);

-- A runtime call contains the driver call that does its work. Of such a nest the call that carries the device's
-- correlation id is kept, or the outermost when none does, so that one launch stays one launch.
CREATE TABLE nsys.nest AS
SELECT
    *,
    sum(CASE WHEN nested THEN 0 ELSE 1 END) OVER (
        PARTITION BY thread, kind = 'sync' ORDER BY call_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS nest
FROM (
    SELECT
        *,
        coalesce(start_ns < max(coalesce(end_ns, start_ns)) OVER (
            PARTITION BY thread, kind = 'sync' ORDER BY call_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), false) AS nested
    FROM (
        SELECT *, CAST(row_number() OVER (ORDER BY start_ns, end_ns DESC, row) - 1 AS BIGINT) AS call_id
        FROM nsys.candidate
    )
);

CREATE TABLE nsys.call AS
WITH kept AS (
    SELECT nest.*
    FROM nsys.nest
    JOIN (
        SELECT thread, kind = 'sync' AS waits, nest, bool_or(recorded) AS any_recorded FROM nsys.nest GROUP BY ALL
    ) AS whole ON whole.thread = nest.thread AND whole.waits = (nest.kind = 'sync') AND whole.nest = nest.nest
    WHERE nest.recorded OR NOT (whole.any_recorded OR nest.nested)
)
SELECT * EXCLUDE (nested, nest)
FROM kept
-- Both calls of a nest may carry one correlation id; the outer one is the launch then.
WHERE correlation_id IS NULL
    OR call_id IN (SELECT min(call_id) FROM kept GROUP BY process, correlation_id);

-- Every pair of a call and a push/pop range open on its thread: the range holds the call from start to return,
-- ends included. This is the rule of nsys' own NVTX reports.
CREATE TABLE nsys.enclosing AS
SELECT keyed_call.call_id, keyed_range.range_id
FROM (
    SELECT
        call_id,
        thread * width + (start_ns - origin) AS start_key,
        thread * width + (coalesce(end_ns, start_ns) - origin) AS end_key
    FROM nsys.call, nsys.scale
) AS keyed_call
JOIN (
    SELECT
        range_id,
        thread * width + (start_ns - origin) AS start_key,
        thread * width + coalesce(end_ns - origin, width - 1) AS end_key
    FROM nsys.span, nsys.scale
    WHERE push_pop AND thread IS NOT NULL
) AS keyed_range
    ON keyed_range.start_key <= keyed_call.start_key AND keyed_range.end_key >= keyed_call.end_key;

-- A start/end range belongs to its process: it may be opened on one thread and cover the work of another. It is
-- given a call only when no push/pop range encloses the call, so that it never takes work from a named scope.
INSERT INTO nsys.enclosing
SELECT keyed_call.call_id, keyed_range.range_id
FROM (
    SELECT
        call_id,
        process * width + (start_ns - origin) AS start_key,
        process * width + (coalesce(end_ns, start_ns) - origin) AS end_key
    FROM nsys.call ANTI JOIN nsys.enclosing USING (call_id), nsys.scale
) AS keyed_call
JOIN (
    SELECT
        range_id,
        process * width + (start_ns - origin) AS start_key,
        process * width + coalesce(end_ns - origin, width - 1) AS end_key
    FROM nsys.span, nsys.scale
    WHERE NOT push_pop AND process IS NOT NULL
) AS keyed_range
    ON keyed_range.start_key <= keyed_call.start_key AND keyed_range.end_key >= keyed_call.end_key;

CREATE TABLE nsys.innermost AS
SELECT call_id, max(range_id) AS range_id FROM nsys.enclosing GROUP BY call_id;

-- How many captures are open on a thread after each begin and end.
CREATE TABLE nsys.capture AS
SELECT
    thread.thread,
    thread.process,
    api."start" AS start_ns,
    sum(CASE api_name.kind WHEN 'begin_capture' THEN 1 ELSE -1 END) OVER (
        PARTITION BY thread.thread ORDER BY api."start", api.row
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS depth,
    api_name.kind
FROM nsys.api
JOIN nsys.thread ON thread.global_tid = api.globalTid
JOIN nsys.api_name ON api_name.id IS NOT DISTINCT FROM api.nameId
WHERE api_name.kind IN ('begin_capture', 'end_capture');

INSERT INTO launch BY NAME
SELECT
    getvariable('pass_name') AS pass,
    call.call_id AS launch_id,
    call.process,
    call.thread,
    innermost.range_id,
    call.name,
    call.kind,
    call.correlation_id,
    NOT call.recorded AND coalesce(capture.depth, 0) > 0 AS captured,
    call.start_ns,
    call.end_ns
FROM nsys.call
ASOF LEFT JOIN nsys.capture ON capture.thread = call.thread AND capture.start_ns <= call.start_ns
LEFT JOIN nsys.innermost ON innermost.call_id = call.call_id
WHERE call.kind <> 'sync'
ORDER BY launch_id;

INSERT INTO sync BY NAME
SELECT
    getvariable('pass_name') AS pass,
    call.process,
    call.thread,
    innermost.range_id,
    call.name,
    call.correlation_id,
    call.start_ns,
    call.end_ns
FROM nsys.call
LEFT JOIN nsys.innermost USING (call_id)
WHERE call.kind = 'sync'
ORDER BY call.call_id;
