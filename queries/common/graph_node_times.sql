-- One row per report, process, node of a CUDA graph as the program made it, device and kernel name: its executions.
--
-- pass        name of the report
-- process     process, numbered from 0 in the report
-- node_id     node where the chain of copies begins; the recorded node itself where the report tells no chain
-- device      device number in the report
-- kernel      name of the kernel
-- copies      distinct recorded nodes that stem from it: one for each executable graph
-- executions  kernels that ran for it
-- untimed     of these, those without device times: they count, but enter no time
-- total_ns    durations together in ns; NULL when none was timed
-- share       total_ns over that of all kernels of graph nodes of the report
-- min_ns      shortest in ns
-- p50_ns      median in ns
-- p90_ns      90th percentile in ns, interpolated between two durations, as by numpy
-- max_ns      longest in ns
--
-- Instantiating a graph copies its nodes; the copies bear new ids and are counted under the node that they stem from.
WITH origin AS (
    SELECT pass, process, id, min(source_id) AS source_id FROM graph_origin WHERE kind = 'node' GROUP BY ALL
), grouped AS (
    SELECT
        k.pass,
        k.process,
        coalesce(o.source_id, k.graph_node_id) AS node_id,
        k.device,
        k.name,
        count(DISTINCT k.graph_node_id) AS copies,
        count(*) AS executions,
        count(*) - count(k.end_ns - k.start_ns) AS untimed,
        sum(k.end_ns - k.start_ns) AS total,
        quantile_cont(k.end_ns - k.start_ns, [0, 0.5, 0.9, 1]) AS spread
    FROM kernel AS k
    LEFT JOIN origin AS o
        ON o.pass = k.pass AND o.process IS NOT DISTINCT FROM k.process AND o.id = k.graph_node_id
    WHERE k.graph_node_id IS NOT NULL
    GROUP BY ALL
)
SELECT
    pass,
    process,
    node_id,
    device,
    name AS kernel,
    copies,
    executions,
    untimed,
    CAST(total AS BIGINT) AS total_ns,
    round(total / nullif(sum(total) OVER (PARTITION BY pass), 0), 4) AS share,
    CAST(spread[1] AS BIGINT) AS min_ns,
    spread[2] AS p50_ns,
    round(spread[3], 1) AS p90_ns,
    CAST(spread[4] AS BIGINT) AS max_ns
FROM grouped
ORDER BY pass, total_ns DESC NULLS LAST, process NULLS FIRST, node_id, device NULLS FIRST, kernel
