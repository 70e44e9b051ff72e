-- One row per raw timing; nothing is averaged or divided.
--
-- pass         timing: unprofiled; any other pass is instrumented and enters no latency table
-- case_id      experiment:variant:submission:shape; NULL for measurements of the whole device
-- quantity     completion, batch_enqueue, batch_completion, batch_event_interval, first_replay, empty_sync, device_copy
-- round        round, from 0
-- position     position in the shuffled order of the round, from 0
-- invocations  invocations that the duration covers
-- bytes        bytes read plus bytes written, for device_copy
-- duration_ns  duration in ns
SELECT s.pass, s.case_id, s.quantity, s.round, s.position, s.invocations, s.bytes, s.duration_ns
FROM sample AS s
LEFT JOIN variant_case AS c ON c.case_id = s.case_id
ORDER BY
    s.pass, s.quantity, c.case_order NULLS FIRST, s.case_id NULLS FIRST, s.round, s.position,
    s.duration_ns, s.invocations, s.bytes
