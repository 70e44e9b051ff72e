-- One row per traced case, invocation and kind of doubt: records of tasks that lack a value, or that cannot be so.
--
-- pass        name of the pass
-- case_id     experiment:variant:submission:shape
-- invocation  ordinal of the invocation, from 0; NULL for what concerns the plan
-- doubt       no worker, no multiprocessor, no start, no end: the record does not tell; no such multiprocessor: the
--             device has fewer; worker moved: tasks of one block on several multiprocessors; tasks overlap: a block began
--             a task before it had ended another; unknown need: the plan names a need that is none of nothing, job, stage
-- records     records of tasks, or rows of the plan, that it concerns
-- first       one of them by its stage, job and tile, the smallest
--
-- A block never moves. Where an invocation launches several kernels, blocks of one number are several blocks: only
-- tasks of one stage are held against one another, and they may overlap, since such a block may give each of its warps
-- a task. The blocks of a single kernel run one task after the other.
WITH launched AS (
    SELECT pass, case_id, count(DISTINCT ordinal) > 1 AS several
    FROM planned_launch
    WHERE kind = 'kernel'
    GROUP BY pass, case_id
), sized AS (
    SELECT pass, max(multiprocessors) AS multiprocessors FROM device GROUP BY pass
), placed AS (
    SELECT
        t.*,
        {'stage': t.stage, 'job': t.job, 'tile': t.tile} AS task_of,
        coalesce(l.several, true) AS several,
        CASE WHEN coalesce(l.several, true) THEN t.stage END AS part,
        d.multiprocessors
    FROM task AS t
    LEFT JOIN launched AS l ON l.pass = t.pass AND l.case_id = t.case_id
    LEFT JOIN sized AS d ON d.pass = t.pass
), held AS (
    SELECT
        *,
        min(multiprocessor) OVER (PARTITION BY pass, case_id, invocation, part, worker) AS least,
        max(multiprocessor) OVER (PARTITION BY pass, case_id, invocation, part, worker) AS most,
        max(end_ns) OVER (
            PARTITION BY pass, case_id, invocation, part, worker
            ORDER BY start_ns, end_ns, stage, job, tile
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ended_ns
    FROM placed
), doubted AS (
    SELECT pass, case_id, invocation, 'no worker' AS doubt, task_of FROM held WHERE worker IS NULL
    UNION ALL
    SELECT pass, case_id, invocation, 'no multiprocessor', task_of FROM held WHERE multiprocessor IS NULL
    UNION ALL
    SELECT pass, case_id, invocation, 'no start', task_of FROM held WHERE start_ns IS NULL
    UNION ALL
    SELECT pass, case_id, invocation, 'no end', task_of FROM held WHERE end_ns IS NULL
    UNION ALL
    SELECT pass, case_id, invocation, 'no such multiprocessor', task_of
    FROM held
    WHERE multiprocessor < 0 OR multiprocessor >= multiprocessors
    UNION ALL
    SELECT pass, case_id, invocation, 'worker moved', task_of FROM held WHERE worker IS NOT NULL AND least < most
    UNION ALL
    SELECT pass, case_id, invocation, 'tasks overlap', task_of
    FROM held
    WHERE worker IS NOT NULL AND NOT several AND start_ns < before_ended_ns
    UNION ALL
    SELECT pass, case_id, NULL, 'unknown need', {'stage': stage, 'job': job, 'tile': NULL::BIGINT}
    FROM task_plan
    WHERE coalesce("after" NOT IN ('nothing', 'job', 'stage'), true)
), counted AS (
    SELECT pass, case_id, invocation, doubt, count(*) AS records, min(task_of) AS smallest
    FROM doubted
    GROUP BY pass, case_id, invocation, doubt
)
SELECT
    n.pass,
    n.case_id,
    n.invocation,
    n.doubt,
    n.records,
    concat('stage ', n.smallest.stage, ', job ', n.smallest.job, ', tile ' || n.smallest.tile) AS first
FROM counted AS n
LEFT JOIN variant_case AS c ON c.case_id = n.case_id
ORDER BY n.pass, c.case_order NULLS LAST, n.case_id NULLS FIRST, n.invocation NULLS FIRST, n.doubt
