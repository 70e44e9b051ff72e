-- One row per case that nsys recorded: where the completion of a profiled invocation goes, medians over invocations.
--
-- case_id                  experiment:variant:submission:shape
-- variant                  name of the variant
-- submission               stream or graph
-- shape                    name of the problem size
-- invocations              invocations with timed device work
-- completion_ns            host completion by the driver's own clock, under nsys; NULL when it told none
-- api_ns                   inside launching calls before the device starts
-- queue_ns                 outside launching calls before the device starts
-- kernel_union_ns          at least one kernel runs
-- memory_ns                only copies or fills run
-- gap_ns                   the device idles between its first and its last work
-- gap_in_api_ns            of these gaps: the host is inside a launching call
-- gap_idle_ns              of these gaps: the host is outside of launching calls
-- return_ns                last device work to the return of synchronisation
-- completion_remainder_ns  of the completion: none of the above, so host code outside of CUDA calls
-- range_ns                 length of the invocation's range, which holds the completion
-- entry_ns                 range start to the first launching call
-- exit_ns                  return of synchronisation to the end of the range
-- remainder_ns             entry and exit together: of the range neither launch, device nor synchronisation
-- kernel_sum_ns            sum of the kernels' durations; more than the union when kernels overlap
-- api_total_ns             inside all launching calls, also those made while the device runs
-- launches                 launching calls, median
--
-- In each invocation api + queue + kernel_union + memory + gap + return + completion_remainder is exactly the completion, and
-- with entry and exit instead of completion_remainder exactly the range (launch_split_invocations). Medians are taken part by
-- part, so theirs need not add up. All under nsys.
SELECT
    c.case_id,
    c.variant,
    c.submission,
    c.shape,
    count(*) AS invocations,
    CAST(round(median(s.completion_ns)) AS BIGINT) AS completion_ns,
    CAST(round(median(s.api_ns)) AS BIGINT) AS api_ns,
    CAST(round(median(s.queue_ns)) AS BIGINT) AS queue_ns,
    CAST(round(median(s.kernel_union_ns)) AS BIGINT) AS kernel_union_ns,
    CAST(round(median(s.memory_ns)) AS BIGINT) AS memory_ns,
    CAST(round(median(s.gap_ns)) AS BIGINT) AS gap_ns,
    CAST(round(median(s.gap_in_api_ns)) AS BIGINT) AS gap_in_api_ns,
    CAST(round(median(s.gap_idle_ns)) AS BIGINT) AS gap_idle_ns,
    CAST(round(median(s.return_ns)) AS BIGINT) AS return_ns,
    CAST(round(median(s.completion_remainder_ns)) AS BIGINT) AS completion_remainder_ns,
    CAST(round(median(s.range_ns)) AS BIGINT) AS range_ns,
    CAST(round(median(s.entry_ns)) AS BIGINT) AS entry_ns,
    CAST(round(median(s.exit_ns)) AS BIGINT) AS exit_ns,
    CAST(round(median(s.remainder_ns)) AS BIGINT) AS remainder_ns,
    CAST(round(median(s.kernel_sum_ns)) AS BIGINT) AS kernel_sum_ns,
    CAST(round(median(s.api_total_ns)) AS BIGINT) AS api_total_ns,
    CAST(round(median(s.launches)) AS BIGINT) AS launches
FROM split_of_invocation AS s
JOIN variant_case AS c ON c.case_id = s.case_id
GROUP BY c.case_id, c.variant, c.submission, c.shape, c.case_order
ORDER BY c.case_order
