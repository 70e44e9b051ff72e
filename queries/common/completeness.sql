-- One row per profiler pass and case that the driver says it ran: what should be in the report, and what is.
--
-- pass                    nsys, ncu or ncu-warm
-- case_id                 experiment:variant:submission:shape
-- driven_invocations      invocations that the driver says it made; NULL when it did not say
-- seen_invocations        invocations in the report; NULL when it does not tell which workload belongs to which
-- expected_records        kernels (or whole replays) that those invocations must leave, as declared; NULL when undeclared
-- seen_records            kernels (or workloads) in the report
-- launches                launching calls in the invocations, by nsys; NULL for ncu
-- launches_without_device launching calls that left no device record, by nsys; NULL for ncu
-- kernels_without_launch  kernels whose launching call is not in the evidence, by nsys; NULL for ncu
-- output_sha256           hash of the output that the profiled process computed
-- reference_sha256        hash of the output of the timing pass, else of the validate pass
-- same_output             whether the two are equal; NULL when either is missing
WITH on_device AS (
    SELECT DISTINCT pass, launch_id FROM kernel
    UNION
    SELECT DISTINCT pass, launch_id FROM memory_operation
), nsys_launches AS (
    SELECT
        l.pass,
        l.case_id,
        count(*) AS launches,
        count(*) FILTER (d.launch_id IS NULL) AS without_device
    FROM invocation_launch AS l
    LEFT JOIN on_device AS d ON d.pass = l.pass AND d.launch_id = l.launch_id
    GROUP BY l.pass, l.case_id
), seen AS (
    SELECT
        i.pass,
        i.case_id,
        count(DISTINCT i.range_id) AS invocations,
        count(k.kernel_id) AS records,
        count(k.kernel_id) FILTER (l.launch_id IS NULL) AS without_launch,
        false AS whole
    FROM invocation AS i
    LEFT JOIN invocation_kernel AS k ON k.pass = i.pass AND k.range_id = i.range_id
    LEFT JOIN launch AS l ON l.pass = k.pass AND l.launch_id = k.launch_id
    GROUP BY i.pass, i.case_id
    UNION ALL
    SELECT
        pass,
        case_id,
        CASE WHEN count(invocation) = count(*) THEN count(DISTINCT invocation) END,
        count(*),
        NULL,
        bool_or(workload = 'graph')
    FROM workload
    GROUP BY pass, case_id
), outputs AS (
    SELECT
        case_id,
        coalesce(max(output_sha256) FILTER (pass = 'timing'), max(output_sha256) FILTER (pass = 'validate')) AS sha256
    FROM driven
    GROUP BY case_id
)
SELECT
    coalesce(d.pass, s.pass) AS pass,
    c.case_id,
    d.invocations AS driven_invocations,
    CASE WHEN s.pass IS NULL THEN 0 ELSE s.invocations END AS seen_invocations,
    d.invocations * CASE WHEN s.whole THEN 1 ELSE e.kernels END AS expected_records,
    coalesce(s.records, 0) AS seen_records,
    CASE WHEN coalesce(d.pass, s.pass) = 'nsys' THEN coalesce(l.launches, 0) END AS launches,
    CASE WHEN coalesce(d.pass, s.pass) = 'nsys' THEN coalesce(l.without_device, 0) END AS launches_without_device,
    s.without_launch AS kernels_without_launch,
    d.output_sha256,
    o.sha256 AS reference_sha256,
    d.output_sha256 = o.sha256 AS same_output
FROM (SELECT * FROM driven WHERE pass IN ('nsys', 'ncu', 'ncu-warm')) AS d
FULL JOIN seen AS s ON s.pass = d.pass AND s.case_id = d.case_id
JOIN variant_case AS c ON c.case_id = coalesce(d.case_id, s.case_id)
LEFT JOIN expected AS e ON e.case_id = c.case_id
LEFT JOIN nsys_launches AS l ON l.pass = s.pass AND l.case_id = s.case_id
LEFT JOIN outputs AS o ON o.case_id = c.case_id
ORDER BY 1, c.case_order
