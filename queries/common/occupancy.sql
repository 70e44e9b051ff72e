-- One row per kernel build and launch shape that the driver asked the occupancy API about.
--
-- kernel                name of the kernel
-- block_threads         threads per block
-- dynamic_shared_bytes  dynamic shared memory per block in bytes
-- active_blocks         blocks that fit on one multiprocessor at a time
-- multiprocessors       multiprocessors of the device
-- resident_blocks       blocks that fit on the whole device at a time
-- cubin_sha256          SHA-256 of the machine code
-- passes                passes that asked, joined by ', '
--
-- A capacity limit, not observed residency and not utilisation. Instrumented builds (pass trace) are machine code of
-- their own.
SELECT
    kernel,
    block_threads,
    dynamic_shared_bytes,
    active_blocks,
    multiprocessors,
    active_blocks * multiprocessors AS resident_blocks,
    cubin_sha256,
    string_agg(DISTINCT pass, ', ' ORDER BY pass) AS passes
FROM occupancy
GROUP BY kernel, block_threads, dynamic_shared_bytes, active_blocks, multiprocessors, cubin_sha256
ORDER BY
    kernel NULLS FIRST, block_threads NULLS FIRST, dynamic_shared_bytes NULLS FIRST, active_blocks NULLS FIRST,
    multiprocessors NULLS FIRST, cubin_sha256 NULLS FIRST, passes
