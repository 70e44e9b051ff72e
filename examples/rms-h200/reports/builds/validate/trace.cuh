// The task log of the pass `trace`: what each block did, from when to when, by the device's global timer.
//
// Sources are compiled twice: as they are measured, where everything here is empty, and with NSIGHT_SUITE_TRACE,
// where each task appends one record. The log is a plain list, so a task that runs twice leaves two records and
// one that never runs leaves none; nothing about a task's place decides whether its record survives.
//
// One thread of the block (or warp) that runs a task takes the clock after what the task waited for, and again when
// its results are written but not yet published: then a consumer cannot appear to start before its producer ended.
#pragma once

constexpr unsigned NO_TILE = 0xffffffffu;

struct TaskRecord {
    unsigned long long start_ns, end_ns;
    unsigned stage, job, tile, worker, multiprocessor, reserved;
};

// The head of the log; its records follow.
struct TaskLog {
    unsigned long long records, capacity;
};

__device__ inline unsigned long long task_clock() {
#ifdef NSIGHT_SUITE_TRACE
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
#else
    return 0;
#endif
}

__device__ inline void task_record(
    TaskLog* log, unsigned long long begun, unsigned long long ended, unsigned stage, unsigned job, unsigned tile,
    unsigned worker) {
#ifdef NSIGHT_SUITE_TRACE
    unsigned multiprocessor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    const unsigned long long place = atomicAdd(&log->records, 1ull);
    if (place < log->capacity) {
        reinterpret_cast<TaskRecord*>(log + 1)[place] = {begun, ended, stage, job, tile, worker, multiprocessor, 0};
    }
#endif
}

__device__ inline unsigned long long task_begin() { return task_clock(); }

__device__ inline void task_end(
    TaskLog* log, unsigned long long begun, unsigned stage, unsigned job, unsigned tile, unsigned worker) {
    task_record(log, begun, task_clock(), stage, job, tile, worker);
}
