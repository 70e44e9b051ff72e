-- One row per value or table that could not be had while the evidence was built.
--
-- code     short stable name of the kind
-- pass     name of the pass; NULL when it concerns the run
-- case_id  experiment:variant:submission:shape; NULL when it concerns a whole pass
-- subject  the file, table, column or metric
-- reason   why, and what to do
SELECT code, pass, case_id, subject, reason
FROM finding
ORDER BY code, pass NULLS FIRST, case_id NULLS FIRST, subject NULLS FIRST, reason
