-- One row per recorded task that began before something it needs had ended, with what it should have waited for.
--
-- pass          name of the pass
-- case_id       experiment:variant:submission:shape
-- invocation    ordinal of the invocation, from 0
-- stage         stage of the task that began too early
-- job           its row or job
-- tile          its tile; NULL where the stage has none
-- worker        block or worker that ran it
-- after         what the plan says that it needs. job: all tasks of this job in the stage before; stage: all tasks of
--               the stage before
-- needs_stage   stage of the task among these that ended last
-- needs_job     its row or job
-- needs_tile    its tile; NULL where the stage has none
-- needs_worker  block or worker that ran it
-- early_ns      by how many ns the one began before the other had ended
--
-- A needed task without a record is told by task_coverage, not here.
WITH needs AS (
    SELECT
        p.pass,
        p.case_id,
        p.stage,
        p.job,
        -- Where a plan contradicts itself the stricter need counts.
        CASE WHEN bool_or(p.after = 'stage') THEN 'stage' ELSE 'job' END AS after,
        b.stage AS needs_stage
    FROM task_plan AS p
    JOIN (SELECT DISTINCT pass, case_id, stage, position FROM task_plan) AS b
        ON b.pass = p.pass AND b.case_id = p.case_id AND b.position = p.position - 1
    WHERE p.after IN ('stage', 'job')
    GROUP BY p.pass, p.case_id, p.stage, p.job, b.stage
), ended AS (
    SELECT
        pass,
        case_id,
        invocation,
        stage,
        job,
        max({'end_ns': end_ns, 'job': job, 'tile': tile, 'worker': worker}) AS last_of_job
    FROM task
    WHERE end_ns IS NOT NULL
    GROUP BY pass, case_id, invocation, stage, job
), ended_stage AS (
    SELECT pass, case_id, invocation, stage, max(last_of_job) AS last_of_stage
    FROM ended
    GROUP BY pass, case_id, invocation, stage
), held AS (
    SELECT
        t.*,
        n.after,
        n.needs_stage,
        CASE n.after WHEN 'stage' THEN s.last_of_stage ELSE j.last_of_job END AS needed
    FROM task AS t
    JOIN needs AS n ON n.pass = t.pass AND n.case_id = t.case_id AND n.stage = t.stage AND n.job = t.job
    LEFT JOIN ended AS j
        ON j.pass = t.pass
        AND j.case_id = t.case_id
        AND j.invocation IS NOT DISTINCT FROM t.invocation
        AND j.stage = n.needs_stage
        AND j.job = t.job
    LEFT JOIN ended_stage AS s
        ON s.pass = t.pass
        AND s.case_id = t.case_id
        AND s.invocation IS NOT DISTINCT FROM t.invocation
        AND s.stage = n.needs_stage
)
SELECT
    h.pass,
    h.case_id,
    h.invocation,
    h.stage,
    h.job,
    h.tile,
    h.worker,
    h.after,
    h.needs_stage,
    h.needed.job AS needs_job,
    h.needed.tile AS needs_tile,
    h.needed.worker AS needs_worker,
    h.needed.end_ns - h.start_ns AS early_ns
FROM held AS h
LEFT JOIN variant_case AS c ON c.case_id = h.case_id
WHERE h.start_ns < h.needed.end_ns
ORDER BY
    h.pass, c.case_order NULLS LAST, h.case_id, h.invocation NULLS FIRST, h.stage, h.job, h.tile NULLS FIRST,
    early_ns DESC, h.worker NULLS FIRST, h.needs_stage, needs_job, needs_tile NULLS FIRST, needs_worker NULLS FIRST
