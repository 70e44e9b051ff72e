-- One row per timed case: invocations submitted back to back, per invocation.
--
-- case_id            experiment:variant:submission:shape
-- variant            name of the variant
-- submission         stream or graph
-- shape              name of the problem size
-- invocations        invocations in a batch
-- batches            batches measured
-- enqueue_ns         host time to submit one invocation, median over the batches in ns
-- completion_ns      host time until all were done, per invocation, median in ns
-- event_interval_ns  time between the CUDA events around the batch, per invocation, median in ns; it may hold time in
--                    which the device waited for the host, so it is no kernel duration
--
-- Of the first session (pass timing) where a run has two.
SELECT
    c.case_id,
    c.variant,
    c.submission,
    c.shape,
    max(s.invocations) AS invocations,
    count(*) FILTER (s.quantity = 'batch_completion') AS batches,
    CAST(round(median(s.duration_ns / s.invocations) FILTER (s.quantity = 'batch_enqueue')) AS BIGINT) AS enqueue_ns,
    CAST(round(median(s.duration_ns / s.invocations) FILTER (s.quantity = 'batch_completion')) AS BIGINT)
        AS completion_ns,
    CAST(round(median(s.duration_ns / s.invocations) FILTER (s.quantity = 'batch_event_interval')) AS BIGINT)
        AS event_interval_ns
FROM sample AS s
JOIN variant_case AS c ON c.case_id = s.case_id
WHERE s.pass = 'timing' AND s.quantity LIKE 'batch_%' AND s.invocations > 0
GROUP BY c.case_id, c.variant, c.submission, c.shape, c.case_order
ORDER BY c.case_order
