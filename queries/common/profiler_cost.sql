-- One row per report, process and kind of nsys' own overhead: its time inside the span of what it recorded.
--
-- pass         name of the report
-- process      process, numbered from 0 in the report
-- kind         what it was spent on, as the report names or numbers it
-- records      stretches of overhead
-- total_ns     their durations together in ns, wherever they lie; NULL when none has an end
-- inside_ns    what of them lies between the first and the last record of the program, in ns; NULL likewise
-- window_ns    from the first to the last record of the program, in ns; NULL without any
-- share        inside_ns over window_ns; NULL when it cannot be
-- reason       why there is no share
--
-- The window is the same for both numbers, so a share above 1 says that stretches lie on several threads at once: it
-- is no share of time then, and is withheld. What a profiled run costs more than an unprofiled one is another number.
WITH clipped AS (
    SELECT
        o.pass,
        o.process,
        o.kind,
        count(*) AS records,
        CAST(sum(o.end_ns - o.start_ns) AS BIGINT) AS total_ns,
        -- greatest() and least() pass over what is missing.
        CAST(sum(greatest(0, least(o.end_ns, w.end_ns) - greatest(o.start_ns, w.start_ns)))
            FILTER (o.end_ns - o.start_ns IS NOT NULL) AS BIGINT) AS inside_ns,
        any_value(w.end_ns - w.start_ns) AS window_ns
    FROM overhead AS o
    LEFT JOIN capture_window AS w ON w.pass = o.pass
    GROUP BY o.pass, o.process, o.kind
)
SELECT
    pass,
    process,
    kind,
    records,
    total_ns,
    CASE WHEN window_ns IS NOT NULL THEN inside_ns END AS inside_ns,
    window_ns,
    CASE WHEN inside_ns <= window_ns THEN round(inside_ns / nullif(window_ns, 0), 4) END AS share,
    CASE
        WHEN window_ns IS NULL THEN 'the report has no record of the program to set a window'
        WHEN window_ns = 0 THEN 'the records of the program span no time'
        WHEN inside_ns > window_ns THEN
            'above 100 %: the stretches lie on several threads at once, so they are no share of time'
        WHEN inside_ns IS NULL THEN 'no stretch has both a start and an end'
    END AS reason
FROM clipped
ORDER BY pass, process NULLS FIRST, total_ns DESC NULLS LAST, kind
