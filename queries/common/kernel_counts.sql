-- One row per case: how many kernels an invocation runs, by every witness.
--
-- case_id                 experiment:variant:submission:shape
-- experiment              name of the experiment
-- variant                 name of the variant
-- submission              stream or graph
-- shape                   name of the problem size
-- expected_kernels        kernels per invocation that the experiment declares; NULL when it declares none
-- kernels_per_invocation  kernels that nsys saw in every invocation; NULL when they differ or are unknown
-- nsys_invocations        invocations that nsys recorded; NULL when it recorded none
-- nsys_min                fewest kernels in an invocation by nsys; NULL when unknown
-- nsys_max                most kernels in an invocation by nsys; NULL when unknown
-- ncu_invocations         invocations of which ncu profiled single kernels; NULL when it profiled none
-- ncu_min                 fewest kernels in an invocation by ncu (pass ncu); NULL when unknown
-- ncu_max                 most kernels in an invocation by ncu (pass ncu); NULL when unknown
-- expected_memsets        memsets per invocation that the experiment declares; NULL when it declares nothing
-- nsys_memsets_min        fewest memsets in an invocation by nsys; NULL when unknown
-- nsys_memsets_max        most memsets in an invocation by nsys; NULL when unknown
--
-- A replay that was traced as a whole graph leaves no kernels: their number is then unknown, not zero. A memset
-- is no kernel.
WITH per_range AS (
    SELECT i.pass, i.case_id, i.range_id, count(k.kernel_id) AS kernels
    FROM invocation AS i
    LEFT JOIN invocation_kernel AS k ON k.pass = i.pass AND k.range_id = i.range_id
    GROUP BY i.pass, i.case_id, i.range_id
), set_per_range AS (
    SELECT i.case_id, i.pass, i.range_id, count(m.launch_id) AS memsets
    FROM invocation AS i
    LEFT JOIN invocation_launch AS l ON l.pass = i.pass AND l.range_id = i.range_id
    LEFT JOIN memory_operation AS m ON m.pass = l.pass AND m.launch_id = l.launch_id AND m.kind = 'memset'
    GROUP BY i.case_id, i.pass, i.range_id
), nsys_sets AS (
    SELECT case_id, min(memsets) AS fewest, max(memsets) AS most FROM set_per_range GROUP BY case_id
), replayed AS (
    SELECT DISTINCT case_id FROM invocation_launch WHERE kind = 'graph'
), nsys AS (
    SELECT
        p.case_id,
        count(*) AS invocations,
        (SELECT count(*) FROM kernel) = 0 OR (max(p.kernels) = 0 AND count(r.case_id) > 0) AS unknown,
        min(p.kernels) AS fewest,
        max(p.kernels) AS most
    FROM per_range AS p
    LEFT JOIN replayed AS r ON r.case_id = p.case_id
    GROUP BY p.case_id
), profiled AS (
    SELECT case_id, invocation, count(*) AS kernels
    FROM workload
    WHERE pass = 'ncu' AND workload = 'kernel' AND invocation IS NOT NULL
    GROUP BY case_id, invocation
), ncu AS (
    SELECT case_id, count(*) AS invocations, min(kernels) AS fewest, max(kernels) AS most
    FROM profiled
    GROUP BY case_id
)
SELECT
    c.case_id,
    c.experiment,
    c.variant,
    c.submission,
    c.shape,
    e.kernels AS expected_kernels,
    CASE WHEN NOT nsys.unknown AND nsys.fewest = nsys.most THEN nsys.most END AS kernels_per_invocation,
    nsys.invocations AS nsys_invocations,
    CASE WHEN NOT nsys.unknown THEN nsys.fewest END AS nsys_min,
    CASE WHEN NOT nsys.unknown THEN nsys.most END AS nsys_max,
    ncu.invocations AS ncu_invocations,
    ncu.fewest AS ncu_min,
    ncu.most AS ncu_max,
    e.memset_nodes AS expected_memsets,
    CASE WHEN NOT nsys.unknown THEN nsys_sets.fewest END AS nsys_memsets_min,
    CASE WHEN NOT nsys.unknown THEN nsys_sets.most END AS nsys_memsets_max
FROM variant_case AS c
LEFT JOIN expected AS e ON e.case_id = c.case_id
LEFT JOIN nsys ON nsys.case_id = c.case_id
LEFT JOIN nsys_sets ON nsys_sets.case_id = c.case_id
LEFT JOIN ncu ON ncu.case_id = c.case_id
ORDER BY c.case_order
