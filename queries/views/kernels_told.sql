-- What each nsys report can tell of kernels at all. An empty table of a capture that did not ask for CUDA is no answer.
CREATE VIEW kernels_told AS
SELECT
    r.pass,
    CASE
        WHEN max(r."rows") > 0 THEN 'recorded'
        WHEN max(u.pass) IS NOT NULL THEN 'not traced'
        WHEN max(coalesce(r.kernel_rows, r."rows")) = 0 THEN 'zero rows'
        ELSE 'table absent'
    END AS answer,
    answer IN ('recorded', 'zero rows') AS known
FROM report AS r
LEFT JOIN (
    SELECT DISTINCT pass
    FROM finding
    WHERE code IN ('not-traced', 'cuda-not-traced')
        OR (code = 'no-kernel-table' AND reason LIKE 'CUDA was not traced%')
) AS u ON u.pass = r.pass
WHERE r.format LIKE 'nsys%'
GROUP BY r.pass;

COMMENT ON VIEW kernels_told IS 'one row per nsys report: what it can tell of kernels';
COMMENT ON COLUMN kernels_told.answer IS 'recorded, zero rows (none ran), table absent (unknown), not traced (unknown)';
COMMENT ON COLUMN kernels_told.known IS 'whether a count of kernels, zero too, is an answer';
