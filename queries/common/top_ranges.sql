-- One row per report and each of its 25 range instances with the most device time: the most first.
--
-- pass          name of the report
-- place         position by device_ns, from 1
-- range_id      identity of the instance inside its report
-- process       process, numbered from 0 in the report
-- thread        thread, numbered from 0 in the report
-- domain        NVTX domain; NULL for the default one
-- range         name of the range
-- style         push_pop or start_end
-- path          names of the ranges around it and its own, from the outside in
-- duration_ns   time on the host in ns; NULL when it was never closed
-- kernels       kernels launched inside, at any depth
-- operations    kernels, copies and fills launched inside, at any depth
-- device_ns     durations of these operations together in ns
-- projected_ns  from the first start to the last end on the device in ns
--
-- Inclusive: an outer range holds the work of the ranges in it. Ranges without device work are left out.
WITH ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY pass ORDER BY device_ns DESC, start_ns, range_id) AS place
    FROM "range"
    WHERE device_ns IS NOT NULL
    QUALIFY place <= 25
)
SELECT
    r.pass,
    r.place,
    r.range_id,
    r.process,
    r.thread,
    r.domain,
    r.name AS "range",
    r.style,
    p.path,
    r.end_ns - r.start_ns AS duration_ns,
    r.kernels,
    r.operations,
    r.device_ns,
    r.projected_end_ns - r.projected_start_ns AS projected_ns
FROM ranked AS r
LEFT JOIN path AS p ON p.pass = r.pass AND p.path_id = r.path_id
ORDER BY r.pass, r.place
