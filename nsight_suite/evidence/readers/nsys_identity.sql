-- Who is who in an nsys export: processes, threads, and what each API call is for.
-- globalTid is machine << 48 | process << 24 | thread; a process's globalPid is the same with the thread cleared.
-- Correlation ids are unique inside one process only, so everything joins by (process, correlation id).

CREATE TABLE nsys.process AS
SELECT global_pid, CAST(row_number() OVER (ORDER BY global_pid) - 1 AS BIGINT) AS process
FROM (
    SELECT globalPid AS global_pid FROM nsys.kernel
    UNION SELECT globalPid FROM nsys.memcpy
    UNION SELECT globalPid FROM nsys.memset
    UNION SELECT globalTid & -16777216 FROM nsys.api
    UNION SELECT globalTid & -16777216 FROM nsys.nvtx
)
WHERE global_pid IS NOT NULL;

CREATE TABLE nsys.thread AS
SELECT
    global_tid,
    CAST(row_number() OVER (ORDER BY global_tid) - 1 AS BIGINT) AS thread,
    process.process
FROM (SELECT globalTid AS global_tid FROM nsys.api UNION SELECT globalTid FROM nsys.nvtx) AS seen
JOIN nsys.process ON process.global_pid = seen.global_tid & -16777216
WHERE global_tid IS NOT NULL;

-- API names carry the version of their prototype (_v7000) and of the default stream (_ptsz, _ptds).
CREATE TABLE nsys.api_name AS
SELECT
    id,
    name,
    CASE
        WHEN regexp_full_match(name, '(cuda|cu)Launch(Cooperative)?((Kernel|Grid).*)?') THEN 'kernel'
        WHEN regexp_full_match(name, '(cuda|cu)GraphLaunch') THEN 'graph'
        WHEN regexp_full_match(name, '(cuda|cu)Memcpy.*') THEN 'memcpy'
        WHEN regexp_full_match(name, '(cuda|cu)Memset.*') THEN 'memset'
        WHEN regexp_full_match(name, '(cuda|cu)(Device|Ctx|Thread|Stream|Event)Synchronize') THEN 'sync'
        WHEN regexp_full_match(name, '(cuda|cu)StreamBeginCapture.*') THEN 'begin_capture'
        WHEN regexp_full_match(name, '(cuda|cu)StreamEndCapture') THEN 'end_capture'
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
