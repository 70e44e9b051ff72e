-- Whatever nsys timed on a device: kernels, copies, fills, and graphs that were traced as a whole.
CREATE VIEW device_work AS
SELECT pass, process, device, context, stream, 'kernel' AS kind, launch_id, name, start_ns, end_ns
FROM kernel
WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
UNION ALL
SELECT pass, process, device, context, stream, kind, launch_id, kind, start_ns, end_ns
FROM memory_operation
WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
UNION ALL
SELECT pass, process, device, context, stream, 'graph', launch_id, 'graph', start_ns, end_ns
FROM graph_run
WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL;

COMMENT ON VIEW device_work IS 'one row per kernel, copy, fill and whole graph run that nsys timed on a device';
COMMENT ON COLUMN device_work.kind IS 'kernel, memcpy, memset, or graph (a whole run, in place of its kernels)';
COMMENT ON COLUMN device_work.name IS 'kernel name; the kind for all others';
COMMENT ON COLUMN device_work.start_ns IS 'start on the device in ns';
COMMENT ON COLUMN device_work.end_ns IS 'end on the device in ns';
