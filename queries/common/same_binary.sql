-- One row per source and kernel that the suite compiled and launched: which variants launch it, and as what machine code.
--
-- source         name of the source file
-- kernel         name of the kernel
-- variants       variants that launch it, joined by ', '
-- cases          cases that launch it
-- cubins         distinct machine codes of it among all passes but trace
-- traced_cubins  distinct machine codes in the pass trace, whose builds are instrumented
-- same_binary    whether several variants launch it and all of them as the same machine code; NULL when one alone does
-- cubin_sha256   SHA-256 of the machine code; NULL when there is more than one
--
-- Variants of the same machine code differ in their arguments and launch shapes alone, so that one controls the other.
WITH launched AS (
    SELECT p.pass, p.case_id, c.variant, p.source, p.name, p.cubin_sha256
    FROM planned_launch AS p
    JOIN variant_case AS c ON c.case_id = p.case_id
    WHERE p.kind = 'kernel' AND p.source IS NOT NULL
), counted AS (
    SELECT
        source,
        name AS kernel,
        string_agg(DISTINCT variant, ', ' ORDER BY variant) AS variants,
        count(DISTINCT variant) AS launchers,
        count(DISTINCT case_id) AS cases,
        count(DISTINCT cubin_sha256) FILTER (pass <> 'trace') AS cubins,
        count(DISTINCT cubin_sha256) FILTER (pass = 'trace') AS traced_cubins,
        min(cubin_sha256) FILTER (pass <> 'trace') AS cubin_sha256
    FROM launched
    GROUP BY source, name
)
SELECT
    source,
    kernel,
    variants,
    cases,
    cubins,
    traced_cubins,
    CASE WHEN launchers > 1 THEN cubins = 1 AND traced_cubins <= 1 END AS same_binary,
    CASE WHEN cubins = 1 THEN cubin_sha256 END AS cubin_sha256
FROM counted
ORDER BY source, kernel NULLS FIRST
