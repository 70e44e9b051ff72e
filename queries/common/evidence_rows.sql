-- One row per pass, case and kind of evidence: how many rows of it there are.
--
-- pass     name of the pass; NULL for what concerns the whole run
-- case_id  experiment:variant:submission:shape; NULL for what concerns no single case
-- origin   table that holds it
-- item     what of that table: a quantity, step, fixture, tool, variant …; empty when there is but one kind
-- seen     rows; for `invocations` their sum, for `waits` the invocations that waited for the device
SELECT NULL AS pass, case_id, 'variant_case' AS origin, '' AS item, count(*) AS seen FROM variant_case GROUP BY ALL
UNION ALL SELECT NULL, NULL, 'run', '', count(*) FROM run HAVING count(*) > 0
UNION ALL SELECT NULL, NULL, 'artifact', '', count(*) FROM artifact HAVING count(*) > 0
UNION ALL SELECT pass, NULL, 'report', '', count(*) FROM report GROUP BY ALL
UNION ALL SELECT pass, NULL, 'tool', '', count(*) FROM tool GROUP BY ALL
UNION ALL SELECT pass, NULL, 'pass', '', count(*) FROM "pass" GROUP BY ALL
UNION ALL SELECT pass, NULL, 'device', '', count(*) FROM device GROUP BY ALL
UNION ALL SELECT pass, NULL, 'device_state', moment, count(*) FROM device_state GROUP BY ALL
UNION ALL SELECT pass, NULL, 'build', variant, count(cubin_sha256) FROM build GROUP BY ALL
UNION ALL SELECT pass, NULL, 'sanitizer', tool, count(*) FROM sanitizer GROUP BY ALL
UNION ALL SELECT pass, case_id, 'driven', '', count(*) FROM driven GROUP BY ALL
UNION ALL SELECT pass, case_id, 'driven', 'invocations', CAST(sum(invocations) AS BIGINT) FROM driven GROUP BY ALL
UNION ALL SELECT pass, case_id, 'driven', 'output hash', count(output_sha256) FROM driven GROUP BY ALL
UNION ALL SELECT pass, case_id, 'sample', quantity, count(duration_ns) FROM sample GROUP BY ALL
UNION ALL SELECT pass, case_id, 'graph_setup', step, count(duration_ns) FROM graph_setup GROUP BY ALL
UNION ALL SELECT pass, case_id, 'graph_node', '', count(*) FROM graph_node GROUP BY ALL
UNION ALL SELECT pass, case_id, 'planned_launch', '', count(*) FROM planned_launch GROUP BY ALL
UNION ALL SELECT pass, case_id, 'graph_dot', '', count(*) FROM graph_dot GROUP BY ALL
UNION ALL SELECT pass, case_id, 'task_plan', '', count(*) FROM task_plan GROUP BY ALL
UNION ALL SELECT pass, case_id, 'task', '', count(*) FROM task GROUP BY ALL
UNION ALL SELECT h.pass, c.case_id, 'choice', h.group_name, count(h.median_ns)
    FROM choice AS h
    JOIN variant_case AS c ON c.variant = h.variant AND c.submission = h.submission AND c.shape = h.shape
    GROUP BY ALL
UNION ALL SELECT pass, case_id, 'validation', fixture, count(passed)
    FROM validation
    WHERE "check" NOT LIKE 'same_as:%'
    GROUP BY ALL
UNION ALL SELECT pass, case_id, 'validation', fixture || ' against variants', count(passed)
    FROM validation
    WHERE "check" LIKE 'same_as:%'
    GROUP BY ALL
UNION ALL SELECT pass, case_id, 'sync', 'waits', count(DISTINCT range_id) FROM invocation_sync GROUP BY ALL
ORDER BY ALL
