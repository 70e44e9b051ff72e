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

// Numbers of the stages in a trace.
constexpr unsigned STAGE_A = 0, STAGE_B = 1, STAGE_C = 2;

__device__ inline void load_tile(float (&held)[HELD], const float* x, int tile) {
    const float4* quads = reinterpret_cast<const float4*>(x + static_cast<size_t>(tile) * TILE);
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        const float4 q = quads[k * THREADS + threadIdx.x];
        held[4 * k] = q.x;
        held[4 * k + 1] = q.y;
        held[4 * k + 2] = q.z;
        held[4 * k + 3] = q.w;
    }
}

// A. Thread 0 writes both results; no other thread writes anything global.
//
// `peaks` is read before the second barrier and written after the next tile's load, `sums` is read by thread 0
// before it comes to the next tile's first barrier: a block may summarise tile after tile without a barrier
// between.
__device__ inline void summarise_tile(const float (&held)[HELD], float* tile_max, float* tile_sum, int tile) {
    __shared__ float peaks[WARPS], sums[WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    float peak = held[0];
#pragma unroll
    for (int k = 1; k < HELD; ++k) peak = fmaxf(peak, held[k]);
    peak = reduce_warp(peak, Maximum());
    if (lane == 0) peaks[warp] = peak;
    __syncthreads();
    peak = peaks[0];
#pragma unroll
    for (int w = 1; w < WARPS; ++w) peak = fmaxf(peak, peaks[w]);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < HELD; ++k) sum += expf(held[k] - peak);
    sum = reduce_warp(sum, Sum());
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = sums[0];
#pragma unroll
        for (int w = 1; w < WARPS; ++w) sum += sums[w];
        tile_max[tile] = peak;
        tile_sum[tile] = sum;
    }
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

// C. One division per thread: each element is multiplied by the reciprocal of the row's sum, which is at least
// one.
__device__ inline void normalise_tile(
    const float (&held)[HELD], const float* row_max, const float* row_sum, int row, float* y, int tile) {
    const float peak = row_max[row], scale = 1.0f / row_sum[row];
    float4* quads = reinterpret_cast<float4*>(y + static_cast<size_t>(tile) * TILE);
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        quads[k * THREADS + threadIdx.x] = make_float4(
            expf(held[4 * k] - peak) * scale,
            expf(held[4 * k + 1] - peak) * scale,
            expf(held[4 * k + 2] - peak) * scale,
            expf(held[4 * k + 3] - peak) * scale);
    }
}

// The end of a task of a block, for who reads the clock next: nothing but a traced build needs all threads
// there.
__device__ inline void end_together() {
#ifdef NSIGHT_SUITE_TRACE
    __syncthreads();
#endif
}
