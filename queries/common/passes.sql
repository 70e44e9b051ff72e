-- One row per pass that was asked for: a process of its own.
--
-- pass             name of the pass
-- state            ok, failed, or absent (asked for but never finished)
-- exit_status      exit status of the outermost tool
-- started_utc      ISO 8601
-- duration_ns      wall time of the whole pass in ns
-- cases            cases that its driver ran
-- cache_control    ncu --cache-control
-- clock_control    ncu --clock-control
-- graph_trace      nsys --cuda-graph-trace
-- graph_profiling  ncu --graph-profiling
-- reason           why it is not ok
-- argv             the exact command line as a JSON list, secrets dropped
SELECT
    p.pass,
    p.state,
    p.exit_status,
    p.started_utc,
    p.duration_ns,
    (SELECT count(*) FROM driven AS d WHERE d.pass = p.pass) AS cases,
    p.cache_control,
    p.clock_control,
    p.graph_trace,
    p.graph_profiling,
    p.reason,
    p.argv
FROM "pass" AS p
ORDER BY p.started_utc NULLS LAST, p.pass
