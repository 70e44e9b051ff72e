-- One row per kernel and launch shape: whether the artificial reservation holds that every comparison of `jobs` is made
-- under.
--
-- kernel                name of the kernel
-- block_threads         threads per block
-- reserved_bytes        dynamic shared memory per block in bytes, which the kernel does not touch
-- fewest_active_blocks  blocks that fit on a multiprocessor at a time by the occupancy API, fewest among the passes
-- most_active_blocks    most among the passes
-- passes                passes that asked
-- alone                 whether every pass was told that exactly one block fits
--
-- The reservation is artificial: it stands for a job that needs a whole multiprocessor. Active blocks are a capacity
-- limit, not observed residency; where jobs ran in fact, and when, tells the pass `trace`.
SELECT
    kernel,
    block_threads,
    dynamic_shared_bytes AS reserved_bytes,
    min(active_blocks) AS fewest_active_blocks,
    max(active_blocks) AS most_active_blocks,
    count(DISTINCT pass) AS passes,
    bool_and(active_blocks = 1) AS alone
FROM occupancy
GROUP BY kernel, block_threads, dynamic_shared_bytes
ORDER BY kernel, block_threads, dynamic_shared_bytes
