-- One row per range instance: its time on the host, and the device work that was launched inside it.
--
-- pass                name of the report
-- range_id            identity of the instance inside its report
-- process             process, numbered from 0 in the report
-- thread              thread, numbered from 0 in the report
-- domain              NVTX domain; NULL for the default one
-- range               name of the range
-- style               push_pop or start_end
-- payload             integer payload; NULL when it has none
-- path                names of the ranges around it and its own, from the outside in
-- depth               push/pop ranges around it on its thread
-- start_ns            start on the host in ns of the capture's clock
-- end_ns              end on the host in ns; NULL when it was never closed
-- duration_ns         time on the host in ns; NULL when it was never closed
-- launches            launches made inside it that have device records
-- kernels             kernels that ran for launches inside it; NULL when graphs were replayed there and not traced
-- operations          kernels, copies and fills that ran for them; NULL likewise: it is unknown, not nothing
-- device_ns           durations of these operations together in ns; NULL when there is none, and likewise
-- projected_start_ns  start of the first of them on the device in ns; NULL likewise
-- projected_end_ns    end of the last of them on the device in ns; NULL likewise
-- projected_ns        from the first start to the last end in ns; NULL likewise
--
-- Inclusive: an operation belongs to every range that encloses its launch, on the launching thread, from start to
-- return; so does the work of nested ranges. This is the projection of nsys' own nvtx_gpu_proj_trace, and follows its
-- rules: a range that was never closed counts until the last NVTX event, one that another thread closed counts nothing.
-- kernel_by_path and kernel_by_range are about single kernels, which know no such end: there a kernel may belong to a
-- range that does not count it here.
-- A name that holds ' / ' stands in a path with ' \/ ' in its place.
SELECT
    r.pass,
    r.range_id,
    r.process,
    r.thread,
    r.domain,
    r.name AS "range",
    r.style,
    r.payload,
    p.path,
    r.depth,
    r.start_ns,
    r.end_ns,
    r.end_ns - r.start_ns AS duration_ns,
    r.launches,
    r.kernels,
    r.operations,
    r.device_ns,
    r.projected_start_ns,
    r.projected_end_ns,
    r.projected_end_ns - r.projected_start_ns AS projected_ns
FROM "range" AS r
LEFT JOIN path AS p ON p.pass = r.pass AND p.path_id = r.path_id
ORDER BY r.pass, r.start_ns, r.range_id
