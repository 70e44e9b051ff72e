-- The ranges that start in one window of time, in the order in which each comes before those that it encloses.
-- The variables: window_start, window_end (excluded), last_event: the last time of all ranges. Ranges without an end
-- last until 9223372036854775807; -9223372036854775808 comes before every time.
SELECT
    nvtx.row,
    thread.process,
    thread.thread,
    CAST(nvtx.eventType IN (59, 70) AS BIGINT) AS style,
    CASE WHEN nvtx."end" IS NULL THEN 2 WHEN nvtx.endGlobalTid <> nvtx.globalTid THEN 1 ELSE 0 END AS closed,
    coalesce(domain.label, -1) AS domain,
    CASE
        WHEN string_label.told THEN string_label.label
        ELSE coalesce(
            text_label.label, string_label.label, (SELECT label FROM nsys.label WHERE name = '<unnamed>')
        )
    END AS label,
    coalesce(nvtx.int64Value, nvtx.uint64Value, nvtx.int32Value, nvtx.uint32Value, 0) AS payload,
    CAST(
        coalesce(nvtx.int64Value, nvtx.uint64Value, nvtx.int32Value, nvtx.uint32Value) IS NOT NULL AS BIGINT
    ) AS paid,
    nvtx."start",
    greatest(coalesce(nvtx."end", 9223372036854775807), nvtx."start") AS "end",
    -- As nsys itself counts: until the last NVTX event when a range was never closed, nothing when another thread
    -- closed it.
    CASE
        WHEN nvtx."end" IS NULL THEN getvariable('last_event')
        WHEN nvtx.endGlobalTid <> nvtx.globalTid THEN -9223372036854775808
        ELSE greatest(nvtx."end", nvtx."start")
    END AS counted_to
FROM nsys.nvtx AS nvtx
JOIN nsys.thread ON thread.global_tid = nvtx.globalTid
LEFT JOIN nsys.domain ON domain.global_pid = thread.global_pid AND domain.domain_id = nvtx.domainId
LEFT JOIN nsys.string_label ON string_label.id = nvtx.textId
LEFT JOIN nsys.label AS text_label ON text_label.name = CASE WHEN nvtx.text <> '' THEN nvtx.text END
WHERE nvtx.eventType IN (59, 60, 70, 71)
    AND nvtx."start" >= getvariable('window_start') AND nvtx."start" < getvariable('window_end')
ORDER BY nvtx."start", "end" DESC, nvtx.row
