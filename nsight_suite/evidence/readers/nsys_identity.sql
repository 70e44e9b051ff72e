-- Who is who in an nsys export: processes, threads, names, and what each API call is for.
-- globalTid is machine << 48 | process << 24 | thread; a process's globalPid is the same with the thread cleared.
-- Correlation ids are unique inside one process only, so everything joins by (process, correlation id).

CREATE TABLE nsys.process AS
SELECT global_pid, CAST(row_number() OVER (ORDER BY global_pid) - 1 AS BIGINT) AS process
FROM (
    SELECT globalPid AS global_pid FROM nsys.record
    UNION SELECT globalPid FROM nsys.graph_trace
    UNION SELECT globalTid & -16777216 FROM nsys.api
    UNION SELECT globalTid & -16777216 FROM nsys.nvtx
    UNION SELECT globalPid FROM nsys.listed
)
WHERE global_pid IS NOT NULL;

CREATE TABLE nsys.thread AS
SELECT
    global_tid,
    CAST(row_number() OVER (ORDER BY global_tid) - 1 AS BIGINT) AS thread,
    process.process,
    process.global_pid,
    calls
FROM (
    SELECT globalTid AS global_tid, sum(calls) AS calls
    FROM (
        SELECT globalTid, count(*) AS calls FROM nsys.api GROUP BY ALL
        UNION ALL SELECT DISTINCT globalTid, 0 FROM nsys.nvtx
    )
    GROUP BY ALL
) AS seen
JOIN nsys.process ON process.global_pid = seen.global_tid & -16777216
WHERE global_tid IS NOT NULL;

-- API names carry the version of their prototype (_v7000) and of the default stream (_ptsz, _ptds).
-- Kinds: 0 kernel, 1 graph, 2 memcpy, 3 memset, 4 wait, 5 begin of a stream capture, 6 end of one.
CREATE TABLE nsys.api_name AS
SELECT
    id,
    name,
    CASE
        WHEN regexp_full_match(name, '(cuda|cu)Launch(Cooperative)?((Kernel|Grid).*)?') THEN 0
        WHEN regexp_full_match(name, '(cuda|cu)GraphLaunch') THEN 1
        WHEN regexp_full_match(name, '(cuda|cu)Memcpy.*') THEN 2
        WHEN regexp_full_match(name, '(cuda|cu)Memset.*') THEN 3
        WHEN regexp_full_match(name, '(cuda|cu)(Device|Ctx|Thread|Stream|Event)Synchronize') THEN 4
        WHEN regexp_full_match(name, '(cuda|cu)StreamBeginCapture.*') THEN 5
        WHEN regexp_full_match(name, '(cuda|cu)StreamEndCapture') THEN 6
    END AS kind
FROM (
    SELECT
        seen.id,
        coalesce(
            regexp_replace(string.value, '(_ptsz|_ptds)?(_v[0-9]+)?(_ptsz|_ptds)?$', ''),
            '<string ' || seen.id || ' missing>'
        ) AS name
    FROM (SELECT DISTINCT nameId AS id FROM nsys.api) AS seen
    LEFT JOIN nsys.string USING (id)
);

-- NVTX names are a registered string or a text; the string is preferred, as in nsys' own reports. Event types:
-- 59 push/pop, 60 start/end, 70 and 71 the same from a text file, 34 a mark, 75 names a domain of its process.
CREATE TABLE nsys.domain_name AS
SELECT
    globalTid & -16777216 AS global_pid,
    domainId AS domain_id,
    any_value(coalesce(nullif(string.value, ''), nullif(nvtx.text, '')) ORDER BY nvtx.row) AS name
FROM nsys.nvtx AS nvtx
LEFT JOIN nsys.string ON string.id = nvtx.textId
WHERE eventType = 75
GROUP BY ALL;

CREATE TABLE nsys.label AS
SELECT CAST(row_number() OVER (ORDER BY name) - 1 AS BIGINT) AS label, name
FROM (
    SELECT '<unnamed>' AS name
    UNION SELECT nullif(value, '') FROM nsys.string
    UNION SELECT nullif(text, '') FROM nsys.nvtx WHERE eventType IN (59, 60, 70, 71)
    UNION SELECT '<string ' || textId || ' missing>' FROM (
        SELECT DISTINCT textId FROM nsys.nvtx WHERE textId IS NOT NULL AND eventType IN (59, 60, 70, 71)
    )
    UNION SELECT name FROM nsys.domain_name
    UNION
    -- Domain 0 is the default one and has no name.
    SELECT '<domain ' || domainId || '>' FROM (SELECT DISTINCT domainId FROM nsys.nvtx WHERE domainId <> 0)
)
WHERE name IS NOT NULL;

CREATE TABLE nsys.string_label AS
SELECT
    used.id,
    label.label AS label,
    string.value <> '' AS told
FROM (
    SELECT DISTINCT textId AS id FROM nsys.nvtx WHERE textId IS NOT NULL AND eventType IN (59, 60, 70, 71)
) AS used
LEFT JOIN nsys.string USING (id)
JOIN nsys.label ON label.name
    = CASE
        WHEN string.value IS NULL THEN '<string ' || used.id || ' missing>'
        WHEN string.value = '' THEN '<unnamed>'
        ELSE string.value
    END;

CREATE TABLE nsys.domain AS
SELECT used.global_pid, used.domain_id, label.label
FROM (
    SELECT DISTINCT globalTid & -16777216 AS global_pid, domainId AS domain_id FROM nsys.nvtx WHERE domainId <> 0
) AS used
LEFT JOIN nsys.domain_name USING (global_pid, domain_id)
JOIN nsys.label ON label.name = coalesce(domain_name.name, '<domain ' || used.domain_id || '>');
