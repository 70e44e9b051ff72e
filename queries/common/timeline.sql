-- One row per kernel of a measured invocation, in the order in which they ran under nsys.
--
-- case_id      experiment:variant:submission:shape
-- invocation   ordinal of the invocation, from 0
-- ordinal      position of the kernel, from 0
-- kernel       name of the kernel
-- stream       CUDA stream
-- start_ns     start after the start of the invocation's range in ns; NULL when not timed
-- duration_ns  duration in ns; NULL when not timed
-- gap_ns       from the end of the kernel ahead to this start in ns; negative when they overlap; NULL for the first
SELECT
    k.case_id,
    k.invocation,
    k.ordinal,
    k.name AS kernel,
    k.stream,
    k.start_ns - i.start_ns AS start_ns,
    k.duration_ns,
    k.start_ns - lag(k.end_ns) OVER (PARTITION BY k.pass, k.range_id ORDER BY k.ordinal) AS gap_ns
FROM invocation_kernel AS k
JOIN invocation AS i ON i.pass = k.pass AND i.range_id = k.range_id
ORDER BY i.case_order, k.invocation, k.range_id, k.ordinal
