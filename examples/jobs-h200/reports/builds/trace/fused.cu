// Both stages in one kernel, one block per job: stage B of a job begins when stage A of the same job has ended,
// whatever other jobs do.
//
// Launch shape: one block of 256 threads per job, with the artificial reservation of just over half of a
// multiprocessor's shared memory, so one block to a multiprocessor (see stages.cuh). The hardware gives the
// next block to the first multiprocessor that is free: a queue without a queue's code.
//
// What it costs: one launch, and one wait at the end. Each job pays for the start of a block.
#include "stages.cuh"

extern "C" __global__ void __launch_bounds__(VALUES) jobs_fused(
    const unsigned* x, const unsigned* iterations, volatile unsigned* a, unsigned* y, unsigned second,
    TaskLog* log) {
    const Interval first = stage_a(x, iterations, a, blockIdx.x);
    const Interval then = stage_b(a, y, second, blockIdx.x);
    record(log, first, STAGE_A, blockIdx.x);
    record(log, then, STAGE_B, blockIdx.x);
}
