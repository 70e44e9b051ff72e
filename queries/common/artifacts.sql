-- One row per file that the evidence was built from.
--
-- path     path inside the run folder
-- role     protocol, report, records or log
-- bytes    size in bytes when the evidence was built
-- sha256   SHA-256 when the evidence was built
-- private  whether it stays on its machine
SELECT path, role, bytes, sha256, private
FROM artifact
ORDER BY path
