-- One row per pair of a range and a kernel launched inside it.
-- Push/pop ranges: every one that holds the launch on its thread, however deep. Start/end ranges: only where one is
-- the kernel's own (kernel.range_id), that is where no push/pop range holds the launch. This is about single kernels:
-- a range that was never closed has no end here, and one that another thread closed holds kernels too, unlike in
-- range.kernels, which counts as nsys' own projection does.
CREATE VIEW range_kernel AS
SELECT kernel.pass, inside.range_id, kernel.kernel_id, inside.range_id IS NOT DISTINCT FROM kernel.range_id AS innermost
FROM range_launch AS inside
JOIN kernel ON kernel.pass = inside.pass AND kernel.launch_id = inside.launch_id
UNION
SELECT pass, range_id, kernel_id, true FROM kernel WHERE range_id IS NOT NULL;

COMMENT ON VIEW range_kernel IS 'one row per pair of a range and a kernel launched inside it; of start/end ranges only a kernel''s own';
COMMENT ON COLUMN range_kernel.innermost IS 'true for the innermost range: sums over these count each kernel once';
