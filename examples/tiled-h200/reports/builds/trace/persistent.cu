// Softmax over tiles by workers that stay: one kernel, one function, one number of workers, and two ways to
// hand out the tasks. An argument chooses the way, so the two differ in nothing but scheduling.
//
// phased  Each worker goes through its share of A, then of B, then of C; a barrier of the grid stands between.
// queue   One central queue. A worker takes a ready B or C where there is one, else the next tile for A, else
//         it asks again until all is done. Before it runs `queue_init`, which is part of every invocation.
//
// Launch shape: blocks of 128 threads, six per multiprocessor, launched cooperatively: all are resident, so a
// block may wait for another. Bytes are those of the three separate kernels, and the queue's own words.
//
// Why nobody waits forever in the queue:
//   - A task is ready when all that it needs is done: the worker that ends the last A of a row (the row's count
//     of pending tiles goes to zero) pushes its B, and the worker that ends B pushes the row's C tasks.
//   - A claimed task runs without waiting. A worker waits inside a claim in one place only: for the entry at a
//     place that another worker has reserved at the tail and is about to fill, with nothing in between.
//   - A worker that finds nothing asks again, and does not bind itself to any task. While tasks remain, one is
//     ready, or a tile is left for A, or a claimed task is running whose end makes one ready.
//   - Each of tiles + rows + tiles tasks counts once when it has ended; a worker leaves when all are counted.
//
// Why everybody sees what he needs: each A ends with an acquire-release count on its row, so the last one has
// acquired all summaries of the row; it releases the entry of B, whose worker acquires it; that one releases
// the entries of C.
//
// Expect the phased way to lose a little to separate kernels, whose blocks the hardware hands out. Expect the
// queue to lose far more: every task costs several atomics on a few words, one after another for the whole
// device. It is a small runtime, here to be measured, and no model of what a good one can do.
#include "ordering.cuh"
#include "tasks.cuh"

constexpr int PHASED = 0;

// The queue's counters, each on 128 bytes of its own.
constexpr int APART = 32;
constexpr int NEXT_TILE = 0 * APART, HEAD = 1 * APART, TAIL = 2 * APART, ENDED = 3 * APART;
constexpr int COUNTERS = 4 * APART;

// What an entry of the queue and a claim say: nothing yet; B of a row; C of a tile; A of a tile; that all has
// ended. In that order, each from its own first number on.
constexpr unsigned NOTHING = 0, FIRST_B = 1;

struct Problem {
    const float* x;
    float *y, *tile_max, *tile_sum, *row_max, *row_sum;
    const int *row_tile, *tile_row;
    int rows, tiles;
    TaskLog* log;
};

struct Queue {
    unsigned *counters, *entries, *pending;
    int rows, tiles;

    __device__ unsigned first_c() const { return FIRST_B + rows; }
    __device__ unsigned first_a() const { return first_c() + tiles; }
    __device__ unsigned finished() const { return first_a() + tiles; }
    __device__ unsigned tasks() const { return rows + 2 * tiles; }
};

extern "C" __global__ void queue_init(
    unsigned* counters, unsigned* entries, unsigned* pending, const int* row_tile, int rows, int tiles) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNTERS) counters[i] = 0;
    if (i < rows + tiles) entries[i] = NOTHING;
    if (i < rows) pending[i] = row_tile[i + 1] - row_tile[i];
}

__device__ unsigned claim_ready(const Queue& queue) {
    unsigned* const head = queue.counters + HEAD;
    unsigned place = load_relaxed(head);
    while (place < load_relaxed(queue.counters + TAIL)) {
        const unsigned seen = compare_and_swap(head, place, place + 1);
        if (seen == place) {
            unsigned task;
            do task = load_acquire(queue.entries + place);
            while (task == NOTHING);
            return task;
        }
        place = seen;
    }
    return NOTHING;
}

__device__ unsigned claim(const Queue& queue) {
    for (;;) {
        const unsigned ready = claim_ready(queue);
        if (ready != NOTHING) return ready;
        unsigned* const next = queue.counters + NEXT_TILE;
        if (load_relaxed(next) < queue.tiles) {
            const unsigned tile = fetch_add_relaxed(next, 1);
            if (tile < queue.tiles) return queue.first_a() + tile;
        }
        if (load_acquire(queue.counters + ENDED) == queue.tasks()) return queue.finished();
        __nanosleep(64);
    }
}

// By one whole warp: puts `count` tasks, from `task` on, at the tail.
__device__ void push(const Queue& queue, unsigned task, int count) {
    const int lane = threadIdx.x % WARP;
    unsigned place = 0;
    if (lane == 0) place = fetch_add_relaxed(queue.counters + TAIL, count);
    place = __shfl_sync(ALL_LANES, place, 0);
    __syncwarp();  // what lane 0 has seen and done comes before the release of every lane
    for (int i = lane; i < count; i += WARP) store_release(queue.entries + place + i, task + i);
}

__device__ void run_queue(const Problem& on, const Queue& queue) {
    __shared__ unsigned claimed;
    float held[1][HELD];
    for (;;) {
        if (threadIdx.x == 0) claimed = claim(queue);
        __syncthreads();
        const unsigned task = claimed;
        if (task == queue.finished()) return;
        const unsigned long long begun = task_begin();
        const bool is_b = task < queue.first_c(), is_a = task >= queue.first_a();
        const int tile = is_a ? task - queue.first_a() : task - queue.first_c();  // of A and C
        const int row = is_b ? task - FIRST_B : on.tile_row[tile];
        const int first = on.row_tile[row], last = on.row_tile[row + 1];
        if (is_b) {
            if (threadIdx.x < WARP) {
                combine_row(on.tile_max, on.tile_sum, first, last, on.row_max, on.row_sum, row);
            }
        } else {
            load_tile(held[0], on.x, tile);
            if (is_a) {
                summarise_tile(held, on.tile_max, on.tile_sum, tile);
            } else {
                normalise_tile(held[0], scale_of(on.row_max, on.row_sum, row), on.y, tile);
            }
        }
        __syncthreads();  // the task has ended, and everybody has read what was claimed
        if (threadIdx.x >= WARP) continue;
        const unsigned long long ended = task_clock();
        if (is_b) {
            push(queue, queue.first_c() + first, last - first);
        } else if (is_a) {
            unsigned pending = 0;
            if (threadIdx.x == 0) pending = fetch_add(queue.pending + row, ~0u);  // one less
            if (__shfl_sync(ALL_LANES, pending, 0) == 1) push(queue, FIRST_B + row, 1);
        }
        if (threadIdx.x == 0) {
            add_release(queue.counters + ENDED, 1);
            const unsigned stage = is_a ? STAGE_A : is_b ? STAGE_B : STAGE_C;
            task_record(on.log, begun, ended, stage, row, is_b ? NO_TILE : tile - first, blockIdx.x);
        }
    }
}

__device__ void run_phases(const Problem& on, unsigned* generation) {
    float held[1][HELD];
    for (int tile = blockIdx.x; tile < on.tiles; tile += gridDim.x) {
        const unsigned long long begun = task_begin();
        load_tile(held[0], on.x, tile);
        summarise_tile(held, on.tile_max, on.tile_sum, tile);
        if (threadIdx.x == 0) {
            const int row = on.tile_row[tile];
            task_end(on.log, begun, STAGE_A, row, tile - on.row_tile[row], blockIdx.x);
        }
    }
    grid_barrier(generation);
    // Rows go to the first warp of every block before any gets a second one.
    for (int row = threadIdx.x / WARP * gridDim.x + blockIdx.x; row < on.rows; row += gridDim.x * WARPS) {
        const unsigned long long begun = task_begin();
        const int first = on.row_tile[row], last = on.row_tile[row + 1];
        combine_row(on.tile_max, on.tile_sum, first, last, on.row_max, on.row_sum, row);
        if (threadIdx.x % WARP == 0) task_end(on.log, begun, STAGE_B, row, NO_TILE, blockIdx.x);
    }
    grid_barrier(generation);
    for (int tile = blockIdx.x; tile < on.tiles; tile += gridDim.x) {
        const unsigned long long begun = task_begin();
        load_tile(held[0], on.x, tile);
        const int row = on.tile_row[tile];
        normalise_tile(held[0], scale_of(on.row_max, on.row_sum, row), on.y, tile);
        end_together();
        if (threadIdx.x == 0) task_end(on.log, begun, STAGE_C, row, tile - on.row_tile[row], blockIdx.x);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 6) persistent(
    int way, const float* x, float* y, float* tile_max, float* tile_sum, float* row_max, float* row_sum,
    const int* row_tile, const int* tile_row, int rows, int tiles, unsigned* generation, unsigned* counters,
    unsigned* entries, unsigned* pending, TaskLog* log) {
    const Problem on = {x, y, tile_max, tile_sum, row_max, row_sum, row_tile, tile_row, rows, tiles, log};
    if (way == PHASED) {
        run_phases(on, generation);
    } else {
        run_queue(on, Queue{counters, entries, pending, rows, tiles});
    }
}
