-- One row per shape and submission: local fusion against the form of the megakernel that the pilot chose.
--
-- shape          name of the problem size
-- row_count      rows of the array
-- submission     stream or graph
-- mega           the chosen form: mega_grid or mega_row; NULL when no pilot chose one
-- sessions       sessions that timed both local and the chosen form
-- devices        different GPUs among those sessions; NULL when unknown
-- baseline_ns    host completion of the nine kernels: mean of the sessions' medians in ns
-- local_ns       the same of local
-- local_low_ns   smallest of local's session medians in ns
-- local_high_ns  largest of local's session medians in ns
-- mega_ns        the same of the chosen form
-- mega_low_ns    smallest of its session medians in ns
-- mega_high_ns   largest of its session medians in ns
-- ratio          local_ns over mega_ns: above 1 the megakernel is faster
-- faster         mega, local, or neither
--
-- The choice comes from the pilot's samples alone, made before these sessions. The ratio compares two ways to cut
-- the operator that differ in the number of kernels and in the storage of intermediates at once.
WITH medians AS (
    SELECT s.pass, c.case_id, quantile_cont(s.duration_ns, 0.5) AS median_ns
    FROM sample AS s
    JOIN variant_case AS c ON c.case_id = s.case_id
    WHERE s.pass IN ('timing', 'timing-2') AND s.quantity = 'completion'
    GROUP BY s.pass, c.case_id
), chosen AS (
    SELECT shape, submission, variant FROM choice WHERE group_name = 'mega' AND chosen
), cells AS (
    SELECT
        c.shape,
        c.submission,
        min(c.case_order) AS place,
        CAST(max(c.parameters ->> 'rows') AS BIGINT) AS row_count,
        max(c.case_id) FILTER (c.variant = 'baseline') AS baseline_id,
        max(c.case_id) FILTER (c.variant = 'local') AS local_id,
        max(c.case_id) FILTER (c.variant = chosen.variant) AS mega_id,
        max(chosen.variant) AS mega
    FROM variant_case AS c
    LEFT JOIN chosen ON chosen.shape = c.shape AND chosen.submission = c.submission
    WHERE c.experiment = 'rms'
    GROUP BY c.shape, c.submission
), joined AS (
    SELECT
        cells.shape,
        cells.submission,
        cells.place,
        cells.row_count,
        cells.mega,
        count(*) FILTER (local_times.pass IS NOT NULL AND mega_times.pass IS NOT NULL) AS sessions,
        count(DISTINCT device.uuid) AS devices,
        avg(baseline_times.median_ns) AS baseline_ns,
        avg(local_times.median_ns) AS local_ns,
        min(local_times.median_ns) AS local_low_ns,
        max(local_times.median_ns) AS local_high_ns,
        avg(mega_times.median_ns) AS mega_ns,
        min(mega_times.median_ns) AS mega_low_ns,
        max(mega_times.median_ns) AS mega_high_ns
    FROM cells
    JOIN (SELECT DISTINCT pass FROM medians) AS session ON true
    LEFT JOIN medians AS baseline_times
        ON baseline_times.pass = session.pass AND baseline_times.case_id = baseline_id
    LEFT JOIN medians AS local_times ON local_times.pass = session.pass AND local_times.case_id = local_id
    LEFT JOIN medians AS mega_times ON mega_times.pass = session.pass AND mega_times.case_id = mega_id
    LEFT JOIN (SELECT DISTINCT pass, uuid FROM device) AS device ON device.pass = session.pass
    GROUP BY ALL
)
SELECT
    shape,
    row_count,
    submission,
    mega,
    sessions,
    nullif(devices, 0) AS devices,
    CAST(round(baseline_ns) AS BIGINT) AS baseline_ns,
    CAST(round(local_ns) AS BIGINT) AS local_ns,
    CAST(round(local_low_ns) AS BIGINT) AS local_low_ns,
    CAST(round(local_high_ns) AS BIGINT) AS local_high_ns,
    CAST(round(mega_ns) AS BIGINT) AS mega_ns,
    CAST(round(mega_low_ns) AS BIGINT) AS mega_low_ns,
    CAST(round(mega_high_ns) AS BIGINT) AS mega_high_ns,
    round(local_ns / mega_ns, 4) AS ratio,
    CASE
        WHEN local_ns > mega_ns THEN 'mega'
        WHEN local_ns < mega_ns THEN 'local'
        WHEN local_ns = mega_ns THEN 'neither'
    END AS faster
FROM joined
ORDER BY place
