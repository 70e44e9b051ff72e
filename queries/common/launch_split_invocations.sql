-- One row per invocation that nsys recorded: its completion, and its range, cut into parts that sum exactly.
--
-- case_id                  experiment:variant:submission:shape
-- invocation               ordinal of the invocation, from 0
-- completion_ns            host completion by the driver's own clock; NULL when it told none for this invocation
-- api_ns                   inside launching calls before the device starts
-- queue_ns                 outside launching calls before the device starts
-- kernel_union_ns          at least one kernel runs
-- memory_ns                only copies or fills run
-- gap_ns                   the device idles between its first and its last work
-- gap_in_api_ns            of these gaps: the host is inside a launching call
-- gap_idle_ns              of these gaps: the host is outside of launching calls
-- return_ns                last device work to the return of synchronisation
-- completion_remainder_ns  of the completion: none of the above, so host code outside of CUDA calls
-- range_ns                 length of the range, which holds the completion
-- entry_ns                 range start to the first launching call
-- exit_ns                  return of synchronisation to the end of the range; negative when the range closed earlier
-- remainder_ns             entry and exit together: of the range neither launch, device nor synchronisation
-- device_union_ns          at least one kernel, copy or fill runs
-- kernel_sum_ns            sum of the kernels' durations
-- api_total_ns             inside all launching calls
-- launches                 launching calls
-- kernels                  kernels with times
--
-- completion = api + queue + kernel_union + memory + gap_in_api + gap_idle + return + completion_remainder;
-- range = entry + api + queue + kernel_union + memory + gap + return + exit.
SELECT
    s.case_id,
    s.invocation,
    s.completion_ns,
    s.api_ns,
    s.queue_ns,
    s.kernel_union_ns,
    s.memory_ns,
    s.gap_ns,
    s.gap_in_api_ns,
    s.gap_idle_ns,
    s.return_ns,
    s.completion_remainder_ns,
    s.range_ns,
    s.entry_ns,
    s.exit_ns,
    s.remainder_ns,
    s.device_union_ns,
    s.kernel_sum_ns,
    s.api_total_ns,
    s.launches,
    s.kernels
FROM split_of_invocation AS s
JOIN variant_case AS c ON c.case_id = s.case_id
ORDER BY c.case_order, s.invocation, s.range_id
