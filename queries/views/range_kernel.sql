-- One row per pair of a range and a kernel launched inside it.
-- A kernel that no range of its launching thread holds may belong to a start/end range of its process.
CREATE VIEW range_kernel AS
SELECT kernel.pass, inside.range_id, kernel.kernel_id, inside.range_id IS NOT DISTINCT FROM kernel.range_id AS innermost
FROM range_launch AS inside
JOIN kernel ON kernel.pass = inside.pass AND kernel.launch_id = inside.launch_id
UNION
SELECT pass, range_id, kernel_id, true FROM kernel WHERE range_id IS NOT NULL;

COMMENT ON VIEW range_kernel IS 'one row per pair of a range and a kernel launched inside it';
COMMENT ON COLUMN range_kernel.innermost IS 'true for the innermost range: sums over these count each kernel once';
