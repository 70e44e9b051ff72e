// Both stages in one kernel of as many blocks as there are multiprocessors; each takes one job after another
// from an atomic counter until none is left.
//
// Launch shape: one persistent block of 256 threads per multiprocessor, with the artificial reservation of just
// over half of a multiprocessor's shared memory, so that no two share one (see stages.cuh). No block waits for
// another, so the kernel is right even if they were not all resident at once.
//
// The counter is zero when the kernel starts: the host resets it by a memset ahead of the kernel in every
// invocation, replays included, which is a node of the graph and a real cost. It counts down, and a job is
// minus what was found there: 0, 1, 2 … If nobody reset it (the checks fill it with ones), job 0 would never
// be claimed, and be missed.
//
// A block claims its next job when stage B of the one at hand begins, so that the counter's answer arrives
// while it computes. Stage B takes equally long in every job, so this early claim deals out the jobs as a
// late one would, but for that time.
//
// What it costs: the memset, and one atomic per job beside the work, instead of the start of a block.
//
// Memory: the counter publishes nothing, so the atomic needs no ordering. One thread claims and the block
// reads the claim from shared memory. The barrier after the claim lets all see it; those inside the stages
// stand between reading it and writing the next.
#include "stages.cuh"

extern "C" __global__ void __launch_bounds__(VALUES) jobs_queue(
    const unsigned* x, const unsigned* iterations, volatile unsigned* a, unsigned* y, unsigned second,
    unsigned* counter, unsigned jobs, TaskLog* log) {
    __shared__ unsigned claimed;
    unsigned found = 0;  // in the counter, by thread 0
    if (threadIdx.x == 0) found = atomicSub(counter, 1u);
    for (;;) {
        if (threadIdx.x == 0) claimed = 0u - found;
        __syncthreads();
        const unsigned job = claimed;
        if (job >= jobs) return;  // all threads alike
        const Interval first = stage_a(x, iterations, a, job);
        if (threadIdx.x == 0) found = atomicSub(counter, 1u);
        const Interval then = stage_b(a, y, second, job);
        record(log, first, STAGE_A, job);
        record(log, then, STAGE_B, job);
    }
}
