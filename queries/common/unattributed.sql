-- One row per kind and name of what nsys recorded outside every measured invocation.
--
-- pass      name of the pass
-- place     setup: inside the suite's setup range; other range: inside a range that is no case; outside: in no range
-- kind      kernel, memcpy, memset, or launch (a launching call that ran, counted apart from what it started)
-- name      name of the kernel or of the API; the kind for memory operations
-- records   how many
-- total_ns  their durations together in ns; NULL when not timed
-- share     records over all records of that kind in the pass
WITH measured AS (
    SELECT DISTINCT pass, kernel_id FROM invocation_kernel
), everything AS (
    SELECT
        k.pass,
        k.range_id,
        'kernel' AS kind,
        k.name,
        k.end_ns - k.start_ns AS duration_ns,
        m.kernel_id IS NOT NULL AS attributed
    FROM kernel AS k
    LEFT JOIN measured AS m ON m.pass = k.pass AND m.kernel_id = k.kernel_id
    UNION ALL
    SELECT o.pass, o.range_id, o.kind, o.kind, o.end_ns - o.start_ns, l.launch_id IS NOT NULL
    FROM memory_operation AS o
    LEFT JOIN invocation_launch AS l ON l.pass = o.pass AND l.launch_id = o.launch_id
    UNION ALL
    SELECT l.pass, l.range_id, 'launch', l.name, l.end_ns - l.start_ns, i.launch_id IS NOT NULL
    FROM launch AS l
    LEFT JOIN invocation_launch AS i ON i.pass = l.pass AND i.launch_id = l.launch_id
    WHERE NOT l.captured
), placed AS (
    SELECT
        e.*,
        CASE WHEN e.range_id IS NULL THEN 'outside' WHEN r.name = 'setup' THEN 'setup' ELSE 'other range' END AS place,
        count(*) OVER (PARTITION BY e.pass, e.kind) AS of_kind
    FROM everything AS e
    LEFT JOIN "range" AS r ON r.pass = e.pass AND r.range_id = e.range_id
)
SELECT
    pass,
    place,
    kind,
    name,
    count(*) AS records,
    CAST(sum(duration_ns) AS BIGINT) AS total_ns,
    round(count(*) / max(of_kind), 4) AS share
FROM placed
WHERE NOT attributed
GROUP BY pass, place, kind, name
ORDER BY pass, place, kind, records DESC, name
