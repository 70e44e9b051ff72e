-- One row per case: the memsets that reset the queue's counter, by every witness, and what they take.
--
-- case_id             experiment:variant:submission:shape
-- variant             name of the variant
-- submission          stream or graph
-- shape               name of the distribution
-- declared_memsets    memsets per invocation, as declared: 1 for the queue, else 0
-- graph_memset_nodes  memset nodes by the graph API, equal in every pass; NULL for streams, and when unknown or unequal
-- nsys_invocations    invocations that nsys recorded with what ran in them; NULL when it recorded none
-- nsys_min            fewest memsets in an invocation by nsys; NULL when unknown
-- nsys_max            most memsets in an invocation by nsys; NULL when unknown
-- memset_p50_ns       median duration of a memset on the device by nsys in ns; NULL without any
-- to_kernel_p50_ns    median time from the start of the memset to that of the invocation's first kernel in ns: what it
--                     delays the kernel by; NULL without any
--
-- A reset is no kernel, but it is work of the device, in every invocation and in every replay. nsys's times are those of
-- an instrumented run and belong in no table of latencies. All kernels run under an artificial reservation.
WITH api AS (
    SELECT
        case_id,
        CASE WHEN min(memsets) = max(memsets) THEN max(memsets) END AS memsets
    FROM (
        SELECT pass, case_id, count(*) FILTER (kind = 'memset') AS memsets
        FROM graph_node
        GROUP BY pass, case_id
    )
    GROUP BY case_id
), sets AS (
    SELECT
        l.pass,
        l.range_id,
        count(*) AS memsets,
        median(m.end_ns - m.start_ns) AS duration_ns,
        min(m.start_ns) AS start_ns
    FROM memory_operation AS m
    JOIN invocation_launch AS l ON l.pass = m.pass AND l.launch_id = m.launch_id
    WHERE m.kind = 'memset'
    GROUP BY l.pass, l.range_id
), run AS (
    SELECT pass, range_id, min(start_ns) AS start_ns FROM invocation_kernel GROUP BY pass, range_id
), seen AS (
    SELECT
        i.case_id,
        count(*) AS invocations,
        min(coalesce(s.memsets, 0)) AS fewest,
        max(coalesce(s.memsets, 0)) AS most,
        median(s.duration_ns) AS duration_ns,
        median(r.start_ns - s.start_ns) AS to_kernel_ns
    FROM invocation AS i
    LEFT JOIN sets AS s ON s.pass = i.pass AND s.range_id = i.range_id
    LEFT JOIN run AS r ON r.pass = i.pass AND r.range_id = i.range_id
    -- An invocation of which nothing is recorded may have reset the counter as well.
    WHERE s.range_id IS NOT NULL OR r.range_id IS NOT NULL
    GROUP BY i.case_id
)
SELECT
    c.case_id,
    c.variant,
    c.submission,
    c.shape,
    e.memset_nodes AS declared_memsets,
    CASE WHEN c.submission = 'graph' THEN a.memsets END AS graph_memset_nodes,
    s.invocations AS nsys_invocations,
    s.fewest AS nsys_min,
    s.most AS nsys_max,
    CAST(round(s.duration_ns) AS BIGINT) AS memset_p50_ns,
    CAST(round(s.to_kernel_ns) AS BIGINT) AS to_kernel_p50_ns
FROM variant_case AS c
LEFT JOIN expected AS e ON e.case_id = c.case_id
LEFT JOIN api AS a ON a.case_id = c.case_id
LEFT JOIN seen AS s ON s.case_id = c.case_id
ORDER BY c.case_order
