// Softmax over tiles in one kernel without a queue: a row's tiles are normalised as soon as the row's own tiles
// are summarised, whatever other rows do, and each tile stays in registers from A to C.
//
// Launch shape: blocks of 128 threads, eight per multiprocessor or one per tile where those are fewer, launched
// cooperatively. Block w has the tiles w, w + blocks, w + 2 blocks …, so which block does what is known
// beforehand. For each of its tiles in turn a block
//
//   1. begins to load the next tile,
//   2. summarises the tile (A), writes the summaries and counts its arrival at the row; the block that arrives
//      last at a row combines it (B) and raises the row's flag,
//   3. waits for the flag of the row of its tile *before*, and normalises that tile (C).
//
// So three tiles are in a thread's 24 registers: one being loaded, one just summarised, one about to be
// normalised. By the time a block waits, one tile's time has passed since it arrived, and the flag is mostly
// up. The summaries go through global memory as in the other variants.
//
// Bytes, with E = 4 * elements: reads E and writes E; the separate kernels read 2 E. With few rows it is one
// launch and two exchanges through L2 instead of three launches.
//
// Why the counters need no reset: arrivals count from zero to the row's tiles less one and then back to zero. A
// flag is up when it differs from what it was before this block arrived; it cannot have been raised by then,
// since the last to arrive raises it, and it is raised once an invocation. Any value may be left from before.
//
// Why nobody waits forever, given that all blocks are resident and no row has more tiles than there are blocks:
// suppose that the flags of all rows before r are raised. A block that has a tile t of row r yet to summarise
// can only be waiting for a tile of its own before that, which is at t - 2 * blocks or earlier, so in a row
// before r; so it goes on. Then all tiles of r arrive, the last one raises the flag without waiting, and r is
// done.
//
// Why everybody sees what he needs: each arrival is an acquire-release count, so the last to arrive has
// acquired all summaries of the row; it releases the flag, and thread 0 of each waiting block acquires it
// before the block's barrier.
//
// In a trace: the tile of A was asked for one tile earlier, and C never loads x, so how long a task takes
// compares inside this variant only.
#include "ordering.cuh"
#include "tasks.cuh"

struct Tile {
    float held[HELD];
    int number, row;
    unsigned flag;  // the row's flag before this tile arrived; thread 0 alone has it
};

__device__ void begin_tile(Tile& tile, const float* x, const int* tile_row, int number) {
    tile.number = number;
    tile.row = tile_row[number];
    load_tile(tile.held, x, number);
}

extern "C" __global__ void __launch_bounds__(THREADS, 8) dataflow(
    const float* x, float* y, float* tile_max, float* tile_sum, float* row_max, float* row_sum,
    const int* row_tile, const int* tile_row, int tiles, unsigned* arrivals, unsigned* flags, TaskLog* log) {
    const auto summarise = [=](Tile& tile) {
        const unsigned long long begun = task_begin();
        const int row = tile.row, first = row_tile[row], last = row_tile[row + 1];
        if (threadIdx.x == 0) tile.flag = load_relaxed(flags + row);
        summarise_tile(tile.held, tile_max, tile_sum, tile.number);
        if (threadIdx.x >= WARP) return;
        const unsigned long long ended = task_clock();
        const unsigned others = last - first - 1;
        unsigned before = 0;
        if (threadIdx.x == 0) before = fetch_count(arrivals + row, others);
        before = __shfl_sync(ALL_LANES, before, 0);
        if (threadIdx.x == 0) task_record(log, begun, ended, STAGE_A, row, tile.number - first, blockIdx.x);
        if (before != others) return;
        __syncwarp();  // what lane 0 has acquired comes before the loads of every lane
        const unsigned long long combining = task_begin();
        combine_row(tile_max, tile_sum, first, last, row_max, row_sum, row);
        if (threadIdx.x == 0) {
            const unsigned long long combined = task_clock();
            store_release(flags + row, tile.flag + 1);
            task_record(log, combining, combined, STAGE_B, row, NO_TILE, blockIdx.x);
        }
    };
    const auto normalise = [=](const Tile& tile) {
        if (threadIdx.x == 0) {
            while (load_acquire(flags + tile.row) == tile.flag) {}
        }
        __syncthreads();
        const unsigned long long begun = task_begin();
        normalise_tile(tile.held, row_max, row_sum, tile.row, y, tile.number);
        end_together();
        if (threadIdx.x == 0) {
            task_end(log, begun, STAGE_C, tile.row, tile.number - row_tile[tile.row], blockIdx.x);
        }
    };

    const int blocks = gridDim.x;
    Tile current, before = {}, next = {};
    begin_tile(current, x, tile_row, blockIdx.x);  // there are no more blocks than tiles
    for (int number = blockIdx.x; number < tiles; number += blocks) {
        if (number + blocks < tiles) begin_tile(next, x, tile_row, number + blocks);
        summarise(current);
        if (number >= blocks) normalise(before);
        before = current;
        current = next;
    }
    normalise(before);
}
