-- One row per traced case, invocation and stage: the tasks that were planned against those that were recorded.
--
-- pass             name of the pass
-- case_id          experiment:variant:submission:shape
-- invocation       ordinal of the invocation, from 0
-- stage            name of the stage
-- position         position of the stage in the plan, from 0; NULL when it was not planned
-- planned          tasks that the host planned; NULL when the case has no plan
-- recorded         records of tasks
-- missing          planned tasks without a record; NULL when the case has no plan
-- repeated         records of a task beyond its first
-- unplanned        records of tasks that nobody planned, or of an invocation that the driver did not make; NULL when
--                  the case has no plan
-- backwards        records that end before they start
-- first_missing    a missing task by its job and tile, the smallest; NULL when there is none
-- first_repeated   likewise a task that was recorded more than once
-- first_unplanned  likewise a task that nobody planned
--
-- An invocation that the driver tells of and that left no record at all has its rows too.
WITH planned AS (
    SELECT
        pass,
        case_id,
        stage,
        min(position) AS position,
        job,
        -- A job without tiles is one task, whose tile is NULL.
        unnest(CASE WHEN bool_or(tiled) THEN generate_series(0, max(tasks) - 1) ELSE [NULL::BIGINT] END) AS tile
    FROM task_plan
    WHERE tasks > 0
    GROUP BY pass, case_id, stage, job
), told AS (
    SELECT d.pass, d.case_id, max(d.invocations) AS invocations
    FROM driven AS d
    SEMI JOIN task_plan AS p ON p.pass = d.pass AND p.case_id = d.case_id
    WHERE d.invocations IS NOT NULL
    GROUP BY d.pass, d.case_id
), made AS (
    SELECT pass, case_id, unnest(generate_series(0, invocations - 1)) AS invocation FROM told
    UNION
    -- Where the driver does not tell, as many as left a record.
    SELECT t.pass, t.case_id, t.invocation
    FROM task AS t
    ANTI JOIN told AS d ON d.pass = t.pass AND d.case_id = t.case_id
), wanted AS (
    SELECT p.*, m.invocation
    FROM planned AS p
    JOIN made AS m ON m.pass = p.pass AND m.case_id = p.case_id
), found AS (
    SELECT
        pass,
        case_id,
        invocation,
        stage,
        job,
        tile,
        count(*) AS records,
        count(*) FILTER (end_ns < start_ns) AS backwards
    FROM task
    GROUP BY ALL
), held AS (
    SELECT
        coalesce(w.pass, f.pass) AS pass,
        coalesce(w.case_id, f.case_id) AS case_id,
        coalesce(w.invocation, f.invocation) AS invocation,
        coalesce(w.stage, f.stage) AS stage,
        w.position,
        coalesce(w.job, f.job) AS job,
        coalesce(w.tile, f.tile) AS tile,
        w.pass IS NOT NULL AS is_planned,
        coalesce(f.records, 0) AS records,
        coalesce(f.backwards, 0) AS backwards
    FROM wanted AS w
    FULL JOIN found AS f
        ON f.pass = w.pass
        AND f.case_id = w.case_id
        AND f.invocation IS NOT DISTINCT FROM w.invocation
        AND f.stage = w.stage
        AND f.job = w.job
        AND f.tile IS NOT DISTINCT FROM w.tile
), named AS (
    SELECT
        h.*,
        EXISTS (SELECT 1 FROM task_plan AS p WHERE p.pass = h.pass AND p.case_id = h.case_id) AS has_plan,
        {'job': job, 'tile': tile} AS task_of
    FROM held AS h
), counted AS (
    SELECT
        pass,
        case_id,
        invocation,
        stage,
        min(position) AS position,
        bool_or(has_plan) AS has_plan,
        count(*) FILTER (is_planned) AS planned,
        CAST(sum(records) AS BIGINT) AS recorded,
        count(*) FILTER (is_planned AND records = 0) AS missing,
        CAST(coalesce(sum(records - 1) FILTER (records > 1), 0) AS BIGINT) AS repeated,
        CAST(coalesce(sum(records) FILTER (NOT is_planned), 0) AS BIGINT) AS unplanned,
        CAST(sum(backwards) AS BIGINT) AS backwards,
        min(task_of) FILTER (is_planned AND records = 0) AS lost,
        min(task_of) FILTER (records > 1) AS again,
        min(task_of) FILTER (NOT is_planned AND has_plan) AS strange
    FROM named
    GROUP BY pass, case_id, invocation, stage
)
SELECT
    n.pass,
    n.case_id,
    n.invocation,
    n.stage,
    n.position,
    CASE WHEN n.has_plan THEN n.planned END AS planned,
    n.recorded,
    CASE WHEN n.has_plan THEN n.missing END AS missing,
    n.repeated,
    CASE WHEN n.has_plan THEN n.unplanned END AS unplanned,
    n.backwards,
    CASE WHEN n.lost IS NOT NULL THEN concat('job ', n.lost.job, ', tile ' || n.lost.tile) END AS first_missing,
    CASE WHEN n.again IS NOT NULL THEN concat('job ', n.again.job, ', tile ' || n.again.tile) END AS first_repeated,
    CASE WHEN n.strange IS NOT NULL THEN concat('job ', n.strange.job, ', tile ' || n.strange.tile) END
        AS first_unplanned
FROM counted AS n
LEFT JOIN variant_case AS c ON c.case_id = n.case_id
ORDER BY
    n.pass, c.case_order NULLS LAST, n.case_id NULLS FIRST, n.invocation NULLS FIRST, n.position NULLS LAST,
    n.stage NULLS FIRST
