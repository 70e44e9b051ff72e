-- One row per pair of a push/pop range and a launch that it holds.
-- The launches that start inside a range are numbered one after another (range.first_launch_id to last_launch_id);
-- it holds those that also return inside it. Start/end ranges have no rows: they overlap at will, and a thousand of
-- them around a thousand launches would be a million pairs. What they hold in sum stands in the table range.
CREATE VIEW range_launch AS
SELECT launch.pass, spanned.range_id, launch.launch_id
FROM (
    SELECT pass, range_id, end_ns, unnest(generate_series(first_launch_id, last_launch_id)) AS launch_id
    FROM "range"
    WHERE style = 'push_pop'
) AS spanned
JOIN launch ON launch.pass = spanned.pass AND launch.launch_id = spanned.launch_id
WHERE launch.end_ns <= spanned.end_ns OR spanned.end_ns IS NULL;

COMMENT ON VIEW range_launch IS 'one row per pair of a push/pop range and a launch that it holds on its thread';
