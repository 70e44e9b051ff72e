-- One row per rule of ncu that spoke about a workload.
--
-- pass               name of the report
-- workload_id        ID of the workload in its report
-- kernel             name of the kernel; NULL when the report has no counters of it
-- section            section of the report
-- rule               name of the rule
-- kind               as the report types it: INF, WRN, OPT …
-- text               what the rule says
-- estimated_speedup  percent of speed-up that the rule estimates; NULL when it gives none
--
-- Advice is the tool's opinion, by thresholds of its own: no measurement, and speed-ups do not add up.
WITH workload AS (
    SELECT pass, workload_id, any_value(name) AS name FROM counter GROUP BY pass, workload_id
)
SELECT a.pass, a.workload_id, w.name AS kernel, a.section, a.rule, a.kind, a.text, a.estimated_speedup
FROM advice AS a
LEFT JOIN workload AS w ON w.pass = a.pass AND w.workload_id = a.workload_id
ORDER BY
    a.pass,
    a.workload_id,
    a.estimated_speedup DESC NULLS LAST,
    a.section NULLS FIRST,
    a.rule NULLS FIRST,
    a.kind NULLS FIRST,
    a.text
