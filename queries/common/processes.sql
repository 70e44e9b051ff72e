-- One row per process of an nsys report: what was recorded of it, and whether the device did anything for it.
--
-- pass               name of the report
-- process            process, numbered from 0 in the report
-- pid                process id on its machine; NULL when unknown
-- listed             whether the report lists it among its processes; NULL when it has no list
-- api_calls          CUDA API calls
-- launches           launches among them
-- ranges             NVTX ranges
-- kernels            kernels
-- memory_operations  copies and fills on a device
-- on_device          whether it has any record of a device; NULL when the report cannot tell
--
-- A listed process without device records used no GPU, or was not traced: children made by fork often are not.
SELECT
    pass,
    process,
    pid,
    listed,
    api_calls,
    launches,
    ranges,
    kernels,
    memory_operations,
    CASE
        WHEN kernels > 0 OR memory_operations > 0 THEN true
        WHEN kernels = 0 AND memory_operations = 0 THEN false
    END AS on_device
FROM process
ORDER BY pass, process, pid
