-- One row per API call that started device work during a measured invocation, on the invocation's own thread.
-- Found by time, not by the innermost range: a library may open ranges of its own inside ours.
CREATE VIEW invocation_launch AS
SELECT i.pass, i.case_id, i.invocation, i.range_id, l.launch_id, l.name, l.kind, l.start_ns, l.end_ns
FROM launch AS l
ASOF JOIN invocation AS i
    ON l.pass = i.pass AND l.process = i.process AND l.thread = i.thread AND l.start_ns >= i.start_ns
WHERE NOT l.captured AND (i.end_ns IS NULL OR l.start_ns <= i.end_ns);

COMMENT ON VIEW invocation_launch IS 'one row per launching API call during a measured invocation, on its thread';
COMMENT ON COLUMN invocation_launch.start_ns IS 'start of the call in ns';
COMMENT ON COLUMN invocation_launch.end_ns IS 'return of the call in ns';
