-- Which launches, and through them which kernels, belong to which range.
-- The launches that start inside a range are numbered one after another (range.first_launch_id to last_launch_id);
-- it holds those that also return inside it. This is the rule of nsys' own NVTX reports.
CREATE VIEW range_launch AS
SELECT launch.pass, spanned.range_id, launch.launch_id
FROM (
    SELECT pass, range_id, end_ns, unnest(generate_series(first_launch_id, last_launch_id)) AS launch_id
    FROM "range"
) AS spanned
JOIN launch ON launch.pass = spanned.pass AND launch.launch_id = spanned.launch_id
WHERE launch.end_ns <= spanned.end_ns OR spanned.end_ns IS NULL;

-- A kernel that no range of its launching thread holds may belong to a start/end range of its process.
CREATE VIEW range_kernel AS
SELECT kernel.pass, inside.range_id, kernel.kernel_id, inside.range_id IS NOT DISTINCT FROM kernel.range_id AS innermost
FROM range_launch AS inside
JOIN kernel ON kernel.pass = inside.pass AND kernel.launch_id = inside.launch_id
UNION
SELECT pass, range_id, kernel_id, true FROM kernel WHERE range_id IS NOT NULL;
