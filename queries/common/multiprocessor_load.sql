-- One row per traced case, invocation and multiprocessor: the tasks that it ran.
--
-- pass            name of the pass
-- case_id         experiment:variant:submission:shape
-- invocation      ordinal of the invocation, from 0
-- multiprocessor  streaming multiprocessor; NULL when the record does not tell
-- tasks           tasks that it ran
-- workers         blocks or workers that ran them
-- busy_ns         durations of these tasks together in ns; several blocks on it at a time count each
-- first_start_ns  its first start in ns after the first start of the invocation, by the device's global timer
-- last_end_ns     its last end in ns after the same moment
--
-- Moments of the instrumented build, which is never timed. A multiprocessor that ran no task has no row.
WITH begun AS (
    SELECT *, min(start_ns) OVER (PARTITION BY pass, case_id, invocation) AS first_ns FROM task
)
SELECT
    t.pass,
    t.case_id,
    t.invocation,
    t.multiprocessor,
    count(*) AS tasks,
    count(DISTINCT t.worker) AS workers,
    CAST(sum(t.end_ns - t.start_ns) AS BIGINT) AS busy_ns,
    min(t.start_ns - t.first_ns) AS first_start_ns,
    max(t.end_ns - t.first_ns) AS last_end_ns
FROM begun AS t
LEFT JOIN variant_case AS c ON c.case_id = t.case_id
GROUP BY t.pass, t.case_id, t.invocation, t.multiprocessor, c.case_order
ORDER BY
    t.pass, c.case_order NULLS LAST, t.case_id NULLS FIRST, t.invocation NULLS FIRST, t.multiprocessor NULLS FIRST
