-- From the first to the last moment that nsys recorded of the program, on the host or on a device. What nsys spent
-- on itself (table overhead) is no part of it, nor are moments of ranges that were never closed.
CREATE VIEW capture_window AS
SELECT pass, min(first_ns) AS start_ns, max(last_ns) AS end_ns
FROM (
    SELECT pass, min(start_ns) AS first_ns, max(end_ns) AS last_ns FROM "range" GROUP BY pass
    UNION ALL SELECT pass, min(start_ns), max(end_ns) FROM launch GROUP BY pass
    UNION ALL SELECT pass, min(start_ns), max(end_ns) FROM sync GROUP BY pass
    UNION ALL SELECT pass, min(start_ns), max(end_ns) FROM api_call GROUP BY pass
    UNION ALL SELECT pass, min(time_ns), max(time_ns) FROM mark GROUP BY pass
    UNION ALL SELECT pass, min(start_ns), max(end_ns) FROM kernel GROUP BY pass
    UNION ALL SELECT pass, min(start_ns), max(end_ns) FROM memory_operation GROUP BY pass
    UNION ALL SELECT pass, min(start_ns), max(end_ns) FROM graph_run GROUP BY pass
)
GROUP BY pass;

COMMENT ON VIEW capture_window IS 'one row per nsys report: first and last moment that it recorded of the program';
COMMENT ON COLUMN capture_window.start_ns IS 'first moment in ns of the capture''s clock';
COMMENT ON COLUMN capture_window.end_ns IS 'last moment in ns of the capture''s clock';
