-- One row per program or library and version that the passes used.
--
-- name     nsys, ncu, compute-sanitizer, python, cupy, cuda-bindings, nvtx …
-- version  as the tool prints it
-- passes   passes that used it, joined by ', '
SELECT name, version, string_agg(DISTINCT pass, ', ' ORDER BY pass) AS passes
FROM tool
GROUP BY name, version
ORDER BY name, version
