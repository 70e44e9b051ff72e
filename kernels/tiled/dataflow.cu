// Softmax over tiles in one kernel without a queue and without words to count in: who has the tiles of a row
// stays with them, from A over B to C, and rows wait for no other rows.
//
// Launch shape: blocks of 256 threads, two groups of 128, each with up to four tiles in its registers; so a
// block has up to eight tiles. A plan, made by the host once for a shape, says which. A block has all tiles of a
// row, or of two rows where both fit. A row of more than eight tiles is spread over the eight blocks of a
// cluster, which has no other rows. The launch is an ordinary one, and the hardware hands out the clusters as
// places become free.
//
//     1. All tiles of the block are loaded at once: up to 32 KB in flight for each of four blocks of a
//        multiprocessor.
//     2. A of these tiles. Their results are written to global memory.
//     3. Block barrier, or cluster barrier where the row is spread. Then B by one warp of the row's first block.
//     4. The same barrier again. Then C of the tiles, which are still in registers.
//
// Bytes, with E = 4 * elements: reads E and writes E; the separate kernels read 2 E. On an H200 that copies at
// 4.3 TB/s, the floor is 31 µs at 2,048 rows (64 MB each way), against 47 for separate kernels that find nothing
// in the L2 cache. At 128 and 512 rows x and y fit that cache, and one launch and two barriers stand against
// three launches.
//
// Why the order is right, and nobody waits forever. All that a row's B reads has been written by threads of the
// block, or the cluster, before they came to the barrier, and all that C reads before the second one; both
// barriers release and acquire for all their threads, at the scope of the block or the cluster. A block waits at
// no other place. All blocks of a cluster are started together by the hardware, a spread row has a cluster of its
// own, and each of its blocks comes to both barriers: how many clusters are resident does not matter.
//
// Tried before, and measured on an H200 (device time in µs at balanced 128, 512 and 2,048 rows; the separate
// kernels take 6, 12 and 55):
//
//   Resident blocks of 128 threads, eight per multiprocessor, tiles dealt out in turns, each row's tiles spread
//   over as many blocks and counted by an atomic, the last to arrive combines, all others poll a flag, and the
//   next tile is loaded meanwhile: 7, 17 and 75. Its SASS has a
//   MEMBAR for the whole device before the atomic of each tile of 4 KB, and its warps were active at 48 % of the
//   peak, against 85 % in the separate kernels. That each is part of the reason is a guess that nothing has
//   tested; a row that stays where it is needs neither.
//
//   This one. Predicted before any measurement, device time in µs: 4.5 at 128 rows, 10 at 512 and 45 at 2,048,
//   ragged 10 % more.
//
// In a trace: A and C of a block's tiles run together, so they have a common beginning and end.
#include "ordering.cuh"
#include "tasks.cuh"

// driver.py plans for these: see `pieces` there.
constexpr int GROUPS = 2, DEPTH = 4, CLUSTER = 8, RESIDENT = 4;
constexpr int SLOTS = GROUPS * DEPTH;  // tiles that a block holds
constexpr int PIECES = 2;              // and of how many rows at most

// Consecutive tiles of one row that one block has; `whole` is how many tiles the row has.
struct __align__(16) Piece {
    int first, tiles, row, whole;
};

extern "C" __global__ void IN_CLUSTERS_OF(CLUSTER) __launch_bounds__(GROUPS* THREADS, RESIDENT) dataflow(
    const float* x, float* y, float* tile_max, float* tile_sum, float* row_max, float* row_sum,
    const int* row_tile, const Piece* pieces, TaskLog* log) {
    __shared__ Piece own[PIECES];  // what is seldom needed and would fill registers
    const int group = threadIdx.x / THREADS, place = place_in_group<GROUPS>();
    const auto tile_at = [=](const Piece& piece, const Piece& other, int d) {
        const int slot = d * GROUPS + group, behind = slot - piece.tiles;
        return behind < 0 ? piece.first + slot : behind < other.tiles ? other.first + behind : NONE;
    };
    const auto log_tasks = [=](unsigned long long begun, unsigned stage) {
        const int tile = place < DEPTH ? tile_at(own[0], own[1], place) : NONE;
        if (tile == NONE) return;
        const int row = own[place * GROUPS + group < own[0].tiles ? 0 : 1].row;
        task_end(log, begun, stage, row, tile - row_tile[row], blockIdx.x);
    };

    const Piece piece = pieces[PIECES * blockIdx.x], other = pieces[PIECES * blockIdx.x + 1];
    if (piece.tiles == 0) return;  // a block that only makes its cluster complete
    if (threadIdx.x == 0) {
        own[0] = piece;
        own[1] = other;
    }
    const unsigned long long begun = task_begin();
    float held[DEPTH][HELD] = {};
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
        const int tile = tile_at(piece, other, d);
        if (tile != NONE) load_tile<GROUPS>(held[d], x, tile);
    }
    summarise_tiles<GROUPS>(held, tile_max, tile_sum, [=](int d) { return tile_at(own[0], own[1], d); });
    log_tasks(begun, STAGE_A);
    const bool spread = own[0].whole > SLOTS;
    spread ? cluster_barrier() : __syncthreads();
    const int warp = threadIdx.x / WARP;
    if (warp < PIECES && own[warp].tiles > 0 && (!spread || rank_in_cluster() == 0)) {
        const Piece of = own[warp];
        const unsigned long long combining = task_begin();
        combine_row(tile_max, tile_sum, of.first, of.first + of.whole, row_max, row_sum, of.row);
        if (threadIdx.x % WARP == 0) task_end(log, combining, STAGE_B, of.row, NO_TILE, blockIdx.x);
    }
    spread ? cluster_barrier() : __syncthreads();
    const unsigned long long normalising = task_begin();
    Scale one = scale_of(row_max, row_sum, own[0].row), two = one;
    if (own[1].tiles > 0) two = scale_of(row_max, row_sum, own[1].row);
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
        const int tile = tile_at(own[0], own[1], d);
        const bool first = d * GROUPS + group < own[0].tiles;
        const Scale of_row = {first ? one.peak : two.peak, first ? one.factor : two.factor};
        if (tile != NONE) normalise_tile<GROUPS>(held[d], of_row, y, tile);
    }
    end_together();
    log_tasks(normalising, STAGE_C);
}
