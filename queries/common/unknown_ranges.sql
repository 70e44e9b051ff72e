-- One row per name of a range in the suite's NVTX domain that is neither a case of this run nor `setup`.
--
-- pass       name of the pass
-- name       the range's text
-- instances  ranges of that name
-- kernels    kernels launched inside them; of start/end ranges only what no push/pop range holds
SELECT
    r.pass,
    r.name,
    count(DISTINCT r.range_id) AS instances,
    count(k.kernel_id) AS kernels
FROM "range" AS r
LEFT JOIN variant_case AS c ON c.case_id = r.name
LEFT JOIN range_kernel AS k ON k.pass = r.pass AND k.range_id = r.range_id
WHERE r.domain = 'nsight_suite' AND c.case_id IS NULL AND r.name IS DISTINCT FROM 'setup'
GROUP BY r.pass, r.name
ORDER BY r.pass, r.name
