-- The invocation of each profiled workload, and its position in it.

-- A range without a payload does not tell its invocation. When the driver says how many it made, and the kernels
-- repeat that many times in the same sequence, their order does; otherwise it stays unknown.
CREATE TEMP TABLE derived AS
WITH workload AS (
    SELECT workload_id, range_name, name
    FROM ncu_workload
    WHERE invocation IS NULL AND range_name IS NOT NULL
),
placed AS (
    SELECT
        workload.*,
        driven.invocations,
        row_number() OVER (PARTITION BY range_name ORDER BY workload_id) - 1 AS position,
        count(*) OVER (PARTITION BY range_name) AS workloads
    FROM workload
    JOIN driven ON driven.pass = getvariable('pass_name') AND driven.case_id = workload.range_name
),
divided AS (
    SELECT *, position // (workloads // invocations) AS invocation, position % (workloads // invocations) AS ordinal
    FROM placed
    WHERE invocations > 0 AND workloads >= invocations AND workloads % invocations = 0
),
regular AS (
    SELECT range_name
    FROM (SELECT range_name, ordinal, count(DISTINCT name) AS names FROM divided GROUP BY ALL)
    GROUP BY range_name
    HAVING max(names) = 1
)
SELECT workload_id, invocation FROM divided SEMI JOIN regular USING (range_name);

UPDATE ncu_workload
SET invocation = derived.invocation
FROM derived
WHERE ncu_workload.workload_id = derived.workload_id;

CREATE TEMP TABLE placed AS
SELECT workload_id, row_number() OVER (PARTITION BY range_name, invocation ORDER BY workload_id) - 1 AS ordinal
FROM ncu_workload
WHERE invocation IS NOT NULL;

UPDATE ncu_workload
SET ordinal = placed.ordinal
FROM placed
WHERE ncu_workload.workload_id = placed.workload_id;

DROP TABLE derived;
DROP TABLE placed;
