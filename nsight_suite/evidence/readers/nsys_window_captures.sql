-- Where the calls of a window begin (1) and end (-1) the capture of a stream. Another thread of the process may end
-- it, and may launch into it.
SELECT process, start_ns AS "start", CASE kind WHEN 5 THEN 1 ELSE -1 END AS step
FROM window_call
WHERE kind IN (5, 6)
ORDER BY start_ns, row
