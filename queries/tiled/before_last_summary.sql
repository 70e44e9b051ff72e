-- One row per traced case and invocation: how many B and C began before the last A of the invocation had ended.
--
-- case_id        tiled:variant:submission:shape
-- variant        name of the variant
-- shape          name of the problem size
-- invocation     ordinal of the invocation, from 0
-- workers        blocks, or groups of a block, that ran a task
-- a              tasks of stage A recorded: summaries of tiles
-- b              tasks of stage B recorded: combinations of rows
-- b_early        of these, begun before the last A had ended
-- c              tasks of stage C recorded: normalisations of tiles
-- c_early        of these, begun before the last A had ended
-- last_a_end_ns  end of the last A in ns after the first start of the invocation
-- last_end_ns    end of the last task in ns after the same moment, in the instrumented build
--
-- Where a barrier stands between the stages both counts must be zero. An earlier start of consumers is no
-- speed-up.
WITH placed AS (
    SELECT
        case_id,
        invocation,
        stage,
        worker,
        start_ns,
        end_ns,
        min(start_ns) OVER same AS first_ns,
        max(end_ns) FILTER (stage = 'A') OVER same AS last_a_ns
    FROM task
    WINDOW same AS (PARTITION BY pass, case_id, invocation)
)
SELECT
    p.case_id,
    c.variant,
    c.shape,
    p.invocation,
    count(DISTINCT p.worker) AS workers,
    count(*) FILTER (p.stage = 'A') AS a,
    count(*) FILTER (p.stage = 'B') AS b,
    count(*) FILTER (p.stage = 'B' AND p.start_ns < p.last_a_ns) AS b_early,
    count(*) FILTER (p.stage = 'C') AS c,
    count(*) FILTER (p.stage = 'C' AND p.start_ns < p.last_a_ns) AS c_early,
    any_value(p.last_a_ns - p.first_ns) AS last_a_end_ns,
    max(p.end_ns - p.first_ns) AS last_end_ns
FROM placed AS p
JOIN variant_case AS c ON c.case_id = p.case_id
GROUP BY p.case_id, c.variant, c.shape, c.case_order, p.invocation
ORDER BY c.case_order, p.invocation
