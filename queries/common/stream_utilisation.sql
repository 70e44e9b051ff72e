-- One row per CUDA stream: what ran in it, and how much of the capture it was busy.
--
-- pass             name of the report
-- process          process, numbered from 0 in the report
-- device           device number in the report
-- context          CUDA context
-- stream           CUDA stream; the same number in another process, device or context is another stream
-- operations       timed kernels, copies, fills and whole graph runs
-- kernels          kernels among them
-- memory           copies and fills among them
-- sum_ns           their durations together in ns
-- busy_ns          at least one ran (union) in ns
-- first_ns         start of the first in ns of the capture's clock
-- last_ns          end of the last in ns of the capture's clock
-- own_share        busy_ns over the time from its first to its last work; NULL for a time of nothing
-- capture_ns       from the first to the last record of the program in the report, in ns
-- capture_share    busy_ns over capture_ns; NULL for a time of nothing
WITH placed AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY pass, process, device, context, stream ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS ended_ns
    FROM (SELECT pass, process, device, context, stream, kind, start_ns, end_ns FROM device_work)
), summed AS (
    SELECT
        pass,
        process,
        device,
        context,
        stream,
        count(*) AS operations,
        count(*) FILTER (kind = 'kernel') AS kernels,
        count(*) FILTER (kind IN ('memcpy', 'memset')) AS memory,
        CAST(sum(end_ns - start_ns) AS BIGINT) AS sum_ns,
        -- What each adds to the union: its length past the end of all before it.
        CAST(sum(greatest(0, end_ns - greatest(start_ns, coalesce(ended_ns, start_ns)))) AS BIGINT) AS busy_ns,
        min(start_ns) AS first_ns,
        max(end_ns) AS last_ns
    FROM placed
    GROUP BY pass, process, device, context, stream
)
SELECT
    s.*,
    round(s.busy_ns / nullif(s.last_ns - s.first_ns, 0), 4) AS own_share,
    w.end_ns - w.start_ns AS capture_ns,
    round(s.busy_ns / nullif(w.end_ns - w.start_ns, 0), 4) AS capture_share
FROM summed AS s
JOIN capture_window AS w ON w.pass = s.pass
ORDER BY s.pass, s.process, s.device, s.context, s.stream
