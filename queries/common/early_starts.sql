-- One row per traced case, invocation and stage: how many tasks began before the last task of the stage before ended.
--
-- pass             name of the pass
-- case_id          experiment:variant:submission:shape
-- invocation       ordinal of the invocation, from 0
-- stage            name of the stage
-- position         position of the stage in the plan, from 0
-- tasks            tasks recorded
-- early            tasks that began before the last task of the stage before had ended; NULL for the first stage
-- first_start_ns   first start in ns after the first start of the invocation, by the device's global timer
-- last_end_ns      last end in ns after the same moment
-- before_ended_ns  last end of the stage before in ns after the same moment; NULL for the first stage
--
-- An earlier start is no speed-up: only unprofiled completions are. Stages that nobody planned are left out, since
-- nothing tells which stage is before them.
WITH stages AS (
    SELECT pass, case_id, stage, min(position) AS position
    FROM task_plan
    WHERE position IS NOT NULL
    GROUP BY pass, case_id, stage
), placed AS (
    SELECT
        t.pass,
        t.case_id,
        t.invocation,
        t.stage,
        s.position,
        t.start_ns - min(t.start_ns) OVER (PARTITION BY t.pass, t.case_id, t.invocation) AS start_ns,
        t.end_ns - min(t.start_ns) OVER (PARTITION BY t.pass, t.case_id, t.invocation) AS end_ns
    FROM task AS t
    JOIN stages AS s ON s.pass = t.pass AND s.case_id = t.case_id AND s.stage = t.stage
), ended AS (
    SELECT pass, case_id, invocation, position, max(end_ns) AS last_ns
    FROM placed
    GROUP BY pass, case_id, invocation, position
)
SELECT
    p.pass,
    p.case_id,
    p.invocation,
    p.stage,
    p.position,
    count(*) AS tasks,
    CASE WHEN any_value(e.last_ns) IS NOT NULL THEN count(*) FILTER (p.start_ns < e.last_ns) END AS early,
    min(p.start_ns) AS first_start_ns,
    max(p.end_ns) AS last_end_ns,
    any_value(e.last_ns) AS before_ended_ns
FROM placed AS p
LEFT JOIN ended AS e
    ON e.pass = p.pass
    AND e.case_id = p.case_id
    AND e.invocation IS NOT DISTINCT FROM p.invocation
    AND e.position = p.position - 1
LEFT JOIN variant_case AS c ON c.case_id = p.case_id
GROUP BY p.pass, p.case_id, p.invocation, p.stage, p.position, c.case_order
ORDER BY p.pass, c.case_order NULLS LAST, p.case_id, p.invocation NULLS FIRST, p.position, p.stage
