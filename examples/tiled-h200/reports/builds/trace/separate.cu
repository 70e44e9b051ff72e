// Softmax over tiles in three kernels, one kind of task each: nothing of a stage starts before all of the stage
// before has ended, and the end of a kernel is the only barrier.
//
//     tile_summary     A  a block per tile                 reads x                    writes tile_max, tile_sum
//     combine_rows     B  a warp per row, four to a block  reads tile_max, tile_sum   writes row_max, row_sum
//     normalise_tiles  C  a block per tile                 reads x, row_max, row_sum  writes y
//
// Launch shape: blocks of 128 threads, as many as there are tiles, or rows to four.
//
// Bytes, with E = 4 * elements: reads 2 E and writes E, and the summaries, which are less than one part in 300
// of E. Whether the second reading of x comes from DRAM depends on whether x fits the L2 cache.
//
// Expect three launches' latency for few rows. With many rows this is hard to beat but by reading x once:
// blocks are many, alike and wait for nobody, and the hardware hands them out.
#include "tasks.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) tile_summary(
    const float* x, float* tile_max, float* tile_sum, const int* row_tile, const int* tile_row, TaskLog* log) {
    const int tile = blockIdx.x;
    const unsigned long long begun = task_begin();
    float held[1][HELD];
    load_tile(held[0], x, tile);
    summarise_tile(held, tile_max, tile_sum, tile);
    if (threadIdx.x == 0) {
        const int row = tile_row[tile];
        task_end(log, begun, STAGE_A, row, tile - row_tile[row], blockIdx.x);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) combine_rows(
    const float* tile_max, const float* tile_sum, float* row_max, float* row_sum, const int* row_tile, int rows,
    TaskLog* log) {
    const int row = blockIdx.x * WARPS + threadIdx.x / WARP;
    if (row >= rows) return;  // whole warps leave, and there is no barrier below
    const unsigned long long begun = task_begin();
    combine_row(tile_max, tile_sum, row_tile[row], row_tile[row + 1], row_max, row_sum, row);
    if (threadIdx.x % WARP == 0) task_end(log, begun, STAGE_B, row, NO_TILE, blockIdx.x);
}

extern "C" __global__ void __launch_bounds__(THREADS) normalise_tiles(
    const float* x, float* y, const float* row_max, const float* row_sum, const int* row_tile,
    const int* tile_row, TaskLog* log) {
    const int tile = blockIdx.x;
    const unsigned long long begun = task_begin();
    float held[1][HELD];
    load_tile(held[0], x, tile);
    const int row = tile_row[tile];
    normalise_tile(held[0], scale_of(row_max, row_sum, row), y, tile);
    end_together();
    if (threadIdx.x == 0) task_end(log, begun, STAGE_C, row, tile - row_tile[row], blockIdx.x);
}
