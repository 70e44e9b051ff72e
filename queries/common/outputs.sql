-- One row per pass and case: the output that its driver computed on the profiling fixture, against the one that was timed.
--
-- pass              name of the pass
-- case_id           experiment:variant:submission:shape
-- output_sha256     hash of the output after the last invocation; NULL when the driver did not tell
-- reference_sha256  that of the pass timing, else of the pass validate; NULL when neither tells
-- same_output       whether the two are equal; NULL when either is missing
--
-- Instrumented builds (pass trace) and the second session must compute the same to the last bit.
WITH told AS (
    SELECT pass, case_id, max(output_sha256) AS output_sha256 FROM driven GROUP BY pass, case_id
), reference AS (
    SELECT
        case_id,
        coalesce(max(output_sha256) FILTER (pass = 'timing'), max(output_sha256) FILTER (pass = 'validate'))
            AS output_sha256
    FROM told
    GROUP BY case_id
)
SELECT
    t.pass,
    c.case_id,
    t.output_sha256,
    r.output_sha256 AS reference_sha256,
    t.output_sha256 = r.output_sha256 AS same_output
FROM told AS t
JOIN variant_case AS c ON c.case_id = t.case_id
LEFT JOIN reference AS r ON r.case_id = t.case_id
ORDER BY t.pass, c.case_order
