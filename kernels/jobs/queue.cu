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
// What it costs: the memset, and per job one atomic that the whole block waits for, instead of the start of a
// block.
//
// Memory: the counter publishes nothing, so the atomic needs no ordering. One thread claims and the block
// reads the claim from shared memory. The barrier after the claim lets all see it; those inside the stages
// stand between reading it and writing the next.
#include "stages.cuh"

extern "C" __global__ void __launch_bounds__(VALUES) jobs_queue(
    const unsigned* x, const unsigned* iterations, volatile unsigned* a, unsigned* y, unsigned second,
    unsigned* counter, unsigned jobs, TaskLog* log) {
    __shared__ unsigned claimed;
    for (;;) {
        if (threadIdx.x == 0) claimed = 0u - atomicSub(counter, 1u);
        __syncthreads();
        const unsigned job = claimed;
        if (job >= jobs) return;  // all threads alike
        both_stages(x, iterations, a, y, second, job, log);
    }
}
