-- Where the calls of a window begin (1) and end (-1) the capture of a stream.
SELECT thread, start_ns AS "start", CASE kind WHEN 5 THEN 1 ELSE -1 END AS step
FROM window_call
WHERE kind IN (5, 6)
ORDER BY start_ns, row
