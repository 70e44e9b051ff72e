-- One row per case, profiled pass and kernel of `jobs`: how far it is from its compute floor, and where the cycles go.
--
-- case_id               the case
-- pass                  name of the ncu pass
-- kernel                name of the kernel
-- workloads             profiled launches
-- multiply_adds         iterations of all threads: one multiply-add each
-- floor_cycles          cycles that these take when every multiprocessor starts 64 in each cycle, from first to last
-- elapsed_cycles        median of sm__cycles_elapsed.max
-- elapsed_to_floor      elapsed_cycles over floor_cycles: the product of the next three
-- elapsed_to_active     of that the share of cycles in which a multiprocessor has nothing resident: start, last wave, end
-- active_to_pipe        of that the cycles with something resident over those in which the pipe of multiply-adds works
-- pipe_to_floor         of that what else goes through the pipe
-- pipe_percent          sm__pipe_fmaheavy_cycles_active.avg.pct_of_peak_sustained_elapsed, median
-- issue_percent         smsp__issue_active.avg.pct_of_peak_sustained_active, median
-- wait_per_issue        warps that wait for a result of fixed latency, per instruction issued
-- memory_wait_per_issue warps that wait for global memory, per instruction issued
--
-- Medians of the pass's workloads; NULL where a counter is missing. Only passes that flush the caches: without a flush ncu's
-- elapsed cycles hold some 200 µs before the kernel. The floor knows no latency and no waves, nor the artificial reservation of
-- shared memory, which leaves a multiprocessor one job at a time: none can be faster, and none need be as fast.
WITH sized AS (
    SELECT
        c.case_id,
        c.case_order,
        c.variant,
        CAST(c.parameters ->> 'light' AS BIGINT) AS light,
        CAST(c.parameters ->> 'heavy' AS BIGINT) AS heavy,
        CAST(c.parameters ->> 'every' AS BIGINT) AS every,
        CAST(c.parameters ->> 'second' AS BIGINT) AS second,
        d.multiprocessors,
        -- As in the query `iterations`; a job has 256 values.
        4 * d.multiprocessors + d.multiprocessors // 2 + 3 AS jobs,
        (jobs + every - 1) // every AS heavy_jobs,
        256 * (heavy_jobs * heavy + (jobs - heavy_jobs) * light) AS of_a,
        256 * jobs * second AS of_b
    FROM variant_case AS c
    CROSS JOIN (SELECT max(multiprocessors) AS multiprocessors FROM device) AS d
    WHERE c.experiment = 'jobs'
), measured AS (
    SELECT
        pass,
        range_name AS case_id,
        name AS kernel,
        count(DISTINCT workload_id) AS workloads,
        median(value) FILTER (metric = 'sm__cycles_elapsed.max') AS elapsed,
        median(value) FILTER (metric = 'sm__cycles_active.avg') AS active,
        median(value) FILTER (metric = 'sm__pipe_fmaheavy_cycles_active.avg.pct_of_peak_sustained_elapsed') AS pipe,
        median(value) FILTER (metric = 'smsp__issue_active.avg.pct_of_peak_sustained_active') AS issue,
        median(value) FILTER (metric = 'smsp__average_warps_issue_stalled_wait_per_issue_active.ratio') AS waiting,
        median(value) FILTER (metric = 'smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio') AS memory
    FROM counter
    WHERE workload = 'kernel' AND instance IS NULL AND section IS NULL
        AND pass IN (SELECT pass FROM pass WHERE cache_control = 'all')
    GROUP BY ALL
), joined AS (
    SELECT
        m.*,
        s.case_order,
        CASE m.kernel WHEN 'jobs_stage_a' THEN s.of_a WHEN 'jobs_stage_b' THEN s.of_b ELSE s.of_a + s.of_b END AS multiply_adds,
        multiply_adds / (64 * s.multiprocessors) AS floor
    FROM measured AS m
    JOIN sized AS s ON s.case_id = m.case_id
)
SELECT
    case_id,
    pass,
    kernel,
    workloads,
    multiply_adds,
    CAST(ceil(floor) AS BIGINT) AS floor_cycles,
    CAST(round(elapsed) AS BIGINT) AS elapsed_cycles,
    round(elapsed / floor, 3) AS elapsed_to_floor,
    round(elapsed / active, 3) AS elapsed_to_active,
    round(active / (elapsed * pipe / 100), 3) AS active_to_pipe,
    round(elapsed * pipe / 100 / floor, 3) AS pipe_to_floor,
    round(pipe, 2) AS pipe_percent,
    round(issue, 2) AS issue_percent,
    round(waiting, 2) AS wait_per_issue,
    round(memory, 2) AS memory_wait_per_issue
FROM joined
ORDER BY case_order, pass, kernel
