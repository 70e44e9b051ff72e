-- One row per report and name of a kernel that was launched outside every range: the other kernels.
--
-- pass            name of the report
-- kernel          name of the kernel; NULL in the row that says that there is none
-- kernels         executions outside every range
-- without_launch  of these, those whose launching API call is not in the report
-- total_ns        their durations together in ns; NULL when none was timed
-- share           kernels over all kernels of the report
-- time_share      total_ns over that of all kernels of the report; NULL when none was timed
--
-- Setup work and libraries often run outside of ranges; without_launch tells what no range could ever be given.
WITH grouped AS MATERIALIZED (
    SELECT
        pass,
        path_id IS NULL AND range_id IS NULL AS outside,
        CASE WHEN path_id IS NULL AND range_id IS NULL THEN name END AS name,
        count(*) AS kernels,
        count(*) FILTER (launch_id IS NULL) AS without_launch,
        sum(end_ns - start_ns) AS total
    FROM kernel
    GROUP BY ALL
), whole AS (
    SELECT pass, sum(kernels) AS kernels, sum(total) AS total, bool_or(outside) AS any_outside
    FROM grouped
    GROUP BY pass
), shown AS (
    SELECT pass, name, kernels, without_launch, total FROM grouped WHERE outside
    UNION ALL
    SELECT pass, NULL, 0, 0, 0 FROM whole WHERE NOT any_outside
)
SELECT
    s.pass,
    s.name AS kernel,
    s.kernels,
    s.without_launch,
    CAST(s.total AS BIGINT) AS total_ns,
    round(s.kernels / w.kernels, 4) AS share,
    round(s.total / nullif(w.total, 0), 4) AS time_share
FROM shown AS s
JOIN whole AS w ON w.pass = s.pass
ORDER BY s.pass, s.kernels DESC, kernel
