-- One row per traced case and invocation: how long its tasks took together, and how long the device ran dry at the end.
--
-- pass             name of the pass
-- case_id          experiment:variant:submission:shape
-- invocation       ordinal of the invocation, from 0
-- tasks            tasks recorded
-- workers          blocks or workers that ran them
-- multiprocessors  multiprocessors that ran them
-- span_ns          first start to last end in ns, by the device's global timer
-- busy_ns          durations of all tasks together in ns; tasks run side by side, so it may be many times the span
-- tail_ns          from the moment when the first multiprocessor had run its last task to the last end, in ns
-- tail_share       tail over span
--
-- Moments of the instrumented build, which is never timed. Multiprocessors that ran no task are not in the tail.
WITH each AS (
    SELECT
        pass,
        case_id,
        invocation,
        multiprocessor,
        count(*) AS tasks,
        min(start_ns) AS first_ns,
        max(end_ns) AS last_ns,
        sum(end_ns - start_ns) AS busy_ns
    FROM task
    GROUP BY pass, case_id, invocation, multiprocessor
), workers AS (
    SELECT pass, case_id, invocation, count(DISTINCT worker) AS workers
    FROM task
    GROUP BY pass, case_id, invocation
), whole AS (
    SELECT
        pass,
        case_id,
        invocation,
        CAST(sum(tasks) AS BIGINT) AS tasks,
        count(DISTINCT multiprocessor) AS multiprocessors,
        max(last_ns) - min(first_ns) AS span_ns,
        CAST(sum(busy_ns) AS BIGINT) AS busy_ns,
        max(last_ns) - min(last_ns) AS tail_ns
    FROM each
    GROUP BY pass, case_id, invocation
)
SELECT
    e.pass,
    e.case_id,
    e.invocation,
    e.tasks,
    w.workers,
    e.multiprocessors,
    e.span_ns,
    e.busy_ns,
    e.tail_ns,
    round(e.tail_ns / nullif(e.span_ns, 0), 4) AS tail_share
FROM whole AS e
LEFT JOIN workers AS w
    ON w.pass = e.pass
    AND w.case_id IS NOT DISTINCT FROM e.case_id
    AND w.invocation IS NOT DISTINCT FROM e.invocation
LEFT JOIN variant_case AS c ON c.case_id = e.case_id
ORDER BY e.pass, c.case_order NULLS LAST, e.case_id NULLS FIRST, e.invocation NULLS FIRST
