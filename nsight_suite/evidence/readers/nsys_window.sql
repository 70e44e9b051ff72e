-- The API calls of one window of time, each with what the device recorded for it.
-- The variables say which: window_start to window_end (excluded), times in ns.

-- Bounds as variables rather than in the condition itself: DuckDB then leaves out what lies outside them unread.
SET VARIABLE first_id = (
    SELECT min(correlationId) FROM nsys.api
    WHERE "start" >= getvariable('window_start') AND "start" < getvariable('window_end')
);
SET VARIABLE last_id = (
    SELECT max(correlationId) FROM nsys.api
    WHERE "start" >= getvariable('window_start') AND "start" < getvariable('window_end')
);

CREATE TEMP TABLE window_record AS
SELECT
    globalPid AS global_pid,
    correlationId AS correlation_id,
    count(*) AS operations,
    count(*) FILTER (WHERE kind = 0) AS kernels,
    -- A memset that runs a kernel counts as one.
    min(kind) AS kind,
    bool_or(graphNodeId IS NOT NULL) AS graph,
    count("end") AS timed,
    sum("end" - "start") AS device_ns,
    min("start") AS first_ns,
    max("end") AS last_ns
FROM nsys.record
WHERE correlationId BETWEEN getvariable('first_id') AND getvariable('last_id')
GROUP BY ALL;

CREATE TEMP TABLE window_call AS
SELECT
    api.row,
    thread.process,
    thread.thread,
    api.correlationId AS correlation_id,
    api.nameId AS name_id,
    -- Whatever its name, a call that device records name has started work.
    CASE
        WHEN api_name.kind < 4 OR record.operations IS NULL THEN api_name.kind
        WHEN record.graph THEN 1
        ELSE record.kind
    END AS kind,
    coalesce(record.operations, 0) AS operations,
    coalesce(record.kernels, 0) AS kernels,
    coalesce(record.timed, 0) AS timed,
    record.device_ns,
    record.first_ns,
    record.last_ns,
    api."start" AS start_ns,
    api."end" AS end_ns
FROM nsys.api
JOIN nsys.thread ON thread.global_tid = api.globalTid
JOIN nsys.api_name ON api_name.id IS NOT DISTINCT FROM api.nameId
LEFT JOIN window_record AS record
    ON record.global_pid = thread.global_pid AND record.correlation_id = api.correlationId
WHERE api."start" >= getvariable('window_start') AND api."start" < getvariable('window_end');
