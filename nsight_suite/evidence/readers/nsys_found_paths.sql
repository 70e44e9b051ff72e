-- Nestings of names, as `found`, with their texts in `path_text`.
INSERT INTO path BY NAME
SELECT
    getvariable('pass_name') AS pass,
    found.path_id,
    nullif(found.parent, -1) AS parent_path_id,
    found.depth,
    domain.name AS domain,
    label.name,
    CASE found.style WHEN 1 THEN 'push_pop' ELSE 'start_end' END AS style,
    path_text.path
FROM found
JOIN path_text USING (path_id)
JOIN nsys.label USING (label)
LEFT JOIN nsys.label AS domain ON domain.label = found.domain
ORDER BY found.path_id;
