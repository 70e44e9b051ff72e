-- What a report prints twice for one workload is one cell. Values that differ under one label (of a chart, say)
-- are told apart by their order.
CREATE OR REPLACE TEMP TABLE ncu_cell AS
SELECT
    workload_id,
    metric_id,
    shape_id,
    position,
    CASE WHEN several > 1 THEN concat_ws(' ', instance, '#' || nth) ELSE instance END AS instance,
    text
FROM (
    SELECT
        *,
        count(*) OVER same AS several,
        row_number() OVER (PARTITION BY workload_id, section, metric, instance ORDER BY position) AS nth
    FROM (
        SELECT workload_id, metric_id, shape_id, section, metric, instance, text, min(position) AS position
        FROM ncu_cell
        JOIN ncu_metric USING (metric_id)
        GROUP BY ALL
    )
    WINDOW same AS (PARTITION BY workload_id, section, metric, instance)
)
ORDER BY position, instance NULLS FIRST;
