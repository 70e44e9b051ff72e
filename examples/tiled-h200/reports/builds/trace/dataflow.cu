// Softmax over tiles in one kernel without a queue and without words to count in: who has the tiles of a row
// stays with them, from A over B to C, and rows wait for no other rows.
//
// Launch shape: blocks of 256 threads, two groups of 128, each with up to five tiles in its registers; so a
// block has up to ten tiles. A plan, made by the host once for a shape, says which. A block has all tiles of a
// row, or of two rows where both fit. A row of more than ten tiles is spread over the four blocks of a cluster,
// which has no other rows. The launch is an ordinary one, and the hardware hands out the clusters as places
// become free.
//
//     1. All tiles of the block are loaded at once: up to 40 KB in flight for each of four blocks of a
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
//   next tile is loaded meanwhile: 7, 17 and 75. Its SASS has a MEMBAR for the whole device before the atomic of
//   each tile of 4 KB, and its warps were active at 48 % of the peak, against 85 % in the separate kernels. That
//   each is part of the reason is a guess that nothing has tested; a row that stays where it is needs neither.
//
//   The form above, with other numbers of groups, tiles of a group and blocks of a cluster. Predicted before any
//   measurement, for two groups of four tiles in clusters of eight, device time in µs: 4.5 at 128 rows, 10 at 512
//   and 45 at 2,048, ragged 10 % more. Replayed back to back it took 6.2, 11.3 and 40.1, ragged 6.9, 13.8 and
//   53.3: slower than predicted at 128 and 512 rows, faster at balanced 2,048, and ragged 11 to 33 % more. These
//   numbers and others in one session of 2026-11-30, bits equal to the separate kernels in each: the median host
//   completion by graph over that of the separate kernels (12.5, 12.7, 19.1, 19.3, 64.0 and 64.1 µs).
//
//   groups x tiles, blocks of a
//   cluster, of a multiprocessor        128 balanced, ragged     512 balanced, ragged    2,048 balanced, ragged
//   2 x 4, 8, 4                             0.90      0.96           0.90      1.02           0.72      0.94
//     stores as __stcs                      0.90      0.95           0.88      1.03           0.75      0.94
//     and loads as __ldcs                   0.90      0.95           0.88      1.03           0.73      0.89
//   2 x 5, 4, 4                             0.95      0.98           0.91      0.92           0.72      0.82   this one
//   2 x 4, 5, 4                             0.92      0.97           0.91      1.02           0.72      0.86
//   4 x 2, 8, 3                             0.93      0.93           0.96      1.15           0.80      1.07
//     stores as __stcs                      0.91      0.92           0.95      1.13           0.78      1.06
//   3 x 3, 4, 3                             0.94      0.94           0.96      1.00           0.78      0.88
//   8 x 1, 8, 2                             0.95      0.95           1.09      1.35           0.97      1.40
//   1 x 8, 8, 5                             0.97      1.00           0.91      1.09           0.71      0.92
//
//   Only 2 x 5 in clusters of four is faster than separate kernels at every shape. What a ragged row of 36 tiles
//   costs is places: eight blocks hold 64 tiles for it, four of ten hold 40. That this is why it is faster at
//   ragged shapes is a guess that fits the table and has not been tested alone.
//
// In a trace. A group is a worker, and its worker's number is block * GROUPS + group. Untraced, it summarises all
// its tiles together, and so they have no ends of their own. The traced build takes them one by one, with two
// block barriers each, and ends each C with one: its tasks follow one another, and its times are not those of the
// build that is timed. x is read ahead for all tiles at once; that belongs to the first A alone, and a later A
// begins when the one before has been recorded. B of a block's second row is run by the second group, where an
// untraced block gives it to a second warp. Grid, plan, order of sums and bits are the same in both builds. No
// device has run the traced build of this form yet: emulated by threads of a CPU its records raise no doubt.
#include "ordering.cuh"
#include "tasks.cuh"

// driver.py plans for these: see `pieces` there.
constexpr int GROUPS = 2, DEPTH = 5, CLUSTER = 4;
constexpr int SLOTS = GROUPS * DEPTH;  // tiles that a block holds
constexpr int PIECES = 2;              // and of how many rows at most
static_assert(PIECES <= GROUPS);       // in a trace each group combines one row at most

// Blocks of a multiprocessor, which the registers are counted for: no launch depends on it. From Blackwell on the
// compiler would need local memory to leave room for four.
#if __CUDA_ARCH__ >= 1000
constexpr int RESIDENT = 3;
#else
constexpr int RESIDENT = 4;
#endif

// How many of its tiles a group summarises at a time: all that it holds, but one by one where each A must have a
// beginning and an end of its own.
constexpr int TOGETHER = TRACED ? 1 : DEPTH;

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
    // A group is a worker, and its first thread tells what it has done, once it is done.
    const int worker = blockIdx.x * GROUPS + group;
    const auto log_tile = [=](unsigned long long begun, unsigned stage, int d) {
        const int tile = tile_at(own[0], own[1], d);
        if (place != 0 || tile == NONE) return;
        const int row = own[d * GROUPS + group < own[0].tiles ? 0 : 1].row;
        task_end(log, begun, stage, row, tile - row_tile[row], worker);
    };

    const Piece piece = pieces[PIECES * blockIdx.x], other = pieces[PIECES * blockIdx.x + 1];
    if (piece.tiles == 0) return;  // a block that only makes its cluster complete
    if (threadIdx.x == 0) {
        own[0] = piece;
        own[1] = other;
    }
    unsigned long long begun = task_begin();
    float held[DEPTH][HELD] = {};
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
        const int tile = tile_at(piece, other, d);
        if (tile != NONE) load_tile<GROUPS>(held[d], x, tile);
    }
#pragma unroll
    for (int d = 0; d < DEPTH; d += TOGETHER) {
        if (d > 0) begun = task_begin();
        const auto& some = reinterpret_cast<const float(&)[TOGETHER][HELD]>(held[d]);
        const auto tile_of = [=](int i) { return tile_at(own[0], own[1], d + i); };
        summarise_tiles<GROUPS>(some, tile_max, tile_sum, tile_of);
        log_tile(begun, STAGE_A, d);
    }
    const bool spread = own[0].whole > SLOTS;
    spread ? cluster_barrier() : __syncthreads();
    // By the first warps of the block; in a trace by the first warp of each group, since a worker does one thing at
    // a time.
    const int which = TRACED ? (place < WARP ? group : PIECES) : threadIdx.x / WARP;
    if (which < PIECES && own[which].tiles > 0 && (!spread || rank_in_cluster() == 0)) {
        const Piece of = own[which];
        begun = task_begin();
        combine_row(tile_max, tile_sum, of.first, of.first + of.whole, row_max, row_sum, of.row);
        if (place % WARP == 0) task_end(log, begun, STAGE_B, of.row, NO_TILE, worker);
    }
    spread ? cluster_barrier() : __syncthreads();
    begun = task_begin();
    Scale one = scale_of(row_max, row_sum, own[0].row), two = one;
    if (own[1].tiles > 0) two = scale_of(row_max, row_sum, own[1].row);
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
        const int tile = tile_at(own[0], own[1], d);
        const bool first = d * GROUPS + group < own[0].tiles;
        const Scale of_row = {first ? one.peak : two.peak, first ? one.factor : two.factor};
        if (d > 0) begun = task_begin();
        if (tile != NONE) normalise_tile<GROUPS>(held[d], of_row, y, tile);
        end_together();
        log_tile(begun, STAGE_C, d);
    }
}
