-- One row per API call that waited for the device during a measured invocation, on the invocation's own thread.
CREATE VIEW invocation_sync AS
SELECT i.pass, i.case_id, i.invocation, i.range_id, s.name, s.start_ns, s.end_ns
FROM sync AS s
ASOF JOIN invocation AS i
    ON s.pass = i.pass AND s.process = i.process AND s.thread = i.thread AND s.start_ns >= i.start_ns
WHERE i.end_ns IS NULL OR s.start_ns <= i.end_ns;

COMMENT ON VIEW invocation_sync IS 'one row per waiting API call during a measured invocation, on its thread';
COMMENT ON COLUMN invocation_sync.start_ns IS 'start of the call in ns';
COMMENT ON COLUMN invocation_sync.end_ns IS 'return of the call in ns';
