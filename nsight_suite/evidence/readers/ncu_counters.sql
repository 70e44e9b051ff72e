-- The cells of an ncu report → rows of `counter`, and of `gpu` when everything was asked for.

-- What the columns of a page do not tell of a launch, its metrics may.
CREATE TEMP TABLE ncu_launch AS
SELECT
    workload_id,
    max(text) FILTER (metric = 'launch__device_id') AS device,
    max(text) FILTER (metric = 'launch__context_id') AS context,
    max(text) FILTER (metric = 'launch__stream_id') AS stream,
    max(text) FILTER (metric = 'launch__grid_dim_x') AS grid_x,
    max(text) FILTER (metric = 'launch__grid_dim_y') AS grid_y,
    max(text) FILTER (metric = 'launch__grid_dim_z') AS grid_z,
    max(text) FILTER (metric = 'launch__block_dim_x') AS block_x,
    max(text) FILTER (metric = 'launch__block_dim_y') AS block_y,
    max(text) FILTER (metric = 'launch__block_dim_z') AS block_z,
    max(text) FILTER (metric = 'launch__graph_exec_cuda_id') AS graph_exec,
    bool_or(
        metric IN ('launch__graph_contains_device_launch', 'launch__graph_is_device_launchable')
        AND regexp_full_match(text, '[01](\.0*)?')
    ) AS graph_attributes
FROM ncu_cell
JOIN ncu_metric USING (metric_id)
WHERE starts_with(metric, 'launch__') AND instance IS NULL
GROUP BY workload_id;

-- ncu calls a whole graph 'graph'; so may a program its kernel, but that has no graph attributes.
UPDATE ncu_workload
SET
    kind = coalesce(
        kind,
        CASE
            WHEN ncu_whole(graph_exec) > 0 THEN 'graph'
            WHEN name = 'graph' AND graph_exec IS DISTINCT FROM '0' AND graph_attributes THEN 'graph'
        END
    ),
    device = coalesce(ncu_workload.device, ncu_whole(ncu_launch.device)),
    context = coalesce(ncu_workload.context, ncu_whole(ncu_launch.context)),
    stream = coalesce(ncu_workload.stream, ncu_whole(ncu_launch.stream)),
    grid = coalesce(grid, ncu_whole(grid_x) || ',' || ncu_whole(grid_y) || ',' || ncu_whole(grid_z)),
    block = coalesce(block, ncu_whole(block_x) || ',' || ncu_whole(block_y) || ',' || ncu_whole(block_z))
FROM ncu_launch
WHERE ncu_workload.workload_id = ncu_launch.workload_id;

DROP TABLE ncu_launch;

INSERT INTO counter BY NAME
SELECT
    getvariable('pass_name') AS pass,
    w.workload_id,
    w.process,
    w.device,
    w.context,
    w.stream,
    w.grid,
    w.block,
    coalesce(w.kind, 'kernel') AS workload,
    w.name,
    w.range_name,
    w.invocation,
    w.ordinal,
    c.section,
    c.metric,
    c.instance,
    c.value,
    CASE WHEN c.is_text AND NOT c.has_unit THEN c.text END AS text,
    CASE WHEN c.value IS NOT NULL THEN c.base WHEN c.is_text AND NOT c.has_unit THEN c.unit END AS unit,
    c.text AS original,
    c.unit AS original_unit,
    CASE WHEN c.value IS NOT NULL THEN c.exponent > 0 AND c.own_exponent + c.exponent > 0 END AS rounded,
    CASE
        WHEN c.value IS NOT NULL THEN NULL
        WHEN c.reason IS NOT NULL THEN c.reason
        WHEN c.is_text AND c.has_unit THEN concat('''', c.text, ''' is not a number of ', c.unit)
        WHEN c.is_text THEN NULL
        WHEN c.unit IS NULL THEN 'the report has no row of units, so the value''s scale is unknown'
        WHEN c.exponent IS NULL THEN concat('the unit ''', c.unit, ''' is not known')
        ELSE concat('''', c.text, ''' is too large')
    END AS reason
FROM (
    SELECT
        * EXCLUDE (digits),
        decimals IS NULL AND reason IS NULL AS is_text,
        coalesce(unit, '') <> '' AS has_unit,
        ncu_finite(digits || 'e' || (own_exponent + exponent)) AS value
    FROM (
        SELECT
            workload_id,
            section,
            metric,
            unit,
            base,
            exponent,
            instance,
            text,
            decimals,
            reason,
            CASE
                WHEN plain THEN 0
                ELSE coalesce(TRY_CAST(regexp_extract(text, '[eE]([+-]?[0-9]+)[^0-9]*$', 1) AS INTEGER), 0)
            END - decimals AS own_exponent,
            CASE
                WHEN plain THEN ncu_trimmed(replace(replace(text, ',', ''), '.', ''))
                ELSE CASE WHEN regexp_matches(text, '^[^0-9]*-') THEN '-' ELSE '' END
                    || regexp_replace(split_part(split_part(text, 'e', 1), 'E', 1), '[^0-9]', '', 'g')
            END AS digits
        FROM ncu_cell
        JOIN ncu_metric USING (metric_id)
        LEFT JOIN ncu_shape USING (shape_id)
    )
) AS c
JOIN ncu_workload AS w USING (workload_id);
