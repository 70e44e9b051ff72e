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
WITH named AS MATERIALIZED (
    -- Sorting by one number is much faster than by five.
    SELECT *, row_number() OVER (ORDER BY pass, process, device, context, stream) AS stream_id
    FROM (SELECT DISTINCT pass, process, device, context, stream FROM device_work)
), placed AS (
    SELECT
        n.stream_id,
        w.kind,
        w.start_ns,
        w.end_ns,
        max(w.end_ns) OVER (
            PARTITION BY n.stream_id ORDER BY w.start_ns, w.end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS ended_ns
    FROM device_work AS w
    JOIN named AS n
        ON n.pass = w.pass
        AND n.process IS NOT DISTINCT FROM w.process
        AND n.device IS NOT DISTINCT FROM w.device
        AND n.context IS NOT DISTINCT FROM w.context
        AND n.stream IS NOT DISTINCT FROM w.stream
), summed AS (
    SELECT
        stream_id,
        count(*) AS operations,
        count(*) FILTER (kind = 'kernel') AS kernels,
        count(*) FILTER (kind IN ('memcpy', 'memset')) AS memory,
        CAST(sum(end_ns - start_ns) AS BIGINT) AS sum_ns,
        -- What each adds to the union: its length past the end of all before it.
        CAST(sum(greatest(0, end_ns - greatest(start_ns, coalesce(ended_ns, start_ns)))) AS BIGINT) AS busy_ns,
        min(start_ns) AS first_ns,
        max(end_ns) AS last_ns
    FROM placed
    GROUP BY stream_id
)
SELECT
    n.pass,
    n.process,
    n.device,
    n.context,
    n.stream,
    s.* EXCLUDE (stream_id),
    round(s.busy_ns / nullif(s.last_ns - s.first_ns, 0), 4) AS own_share,
    w.end_ns - w.start_ns AS capture_ns,
    round(s.busy_ns / nullif(w.end_ns - w.start_ns, 0), 4) AS capture_share
FROM summed AS s
JOIN named AS n ON n.stream_id = s.stream_id
JOIN capture_window AS w ON w.pass = n.pass
ORDER BY n.pass, n.process, n.device, n.context, n.stream
