-- One row per measured invocation, its range cut into parts that sum exactly to its length:
-- entry + api + queue + kernel_union + memory + gap + return + exit = range.
--
-- The cuts are: range start, first launching call, first device work, last device work, last return of a waiting
-- call, range end. A cut never lies before the one ahead of it, because host and device clocks differ by some
-- hundred ns. `exit_ns` alone can be negative: then device work or a wait went on after the range was closed.
--
-- The driver's stopwatch runs inside the range. What it shows for the same invocation is cut the same way:
-- api + queue + kernel_union + memory + gap + return + completion_remainder = completion.
-- The rest of entry and exit is NVTX and Python outside the stopwatch.
CREATE VIEW split_of_invocation AS
WITH work AS (
    SELECT pass, range_id, 'kernel' AS kind, start_ns, end_ns FROM invocation_kernel WHERE start_ns IS NOT NULL
    UNION ALL
    SELECT l.pass, l.range_id, 'memory', m.start_ns, m.end_ns
    FROM memory_operation AS m
    JOIN invocation_launch AS l ON l.pass = m.pass AND l.launch_id = m.launch_id
    WHERE m.start_ns IS NOT NULL
), uncovered AS (
    -- What each piece adds to the union: its length past the latest end of those before it.
    SELECT
        *,
        greatest(start_ns, coalesce(max(end_ns) OVER (
            PARTITION BY pass, range_id ORDER BY start_ns, end_ns, kind
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), start_ns)) AS new_from_ns,
        greatest(0, end_ns - new_from_ns) AS added_ns,
        greatest(0, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER (
            PARTITION BY pass, range_id, kind ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), start_ns))) AS added_in_kind_ns
    FROM work
), device AS (
    SELECT
        pass,
        range_id,
        min(start_ns) AS first_ns,
        max(end_ns) AS last_ns,
        sum(added_ns) AS device_union_ns,
        coalesce(sum(added_in_kind_ns) FILTER (kind = 'kernel'), 0) AS kernel_union_ns,
        coalesce(sum(end_ns - start_ns) FILTER (kind = 'kernel'), 0) AS kernel_sum_ns,
        count(*) FILTER (kind = 'kernel') AS kernels
    FROM uncovered
    GROUP BY pass, range_id
), called AS (
    SELECT
        l.pass,
        l.range_id,
        count(*) AS launches,
        min(l.start_ns) AS first_ns,
        sum(l.end_ns - l.start_ns) AS api_total_ns,
        sum(greatest(0, least(l.end_ns, d.first_ns) - l.start_ns)) AS api_ns
    FROM invocation_launch AS l
    LEFT JOIN device AS d ON d.pass = l.pass AND d.range_id = l.range_id
    GROUP BY l.pass, l.range_id
), overlapped AS (
    -- Host inside a launching call while the device works. What the pieces of work add is disjoint.
    SELECT
        l.pass,
        l.range_id,
        sum(greatest(0, least(l.end_ns, u.end_ns) - greatest(l.start_ns, u.new_from_ns))) AS api_busy_ns
    FROM invocation_launch AS l
    JOIN uncovered AS u ON u.pass = l.pass AND u.range_id = l.range_id
    GROUP BY l.pass, l.range_id
), idle AS (
    -- Host inside a launching call between the device's first and last work, less what it works meanwhile.
    SELECT
        l.pass,
        l.range_id,
        sum(greatest(0, least(l.end_ns, d.last_ns) - greatest(l.start_ns, d.first_ns)))
        - any_value(o.api_busy_ns) AS gap_in_api_ns
    FROM invocation_launch AS l
    JOIN device AS d ON d.pass = l.pass AND d.range_id = l.range_id
    JOIN overlapped AS o ON o.pass = l.pass AND o.range_id = l.range_id
    GROUP BY l.pass, l.range_id
), clocked AS (
    SELECT pass, case_id, round, min(duration_ns) AS completion_ns
    FROM sample
    WHERE quantity = 'completion'
    GROUP BY pass, case_id, round
    HAVING count(*) = 1
), waited AS (
    SELECT pass, range_id, max(end_ns) AS last_ns FROM invocation_sync GROUP BY pass, range_id
), cut AS (
    SELECT
        i.*,
        c.launches,
        d.kernels,
        c.api_total_ns,
        c.api_ns,
        idle.gap_in_api_ns,
        k.completion_ns,
        d.kernel_sum_ns,
        d.kernel_union_ns,
        d.device_union_ns,
        c.first_ns AS called_ns,
        greatest(c.first_ns, d.first_ns) AS device_start_ns,
        greatest(c.first_ns, d.last_ns) AS device_end_ns,
        greatest(c.first_ns, d.last_ns, coalesce(w.last_ns, d.last_ns)) AS returned_ns
    FROM invocation AS i
    JOIN called AS c ON c.pass = i.pass AND c.range_id = i.range_id
    JOIN device AS d ON d.pass = i.pass AND d.range_id = i.range_id
    JOIN idle ON idle.pass = i.pass AND idle.range_id = i.range_id
    LEFT JOIN waited AS w ON w.pass = i.pass AND w.range_id = i.range_id
    LEFT JOIN clocked AS k ON k.pass = i.pass AND k.case_id = i.case_id AND k.round = i.invocation
    WHERE i.end_ns IS NOT NULL
)
SELECT
    pass,
    case_id,
    invocation,
    range_id,
    launches,
    kernels,
    end_ns - start_ns AS range_ns,
    called_ns - start_ns AS entry_ns,
    CAST(api_ns AS BIGINT) AS api_ns,
    CAST(device_start_ns - called_ns - api_ns AS BIGINT) AS queue_ns,
    CAST(kernel_union_ns AS BIGINT) AS kernel_union_ns,
    CAST(device_union_ns - kernel_union_ns AS BIGINT) AS memory_ns,
    CAST(device_end_ns - device_start_ns - device_union_ns AS BIGINT) AS gap_ns,
    CAST(gap_in_api_ns AS BIGINT) AS gap_in_api_ns,
    CAST(device_end_ns - device_start_ns - device_union_ns - gap_in_api_ns AS BIGINT) AS gap_idle_ns,
    returned_ns - device_end_ns AS return_ns,
    end_ns - returned_ns AS exit_ns,
    called_ns - start_ns + end_ns - returned_ns AS remainder_ns,
    completion_ns,
    completion_ns - (returned_ns - called_ns) AS completion_remainder_ns,
    CAST(kernel_sum_ns AS BIGINT) AS kernel_sum_ns,
    CAST(device_union_ns AS BIGINT) AS device_union_ns,
    CAST(api_total_ns AS BIGINT) AS api_total_ns
FROM cut;

COMMENT ON VIEW split_of_invocation IS 'one row per measured invocation with timed device work: its range cut into parts that sum exactly';
COMMENT ON COLUMN split_of_invocation.entry_ns IS 'range start to the first launching call';
COMMENT ON COLUMN split_of_invocation.api_ns IS 'inside launching calls before the device starts';
COMMENT ON COLUMN split_of_invocation.queue_ns IS 'outside launching calls before the device starts';
COMMENT ON COLUMN split_of_invocation.kernel_union_ns IS 'at least one kernel runs';
COMMENT ON COLUMN split_of_invocation.memory_ns IS 'only copies or fills run';
COMMENT ON COLUMN split_of_invocation.gap_ns IS 'the device idles between its first and its last work';
COMMENT ON COLUMN split_of_invocation.gap_in_api_ns IS 'of gap_ns: the host is inside a launching call';
COMMENT ON COLUMN split_of_invocation.gap_idle_ns IS 'of gap_ns: the host is outside of launching calls';
COMMENT ON COLUMN split_of_invocation.return_ns IS 'last device work to the return of the last waiting call';
COMMENT ON COLUMN split_of_invocation.exit_ns IS 'return of the last waiting call to the end of the range';
COMMENT ON COLUMN split_of_invocation.remainder_ns IS 'entry and exit: neither launch, device nor wait';
COMMENT ON COLUMN split_of_invocation.completion_ns IS 'the driver''s own clock for this invocation; NULL when it told none';
COMMENT ON COLUMN split_of_invocation.completion_remainder_ns IS 'of completion_ns: neither launch, device nor wait';
COMMENT ON COLUMN split_of_invocation.device_union_ns IS 'at least one kernel, copy or fill runs';
