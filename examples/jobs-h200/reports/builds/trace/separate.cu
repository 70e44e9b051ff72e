// One kernel per stage: every stage A ends before the first stage B begins.
//
//     jobs_stage_a   a = A(x)      jobs_stage_b   y = B(a)
//
// Launch shape: one block of 256 threads per job in each kernel, with the artificial reservation of just over
// half of a multiprocessor's shared memory, so one block to a multiprocessor (see stages.cuh).
//
// What it costs: the grid is dealt out twice, and each time the multiprocessors that have nothing left wait
// for the slowest job. With jobs of unequal length in A that wait is long.
#include "stages.cuh"

extern "C" __global__ void __launch_bounds__(VALUES)
    jobs_stage_a(const unsigned* x, const unsigned* iterations, volatile unsigned* a, TaskLog* log) {
    record(log, stage_a(x, iterations, a, blockIdx.x), STAGE_A, blockIdx.x);
}

extern "C" __global__ void __launch_bounds__(VALUES)
    jobs_stage_b(const volatile unsigned* a, unsigned* y, unsigned second, TaskLog* log) {
    record(log, stage_b(a, y, second, blockIdx.x), STAGE_B, blockIdx.x);
}
