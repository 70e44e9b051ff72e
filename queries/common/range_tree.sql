-- One row per report and nesting of range names: its own device work and that of everything in it.
--
-- pass              name of the report
-- path_id           identity of the nesting inside its report
-- path              names from the outside in
-- depth             names above the innermost one
-- domain            NVTX domain of the innermost name; NULL for the default one
-- style             push_pop or start_end
-- instances         range instances with this nesting
-- host_total_ns     their time on the host together in ns; NULL when none was closed
-- own_kernels       kernels launched right there: each kernel of the report is own to one nesting or to none
-- own_ns            their durations together in ns; NULL when none was timed
-- kernels           kernels launched there or in any range inside
-- kernel_ns         their durations together in ns; NULL when none was timed
-- share             kernel_ns over that of all kernels of the report
--
-- In the order of the tree: what is nested follows what it is in.
WITH RECURSIVE above (pass, path_id, ancestor_id) AS (
    SELECT pass, path_id, path_id FROM path
    UNION
    SELECT above.pass, above.path_id, path.parent_path_id
    FROM above
    JOIN path ON path.pass = above.pass AND path.path_id = above.ancestor_id
    WHERE path.parent_path_id IS NOT NULL
), tree (pass, path_id, place) AS (
    -- What is nested stands after what it is in, and before the next tree of the same name.
    SELECT p.pass, p.path_id, [concat_ws(' ', p.name, p.domain, p.style, lpad(CAST(p.path_id AS VARCHAR), 20, '0'))]
    FROM path AS p
    ANTI JOIN path AS parent ON parent.pass = p.pass AND parent.path_id = p.parent_path_id
    UNION ALL
    SELECT p.pass, p.path_id, list_append(
        tree.place, concat_ws(' ', p.name, p.domain, p.style, lpad(CAST(p.path_id AS VARCHAR), 20, '0'))
    )
    FROM tree
    JOIN path AS p ON p.pass = tree.pass AND p.parent_path_id = tree.path_id
), ran AS MATERIALIZED (
    SELECT pass, path_id, count(*) AS kernels, sum(end_ns - start_ns) AS total FROM kernel GROUP BY pass, path_id
), whole AS (
    SELECT pass, sum(total) AS total FROM ran GROUP BY pass
), inside AS (
    SELECT above.pass, above.ancestor_id AS path_id, sum(ran.kernels) AS kernels, sum(ran.total) AS total
    FROM above
    JOIN ran ON ran.pass = above.pass AND ran.path_id = above.path_id
    GROUP BY above.pass, above.ancestor_id
), opened AS (
    SELECT pass, path_id, count(*) AS instances, sum(end_ns - start_ns) AS host_total
    FROM "range"
    GROUP BY pass, path_id
)
SELECT
    p.pass,
    p.path_id,
    p.path,
    p.depth,
    p.domain,
    p.style,
    coalesce(o.instances, 0) AS instances,
    CAST(o.host_total AS BIGINT) AS host_total_ns,
    coalesce(r.kernels, 0) AS own_kernels,
    CAST(r.total AS BIGINT) AS own_ns,
    coalesce(CAST(i.kernels AS BIGINT), 0) AS kernels,
    CAST(i.total AS BIGINT) AS kernel_ns,
    round(i.total / nullif(w.total, 0), 4) AS share
FROM path AS p
LEFT JOIN opened AS o ON o.pass = p.pass AND o.path_id = p.path_id
LEFT JOIN ran AS r ON r.pass = p.pass AND r.path_id = p.path_id
LEFT JOIN inside AS i ON i.pass = p.pass AND i.path_id = p.path_id
LEFT JOIN whole AS w ON w.pass = p.pass
LEFT JOIN tree AS t ON t.pass = p.pass AND t.path_id = p.path_id
ORDER BY p.pass, t.place, p.path_id
