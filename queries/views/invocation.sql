-- One row per measured invocation that nsys recorded: a range of the suite that is named after a case.
CREATE VIEW invocation AS
SELECT
    r.pass,
    c.case_id,
    c.experiment,
    c.variant,
    c.submission,
    c.shape,
    c.case_order,
    c.timed,
    coalesce(
        r.payload,
        row_number() OVER (PARTITION BY r.pass, c.case_id ORDER BY r.start_ns, r.range_id) - 1
    ) AS invocation,
    r.range_id,
    r.process,
    r.thread,
    r.start_ns,
    r.end_ns
FROM "range" AS r
JOIN variant_case AS c ON r.name = c.case_id
WHERE r.style = 'push_pop' AND coalesce(r.domain, 'nsight_suite') = 'nsight_suite';

COMMENT ON VIEW invocation IS 'one row per measured invocation that nsys recorded: a range named after a case';
COMMENT ON COLUMN invocation.invocation IS 'ordinal: the payload of the range, else its position in time, from 0';
COMMENT ON COLUMN invocation.range_id IS 'joins range within the pass';
COMMENT ON COLUMN invocation.start_ns IS 'start of the range in ns';
COMMENT ON COLUMN invocation.end_ns IS 'end of the range in ns; NULL when it was never closed';
