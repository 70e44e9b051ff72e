// The two stages of a job, by one block of 256 threads, and what all three variants do alike.
//
// A job owns 256 values of 32 bits, one per thread. All arithmetic is modulo 2^32:
//
//     A   v = 1664525 v + 1013904223, as often as `iterations[job]` says      reads x      writes a
//     B   v = 22695477 v + 1, `second` times                                  reads a      writes y
//
// Stage B of a job needs stage A of that job and of no other. A's result is stored to a volatile global array
// and loaded again, in every variant, and a barrier of the block (or the end of a kernel) stands between: no
// variant may keep it in a register, so that they differ in how jobs are scheduled and in nothing else.
//
// Time: the chain of multiply-adds, each of which waits for the one before; eight warps on four schedulers
// hide little of that. A job's 1 KiB per array comes from the L2 cache. Bytes are no limit here, and are not
// the point.
//
// The reservation is artificial. Every block is launched with just over half of a multiprocessor's shared
// memory, which no kernel touches: then a multiprocessor holds one block at a time, as if a job needed all of
// it, and how the jobs are dealt out to the multiprocessors shows in the time.
#pragma once
#include "../trace.cuh"

constexpr unsigned VALUES = 256;

// Numbers of the stages, in the order in which the driver lists them.
constexpr unsigned STAGE_A = 0;
constexpr unsigned STAGE_B = 1;

// When a stage ran, in the pass `trace`; zeros otherwise.
struct Interval {
    unsigned long long begun, ended;
};

// The assembly keeps the work what it says it is: of several iterations of `v = m * v + c` with constants, the
// compiler would make one multiply-add with other constants.
__device__ inline unsigned iterate(unsigned v, unsigned multiplier, unsigned increment, unsigned times) {
#pragma unroll 16
    for (unsigned i = 0; i < times; ++i) {
        asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(v) : "r"(multiplier), "r"(increment));
    }
    return v;
}

// Both stages end with a barrier: when the clock is read, every value of the job is stored.
__device__ inline Interval stage_a(
    const unsigned* x, const unsigned* iterations, volatile unsigned* a, unsigned job) {
    const unsigned at = job * VALUES + threadIdx.x;
    const unsigned long long begun = task_begin();
    a[at] = iterate(x[at], 1664525u, 1013904223u, iterations[job]);
    __syncthreads();
    return {begun, task_clock()};
}

__device__ inline Interval stage_b(const volatile unsigned* a, unsigned* y, unsigned second, unsigned job) {
    const unsigned at = job * VALUES + threadIdx.x;
    const unsigned long long begun = task_begin();
    y[at] = iterate(a[at], 22695477u, 1u, second);
    __syncthreads();
    return {begun, task_clock()};
}

// Called when both stages have ended where one kernel runs both, so that writing a record delays no stage.
__device__ inline void record(TaskLog* log, Interval ran, unsigned stage, unsigned job) {
    if (threadIdx.x == 0) task_record(log, ran.begun, ran.ended, stage, job, NO_TILE, blockIdx.x);
}
