-- What a range holds is unknown, not nothing, when graphs were replayed inside whose nodes were not traced.
UPDATE "range"
SET kernels = NULL, operations = NULL, device_ns = NULL, projected_start_ns = NULL, projected_end_ns = NULL
WHERE pass = getvariable('pass_name') AND range_id IN (
    WITH untraced AS (
        SELECT thread, start_ns, end_ns
        FROM launch
        WHERE pass = getvariable('pass_name') AND kind = 'graph' AND NOT captured AND operations = 0
            AND (
                launch_id IN (
                    SELECT launch_id FROM graph_run WHERE pass = getvariable('pass_name') AND launch_id IS NOT NULL
                )
                OR NOT EXISTS (
                    FROM launch WHERE pass = getvariable('pass_name') AND kind = 'graph' AND operations > 0
                )
            )
    )
    SELECT r.range_id
    FROM "range" AS r
    -- The first replay that starts inside it: if any is counted for it, that one is.
    ASOF JOIN untraced AS u ON u.thread = r.thread AND u.start_ns >= r.start_ns
    WHERE r.pass = getvariable('pass_name')
        AND u.end_ns <= CASE r.closed WHEN 'here' THEN r.end_ns WHEN 'never' THEN getvariable('last_event') END
);
