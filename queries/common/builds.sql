-- One row per variant, kernel and architecture that the suite compiled: whether every pass ran the same machine code.
--
-- variant        name of the variant
-- kernel         name of the kernel
-- architecture   sm_90 …
-- passes         passes that compiled it
-- sources        distinct hashes of the source among them
-- cubins         distinct hashes of the machine code among them
-- odd_passes     passes whose machine code is not what most of them ran, joined by ', '; NULL when all ran the same
WITH common AS (
    SELECT variant, kernel, architecture, mode(cubin_sha256 ORDER BY cubin_sha256) AS cubin_sha256
    FROM build
    GROUP BY ALL
)
SELECT
    b.variant,
    b.kernel,
    b.architecture,
    count(DISTINCT b.pass) AS passes,
    count(DISTINCT b.source_sha256) AS sources,
    count(DISTINCT b.cubin_sha256) AS cubins,
    string_agg(DISTINCT b.pass, ', ' ORDER BY b.pass) FILTER (b.cubin_sha256 <> c.cubin_sha256) AS odd_passes
FROM build AS b
JOIN common AS c
    ON c.variant = b.variant AND c.kernel = b.kernel AND c.architecture IS NOT DISTINCT FROM b.architecture
GROUP BY b.variant, b.kernel, b.architecture
ORDER BY b.variant, b.kernel, b.architecture
