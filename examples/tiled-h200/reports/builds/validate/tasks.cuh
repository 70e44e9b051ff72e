// The three tasks of which softmax over tiles is made; every variant calls these and nothing else to compute.
//
//     A  per tile  tile_max = max(x)             tile_sum = sum(exp(x - tile_max))      by a block
//     B  per row   row_max = max(tile_max)       row_sum = sum(tile_sum * exp(tile_max - row_max))   by a warp
//     C  per tile  y = exp(x - row_max) / row_sum                                       by a block
//
// A tile is 1,024 consecutive floats; a block of 128 threads holds it in eight registers a thread, loaded as
// two 128-bit pieces. The thread that an element belongs to and the order of every sum are fixed here, so all
// variants give the same bits, whatever the order in which tasks run.
//
// Rows consist of whole tiles: row r is the tiles from row_tile[r] to row_tile[r + 1], and tile_row is the
// inverse.
#pragma once

#include "../common.cuh"
#include "../trace.cuh"

constexpr int TILE = 1024;
constexpr int THREADS = 128;
constexpr int WARPS = THREADS / WARP;
constexpr int HELD = TILE / THREADS;
constexpr int QUADS = HELD / 4;
constexpr int NONE = -1;  // no tile

#ifdef NSIGHT_SUITE_TRACE
constexpr bool TRACED = true;
#else
constexpr bool TRACED = false;
#endif

// Numbers of the stages in a trace.
constexpr unsigned STAGE_A = 0, STAGE_B = 1, STAGE_C = 2;

// The 128 threads that have a tile are a group. A block is one group or several, and its groups do the same at
// the same time; a thread's place is its place in its group.
template <int GROUPS>
__device__ inline int place_in_group() {
    return GROUPS == 1 ? threadIdx.x : threadIdx.x % THREADS;
}

template <int GROUPS = 1>
__device__ inline void load_tile(float (&held)[HELD], const float* x, int tile) {
    const float4* quads = reinterpret_cast<const float4*>(x + static_cast<size_t>(tile) * TILE);
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        const float4 q = quads[k * THREADS + place_in_group<GROUPS>()];
        held[4 * k] = q.x;
        held[4 * k + 1] = q.y;
        held[4 * k + 2] = q.z;
        held[4 * k + 3] = q.w;
    }
}

// A, by a whole block, of the tiles that it holds: `tile_of(d)` is the tile in held[d] of this thread's group, or
// NONE. Thread d of the group writes both results of that tile; no other thread writes anything global.
//
// `peaks` is read before the second barrier and written after the next tiles' load, `sums` is read by the first
// threads before they come to the next tiles' first barrier: a block may summarise tiles after tiles without a
// barrier between.
template <int GROUPS, int DEPTH, class TileOf>
__device__ inline void summarise_tiles(
    const float (&held)[DEPTH][HELD], float* tile_max, float* tile_sum, TileOf tile_of) {
    __shared__ float peaks[GROUPS][DEPTH][WARPS], sums[GROUPS][DEPTH][WARPS];
    const int place = place_in_group<GROUPS>(), lane = place % WARP, warp = place / WARP;
    const int group = GROUPS == 1 ? 0 : threadIdx.x / THREADS;
    float peak[DEPTH];
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
        peak[d] = held[d][0];
#pragma unroll
        for (int k = 1; k < HELD; ++k) peak[d] = fmaxf(peak[d], held[d][k]);
        peak[d] = reduce_warp(peak[d], Maximum());
        if (lane == 0) peaks[group][d][warp] = peak[d];
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
        peak[d] = peaks[group][d][0];
#pragma unroll
        for (int w = 1; w < WARPS; ++w) peak[d] = fmaxf(peak[d], peaks[group][d][w]);
        const int tile = tile_of(d);
        if (tile == NONE) continue;
        if (place == d) tile_max[tile] = peak[d];
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < HELD; ++k) sum += expf(held[d][k] - peak[d]);
        sum = reduce_warp(sum, Sum());
        if (lane == 0) sums[group][d][warp] = sum;
    }
    __syncthreads();
    if (place < DEPTH) {
        const int tile = tile_of(place);
        if (tile == NONE) return;
        float sum = sums[group][place][0];
#pragma unroll
        for (int w = 1; w < WARPS; ++w) sum += sums[group][place][w];
        tile_sum[tile] = sum;
    }
}

// A of one tile, by a block of 128 threads.
__device__ inline void summarise_tile(const float (&held)[1][HELD], float* tile_max, float* tile_sum, int tile) {
    summarise_tiles<1>(held, tile_max, tile_sum, [=](int) { return tile; });
}

// B, by one whole warp, over the tiles from `first` to before `last`; lane 0 writes both results.
//
// Each lane goes over its tiles once with a maximum of its own, so that both summaries are loaded at the same
// time.
__device__ inline void combine_row(
    const float* tile_max, const float* tile_sum, int first, int last, float* row_max, float* row_sum,
    int row) {
    const int lane = threadIdx.x % WARP;
    float own_peak = negative_infinity(), own_sum = 0.0f;
    for (int tile = first + lane; tile < last; tile += WARP) {
        const float peak = tile_max[tile], sum = tile_sum[tile];
        const float higher = fmaxf(own_peak, peak);
        own_sum = own_sum * expf(own_peak - higher) + sum * expf(peak - higher);
        own_peak = higher;
    }
    const float peak = reduce_warp(own_peak, Maximum());
    // A lane without tiles adds zero: its sum is zero, and so is exp(-infinity).
    const float sum = reduce_warp(own_sum * expf(own_peak - peak), Sum());
    if (lane == 0) {
        row_max[row] = peak;
        row_sum[row] = sum;
    }
}

// C. One division per thread and row: each element is multiplied by the reciprocal of the row's sum, which is at
// least one.
struct Scale {
    float peak, factor;
};

__device__ inline Scale scale_of(const float* row_max, const float* row_sum, int row) {
    return {row_max[row], 1.0f / row_sum[row]};
}

template <int GROUPS = 1>
__device__ inline void normalise_tile(const float (&held)[HELD], Scale scale, float* y, int tile) {
    float4* quads = reinterpret_cast<float4*>(y + static_cast<size_t>(tile) * TILE);
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        quads[k * THREADS + place_in_group<GROUPS>()] = make_float4(
            expf(held[4 * k] - scale.peak) * scale.factor,
            expf(held[4 * k + 1] - scale.peak) * scale.factor,
            expf(held[4 * k + 2] - scale.peak) * scale.factor,
            expf(held[4 * k + 3] - scale.peak) * scale.factor);
    }
}

// The end of a task of a block, for who reads the clock next: nothing but a traced build needs all threads
// there.
__device__ inline void end_together() {
    if (TRACED) __syncthreads();
}
