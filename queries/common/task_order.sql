-- One row per case, invocation and stage that an instrumented build recorded; no pass of this version makes one.
--
-- case_id              experiment:variant:submission:shape
-- invocation           ordinal of the invocation, from 0
-- stage                name of the stage
-- tasks                tasks recorded
-- repeated             tasks recorded more than once
-- backwards            tasks that end before they start
-- first_start_ns       first start by the device's global timer in ns
-- last_end_ns          last end in ns
-- multiprocessors      multiprocessors that ran them
-- early_starts         tasks that began before the last task of the stage ahead (by name) ended; an earlier start is no
--                      speed-up by itself
WITH staged AS (
    SELECT
        case_id,
        invocation,
        stage,
        count(*) AS tasks,
        count(*) - count(DISTINCT (job, coalesce(tile, -1))) AS repeated,
        count(*) FILTER (end_ns < start_ns) AS backwards,
        min(start_ns) AS first_start_ns,
        max(end_ns) AS last_end_ns,
        count(DISTINCT multiprocessor) AS multiprocessors
    FROM task
    GROUP BY case_id, invocation, stage
), ahead AS (
    SELECT
        *,
        lag(last_end_ns) OVER (PARTITION BY case_id, invocation ORDER BY stage) AS ahead_end_ns
    FROM staged
)
SELECT
    a.case_id,
    a.invocation,
    a.stage,
    a.tasks,
    a.repeated,
    a.backwards,
    a.first_start_ns,
    a.last_end_ns,
    a.multiprocessors,
    CASE WHEN a.ahead_end_ns IS NOT NULL THEN (
        SELECT count(*)
        FROM task AS t
        WHERE t.case_id = a.case_id AND t.invocation = a.invocation AND t.stage = a.stage
            AND t.start_ns < a.ahead_end_ns
    ) END AS early_starts
FROM ahead AS a
ORDER BY a.case_id, a.invocation, a.stage
