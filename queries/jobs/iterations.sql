-- One row per shape of `jobs`: how many jobs the device has, and how many iterations they take together.
--
-- shape         name of the distribution
-- jobs          jobs: 4 S + S // 2 + 3 for S multiprocessors; NULL when S is unknown, as is all that follows from it
-- heavy_jobs    jobs with `heavy` iterations of stage A: every one whose number `every` divides
-- light         iterations of stage A of the other jobs
-- heavy         iterations of stage A of the heavy jobs
-- a_iterations  iterations of stage A, all jobs together
-- b_iterations  iterations of stage B, all jobs together
-- waves         jobs over multiprocessors: how often each must take a job, with one job on a multiprocessor at a time
--
-- The distributions differ in their totals, so times compare inside a shape only. That one job at a time is on a
-- multiprocessor is an artificial reservation of shared memory.
WITH shaped AS (
    SELECT
        shape,
        min(case_order) AS shape_order,
        any_value(CAST(parameters ->> 'light' AS BIGINT)) AS light,
        any_value(CAST(parameters ->> 'heavy' AS BIGINT)) AS heavy,
        any_value(CAST(parameters ->> 'every' AS BIGINT)) AS every,
        any_value(CAST(parameters ->> 'second' AS BIGINT)) AS second
    FROM variant_case
    WHERE experiment = 'jobs'
    GROUP BY shape
), counted AS (
    SELECT
        s.*,
        d.multiprocessors,
        4 * d.multiprocessors + d.multiprocessors // 2 + 3 AS jobs,
        (jobs + s.every - 1) // s.every AS heavy_jobs
    FROM shaped AS s
    CROSS JOIN (SELECT max(multiprocessors) AS multiprocessors FROM device) AS d
)
SELECT
    shape,
    jobs,
    heavy_jobs,
    light,
    heavy,
    heavy_jobs * heavy + (jobs - heavy_jobs) * light AS a_iterations,
    jobs * second AS b_iterations,
    round(jobs / multiprocessors, 4) AS waves
FROM counted
ORDER BY shape_order
