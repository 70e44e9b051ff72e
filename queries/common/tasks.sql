-- One row per task that an instrumented build recorded, with its place in the plan.
--
-- pass            name of the pass
-- case_id         experiment:variant:submission:shape
-- invocation      ordinal of the invocation, from 0
-- stage           name of the stage
-- position        position of the stage in the plan, from 0; NULL when it was not planned
-- job             row or job
-- tile            tile of the job; NULL where the stage has none
-- worker          block or worker that ran it
-- multiprocessor  streaming multiprocessor that ran it
-- start_ns        start in ns after the first start of its invocation, by the device's global timer
-- end_ns          end in ns after the same moment
-- duration_ns     from start to end in ns
--
-- The instrumented build is never timed: its moments tell an order, not how long the measured build takes.
WITH stages AS (
    SELECT pass, case_id, stage, min(position) AS position FROM task_plan GROUP BY pass, case_id, stage
), begun AS (
    SELECT *, min(start_ns) OVER (PARTITION BY pass, case_id, invocation) AS first_ns FROM task
)
SELECT
    t.pass,
    t.case_id,
    t.invocation,
    t.stage,
    s.position,
    t.job,
    t.tile,
    t.worker,
    t.multiprocessor,
    t.start_ns - t.first_ns AS start_ns,
    t.end_ns - t.first_ns AS end_ns,
    t.end_ns - t.start_ns AS duration_ns
FROM begun AS t
LEFT JOIN stages AS s ON s.pass = t.pass AND s.case_id = t.case_id AND s.stage = t.stage
LEFT JOIN variant_case AS c ON c.case_id = t.case_id
ORDER BY
    t.pass, c.case_order NULLS LAST, t.case_id NULLS FIRST, t.invocation NULLS FIRST, s.position NULLS LAST,
    t.stage NULLS FIRST, t.job NULLS FIRST, t.tile NULLS FIRST, 10 NULLS FIRST, 11 NULLS FIRST,
    t.worker NULLS FIRST, t.multiprocessor NULLS FIRST
