-- NVTX ranges. Ranges are numbered in nesting order (earlier start first, then later end), so of all ranges
-- that enclose a moment the innermost is the one with the largest range_id.
-- Event types: 59 push/pop, 60 start/end, 70 and 71 the same from a text file; 75 names a domain of its process.

CREATE TABLE nsys.domain AS
SELECT
    globalTid & -16777216 AS global_pid,
    domainId AS domain_id,
    any_value(coalesce(string.value, nvtx.text) ORDER BY nvtx.row) AS name
FROM nsys.nvtx AS nvtx
LEFT JOIN nsys.string ON string.id = nvtx.textId
WHERE eventType = 75
GROUP BY ALL;

CREATE TABLE nsys.span AS
SELECT
    CAST(
        row_number() OVER (ORDER BY nvtx."start", nvtx."end" DESC NULLS FIRST, nvtx.row) - 1 AS BIGINT
    ) AS range_id,
    thread.process,
    thread.thread,
    nvtx.domainId AS domain_id,
    -- Domain 0 is the default one and has no name.
    CASE WHEN nvtx.domainId <> 0 THEN coalesce(domain.name, '<domain ' || nvtx.domainId || '>') END AS domain,
    coalesce(
        nullif(coalesce(string.value, nvtx.text), ''),
        CASE WHEN nvtx.textId IS NULL THEN '<unnamed>' ELSE '<string ' || nvtx.textId || ' missing>' END
    ) AS name,
    coalesce(nvtx.int64Value, nvtx.uint64Value, nvtx.int32Value, nvtx.uint32Value) AS payload,
    nvtx.eventType IN (59, 70) AS push_pop,
    nvtx."start" AS start_ns,
    nvtx."end" AS end_ns
FROM nsys.nvtx AS nvtx
LEFT JOIN nsys.thread ON thread.global_tid = nvtx.globalTid
LEFT JOIN nsys.domain
    ON domain.global_pid = nvtx.globalTid & -16777216 AND domain.domain_id = nvtx.domainId
LEFT JOIN nsys.string ON string.id = nvtx.textId
WHERE nvtx.eventType IN (59, 60, 70, 71) AND nvtx."start" IS NOT NULL;

-- A join over an equality and two inequalities is quadratic in DuckDB; over two inequalities alone it is not.
-- So the thread is folded into the time: lane * width + (time - origin), where every time is below width.
CREATE TABLE nsys.scale AS
SELECT
    coalesce(min(first), 0) AS origin,
    coalesce(max(last) - min(first), 0) + 2 AS width
FROM (
    SELECT min("start") AS first, max(greatest("start", "end")) AS last FROM nsys.api
    UNION ALL SELECT min(start_ns), max(greatest(start_ns, end_ns)) FROM nsys.span
);

-- Push/pop nests per thread and domain; a range that was never closed lasts to the end.
CREATE TABLE nsys.nested AS
SELECT
    range_id,
    lane * width + (start_ns - origin) AS start_key,
    lane * width + coalesce(end_ns - origin, width - 1) AS end_key
FROM (
    SELECT *, dense_rank() OVER (ORDER BY thread, domain_id) AS lane FROM nsys.span WHERE push_pop
), nsys.scale;

CREATE TABLE nsys.parent AS
-- Every range encloses itself, and twins enclose each other: only an earlier number is outside. A third condition in
-- the join would make it quadratic, so this is said of its result.
SELECT
    inner_range.range_id,
    max(outer_range.range_id) FILTER (WHERE outer_range.range_id < inner_range.range_id) AS parent_range_id
FROM nsys.nested AS inner_range
JOIN nsys.nested AS outer_range
    ON outer_range.start_key <= inner_range.start_key AND outer_range.end_key >= inner_range.end_key
GROUP BY inner_range.range_id;

INSERT INTO "range" BY NAME
SELECT
    getvariable('pass_name') AS pass,
    range_id,
    process,
    thread,
    domain,
    name,
    payload,
    CASE WHEN push_pop THEN 'push_pop' ELSE 'start_end' END AS style,
    start_ns,
    end_ns,
    parent_range_id
FROM nsys.span
LEFT JOIN nsys.parent USING (range_id)
ORDER BY range_id;
