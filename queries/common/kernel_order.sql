-- One row per case, witness and sequence of kernels that was seen in an invocation.
--
-- case_id      experiment:variant:submission:shape
-- pass         nsys: by start on the device; ncu, ncu-warm: by position in the report
-- declared     names in the order that the experiment declares, as a list; NULL when it declares none
-- observed     names as seen, without namespace, template arguments and parameters, as a list
-- invocations  invocations with exactly this sequence
-- overlaps     kernels that started before the one ahead of them on the same stream ended; NULL for ncu
-- overlap_ns   longest of those overlaps in ns; NULL for ncu
--
-- An invocation with a kernel that nsys did not time has no order and is left out.
WITH stepped AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY pass, range_id, stream ORDER BY start_ns, end_ns, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) - start_ns AS overlap_ns
    FROM invocation_kernel
), sequences AS (
    SELECT
        pass,
        case_id,
        range_id AS invocation,
        list(short_name ORDER BY ordinal) AS observed,
        count(*) FILTER (overlap_ns > 0) AS overlaps,
        max(overlap_ns) FILTER (overlap_ns > 0) AS overlap_ns
    FROM stepped
    GROUP BY pass, case_id, range_id
    HAVING count(start_ns) = count(*)
    UNION ALL
    SELECT pass, case_id, invocation, list(short_name ORDER BY ordinal, workload_id), NULL, NULL
    FROM workload
    WHERE workload = 'kernel' AND invocation IS NOT NULL
    GROUP BY pass, case_id, invocation
)
SELECT
    c.case_id,
    s.pass,
    any_value(e.kernel_names) AS declared,
    s.observed,
    count(*) AS invocations,
    CAST(sum(s.overlaps) AS BIGINT) AS overlaps,
    max(s.overlap_ns) AS overlap_ns
FROM sequences AS s
JOIN variant_case AS c ON c.case_id = s.case_id
LEFT JOIN expected AS e ON e.case_id = s.case_id
GROUP BY c.case_id, c.case_order, s.pass, s.observed
ORDER BY c.case_order, s.pass, invocations DESC, s.observed
