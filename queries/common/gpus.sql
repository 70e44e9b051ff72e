-- One row per GPU that a report describes: what it is, and what ran there.
--
-- pass                     name of the report
-- device                   device number in the report
-- name                     product name
-- uuid                     GPU UUID; NULL when unknown
-- compute_capability       major.minor
-- multiprocessors          number of streaming multiprocessors
-- memory_bytes             device memory in bytes
-- l2_bytes                 size of the L2 cache in bytes
-- memory_bytes_per_second  peak DRAM bandwidth that the report states, in bytes per second; not measured
-- kernels                  kernels that nsys recorded there; NULL for other reports
WITH ran AS (
    SELECT pass, device, count(*) AS kernels FROM kernel GROUP BY pass, device
), traced AS (
    SELECT DISTINCT pass FROM report WHERE format LIKE 'nsys%' AND "rows" IS NOT NULL
)
SELECT
    g.pass,
    g.device,
    g.name,
    g.uuid,
    g.compute_capability,
    g.multiprocessors,
    g.memory_bytes,
    g.l2_bytes,
    g.memory_bytes_per_second,
    CASE WHEN t.pass IS NOT NULL THEN coalesce(r.kernels, 0) END AS kernels
FROM gpu AS g
LEFT JOIN ran AS r ON r.pass = g.pass AND r.device = g.device
LEFT JOIN traced AS t ON t.pass = g.pass
ORDER BY g.pass, g.device, g.uuid
