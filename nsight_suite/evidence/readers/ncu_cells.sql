-- The cells of an ncu report, as they are printed.
CREATE TEMP TABLE ncu_cell AS
SELECT workload_id, metric_id, shape_id, position, nullif(instance, '') AS instance, coalesce(text, '') AS text
FROM read_csv(
    $file,
    auto_detect = false,
    header = false,
    delim = ',',
    quote = '"',
    escape = '"',
    new_line = '\r\n',
    columns = {
        'workload_id': 'BIGINT',
        'metric_id': 'INTEGER',
        'shape_id': 'INTEGER',
        'position': 'BIGINT',
        'instance': 'VARCHAR',
        'text': 'VARCHAR'
    }
);
