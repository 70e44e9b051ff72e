-- One row per report, range name and kernel name: the kernels launched inside ranges of that name, at any depth.
--
-- pass      name of the report
-- domain    NVTX domain; NULL for the default one
-- range     name of the range; '<outside every range>' for what was launched outside
-- style     push_pop or start_end; NULL outside every range
-- kernel    name of the kernel; NULL in the row that says that nothing is outside, and where `reason` stands
-- kernels   executions recorded; NULL where `reason` stands
-- untimed   of these, those without device times: they count, but enter no time
-- total_ns  their durations together in ns; NULL when none was timed
-- share     total_ns over that of all kernels of the report
-- mean_ns   mean duration in ns
-- min_ns    shortest in ns
-- p50_ns    median in ns
-- p90_ns    90th percentile in ns, interpolated between two durations, as by numpy
-- max_ns    longest in ns
-- reason    why a start/end name has no kernels here; NULL otherwise
--
-- Inclusive: a kernel counts under every name around its launch, so the rows of nested ranges add up to more than
-- the report; kernel_by_path counts each kernel once. Under a name with several ranges around the launch it counts
-- once. A start/end name holds the launches from start to return inside one of its ranges on the thread that began it,
-- also those that push/pop ranges hold as well; and of any thread of its process those that no push/pop range holds and
-- to which it is the innermost start/end range. Where the start/end names of a report hold more than 20 million
-- launches together, each has one row with a reason: range_summary has their sums.
--
-- Single kernels know no end of a range that was never closed, and one that another thread closed holds them too. The
-- numbers of range_summary and range_projection follow nsys' own projection there: the first counts until the last
-- NVTX event, the second nothing.
WITH RECURSIVE above (pass, path_id, ancestor_id) AS (
    SELECT pass, path_id, path_id FROM path
    UNION
    SELECT above.pass, above.path_id, path.parent_path_id
    FROM above
    JOIN path ON path.pass = above.pass AND path.path_id = above.ancestor_id
    WHERE path.parent_path_id IS NOT NULL
), named AS (
    -- A name is known by the first path that ends in it.
    SELECT pass, path_id, style, min(path_id) OVER (PARTITION BY pass, domain, name, style) AS name_id FROM path
), closure AS MATERIALIZED (
    SELECT DISTINCT above.pass, above.path_id, named.name_id
    FROM above
    JOIN named ON named.pass = above.pass AND named.path_id = above.ancestor_id
), begun AS (
    SELECT
        r.pass,
        n.name_id,
        r.process,
        r.thread,
        r.first_launch_id,
        max(r.last_launch_id) AS last_launch_id,
        max(coalesce(r.end_ns, 9223372036854775807)) AS end_ns
    FROM "range" AS r
    JOIN named AS n ON n.pass = r.pass AND n.path_id = r.path_id
    WHERE r.style = 'start_end' AND r.first_launch_id IS NOT NULL
    GROUP BY r.pass, n.name_id, r.process, r.thread, r.first_launch_id
), stretch AS MATERIALIZED (
    -- From where one range of a name begins to where the next does: its launches belong to the name if they return
    -- before the last end of all ranges begun by then. So every launch is looked at once per name.
    SELECT
        pass,
        name_id,
        first_launch_id,
        least(
            max(last_launch_id) OVER so_far,
            coalesce(lead(first_launch_id) OVER in_order - 1, 9223372036854775807)
        ) AS last_launch_id,
        max(end_ns) OVER so_far AS end_ns
    FROM begun
    WINDOW
        in_order AS (PARTITION BY pass, name_id, process, thread ORDER BY first_launch_id),
        so_far AS (
            PARTITION BY pass, name_id, process, thread ORDER BY first_launch_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
), crowd AS MATERIALIZED (
    SELECT pass, sum(last_launch_id - first_launch_id + 1) AS pairs
    FROM stretch
    GROUP BY pass
    HAVING sum(last_launch_id - first_launch_id + 1) > 20000000
), hidden AS MATERIALIZED (
    SELECT DISTINCT s.pass, s.name_id, c.pairs FROM stretch AS s JOIN crowd AS c ON c.pass = s.pass
), around AS (
    SELECT
        s.pass, s.name_id, s.end_ns, unnest(generate_series(s.first_launch_id, s.last_launch_id)) AS launch_id
    FROM stretch AS s
    ANTI JOIN crowd ON crowd.pass = s.pass
), launched AS (
    -- Joined before the pairs, of which DuckDB expects few: the other way round they all would be kept in memory.
    SELECT
        k.pass,
        k.launch_id,
        k.name,
        k.end_ns - k.start_ns AS duration_ns,
        l.end_ns AS returned_ns,
        CASE WHEN n.style = 'start_end' THEN n.name_id END AS own_name_id
    FROM kernel AS k
    JOIN launch AS l ON l.pass = k.pass AND l.launch_id = k.launch_id
    SEMI JOIN stretch AS s ON s.pass = k.pass
    LEFT JOIN named AS n ON n.pass = k.pass AND n.path_id = k.path_id
), inside AS (
    -- By its path a kernel is in push/pop ranges, in one start/end range where no push/pop range is, or in none.
    SELECT k.pass, c.name_id, k.name, k.end_ns - k.start_ns AS duration_ns
    FROM kernel AS k
    LEFT JOIN closure AS c ON c.pass = k.pass AND c.path_id = k.path_id
    UNION ALL
    SELECT l.pass, a.name_id, l.name, l.duration_ns
    FROM around AS a
    JOIN launched AS l ON l.pass = a.pass AND l.launch_id = a.launch_id
    WHERE l.returned_ns <= a.end_ns AND a.name_id IS DISTINCT FROM l.own_name_id
), whole AS MATERIALIZED (
    SELECT pass, sum(end_ns - start_ns) AS total FROM kernel GROUP BY pass
), grouped AS MATERIALIZED (
    SELECT
        pass,
        name_id,
        name,
        count(*) AS kernels,
        count(duration_ns) AS timed,
        sum(duration_ns) AS total,
        -- All that needs the durations in order, from the shortest to the longest, at once: apart it costs far more.
        quantile_cont(duration_ns, [0, 0.5, 0.9, 1]) AS spread
    FROM inside
    GROUP BY pass, name_id, name
), shown AS (
    SELECT g.* FROM grouped AS g ANTI JOIN hidden AS h ON h.pass = g.pass AND h.name_id = g.name_id
    UNION ALL BY NAME
    SELECT w.pass, 0 AS kernels, 0 AS timed, 0 AS total
    FROM whole AS w
    ANTI JOIN (SELECT pass FROM grouped WHERE name_id IS NULL) AS g ON g.pass = w.pass
    UNION ALL BY NAME
    SELECT
        pass,
        name_id,
        'start/end ranges of this report hold ' || pairs || ' launches together, too many to go through: '
        || 'range_summary has their sums' AS reason
    FROM hidden
)
SELECT
    g.pass,
    p.domain,
    coalesce(p.name, '<outside every range>') AS "range",
    p.style,
    g.name AS kernel,
    g.kernels,
    g.kernels - g.timed AS untimed,
    CAST(g.total AS BIGINT) AS total_ns,
    round(g.total / nullif(w.total, 0), 4) AS share,
    round(g.total / nullif(g.timed, 0), 1) AS mean_ns,
    CAST(g.spread[1] AS BIGINT) AS min_ns,
    g.spread[2] AS p50_ns,
    round(g.spread[3], 1) AS p90_ns,
    CAST(g.spread[4] AS BIGINT) AS max_ns,
    g.reason
FROM shown AS g
LEFT JOIN whole AS w ON w.pass = g.pass
LEFT JOIN path AS p ON p.pass = g.pass AND p.path_id = g.name_id
ORDER BY g.pass, total_ns DESC NULLS LAST, "range", p.domain NULLS FIRST, p.style, kernel
