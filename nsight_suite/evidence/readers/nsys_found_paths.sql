-- Nestings of names, as `found`, written out from the outside in.
INSERT INTO path BY NAME
WITH RECURSIVE node AS (
    SELECT
        path_id,
        nullif(parent, -1) AS parent_path_id,
        domain.name AS domain,
        label.name,
        CASE style WHEN 1 THEN 'push_pop' ELSE 'start_end' END AS style
    FROM found
    JOIN nsys.label USING (label)
    LEFT JOIN nsys.label AS domain ON domain.label = found.domain
),
grown AS (
    SELECT path_id, CAST(0 AS BIGINT) AS depth, replace(name, ' / ', ' \/ ') AS path FROM node WHERE parent_path_id IS NULL
    UNION ALL
    SELECT node.path_id, grown.depth + 1, grown.path || ' / ' || replace(node.name, ' / ', ' \/ ')
    FROM grown
    JOIN node ON node.parent_path_id = grown.path_id
)
SELECT getvariable('pass_name') AS pass, node.*, grown.depth, grown.path
FROM node
JOIN grown USING (path_id)
ORDER BY path_id;
