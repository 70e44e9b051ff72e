-- One row per variant, kernel and architecture that the suite compiled: whether every pass ran the same machine code.
--
-- variant        name of the source that it was compiled from, without suffix
-- kernel         name of the kernel
-- architecture   sm_90 …
-- traced         whether these are the instrumented builds of the pass trace, which are machine code of their own
-- passes         passes that compiled it
-- sources        distinct hashes of the source among all passes, instrumented or not
-- cubins         distinct hashes of the machine code among these passes
-- odd_passes     passes whose machine code is not what most of them ran, joined by ', '; NULL when all ran the same
WITH built AS (
    SELECT *, pass = 'trace' AS traced FROM build
), common AS (
    SELECT variant, kernel, architecture, traced, mode(cubin_sha256 ORDER BY cubin_sha256) AS cubin_sha256
    FROM built
    GROUP BY ALL
), written AS (
    SELECT variant, kernel, architecture, count(DISTINCT source_sha256) AS sources FROM build GROUP BY ALL
)
SELECT
    b.variant,
    b.kernel,
    b.architecture,
    b.traced,
    count(DISTINCT b.pass) AS passes,
    any_value(w.sources) AS sources,
    count(DISTINCT b.cubin_sha256) AS cubins,
    string_agg(DISTINCT b.pass, ', ' ORDER BY b.pass) FILTER (b.cubin_sha256 <> c.cubin_sha256) AS odd_passes
FROM built AS b
JOIN common AS c
    ON c.variant = b.variant
    AND c.kernel = b.kernel
    AND c.architecture IS NOT DISTINCT FROM b.architecture
    AND c.traced = b.traced
JOIN written AS w
    ON w.variant = b.variant AND w.kernel = b.kernel AND w.architecture IS NOT DISTINCT FROM b.architecture
GROUP BY b.variant, b.kernel, b.architecture, b.traced
ORDER BY b.variant, b.kernel, b.architecture, b.traced
