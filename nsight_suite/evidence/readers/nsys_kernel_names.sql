-- The names of kernels, by the numbers of their full and their short name.
CREATE OR REPLACE TABLE nsys.named AS
SELECT
    used.demangledName,
    used.shortName,
    coalesce(
        full_name.value, short_name.value, '<string ' || used.demangledName || ' missing>', '<unnamed>'
    ) AS name
FROM (SELECT DISTINCT demangledName, shortName FROM nsys.kernel_name) AS used
LEFT JOIN nsys.string AS full_name ON full_name.id = used.demangledName
LEFT JOIN nsys.string AS short_name ON short_name.id = used.shortName;
