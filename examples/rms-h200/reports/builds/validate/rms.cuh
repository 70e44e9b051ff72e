// What the kernels of the RMS-scaled softmax share: the statistics of a row that is cut into tiles, one block
// each.
//
//     r = 1 / sqrt(mean(x * x) + 1e-5)     y = softmax(r * x)
//
// r is positive and one number for the row, so softmax(r * x) = exp(r * (x - max x)) / sum: the maximum of x
// serves as that of r * x. Maximum and sum of squares need one look at x; the sum of the exponentials needs r,
// which needs the whole row, so the blocks of a row must hear of one another twice, and no less.
//
// Every sum is deterministic: within a block its order follows from the launch shape, and across a row's tiles
// it is that of the tiles' numbers, never that in which blocks arrive.
#pragma once
#include "../common.cuh"

constexpr float EPSILON = 1e-5f;
constexpr float LOG2_E = 1.4426950408889634f;
constexpr int MOST_TILES = 128;  // of a row; no block has fewer threads

struct alignas(8) Statistics {
    float peak;     // largest element
    float squares;  // sum of the squares
};

template <class Value>
__device__ Value nothing();
template <>
__device__ inline Statistics nothing<Statistics>() {
    return {negative_infinity(), 0.0f};
}
template <>
__device__ inline float nothing<float>() {
    return 0.0f;
}

__device__ inline float together(float a, float b) { return a + b; }
__device__ inline Statistics together(Statistics a, Statistics b) {
    return {fmaxf(a.peak, b.peak), a.squares + b.squares};
}

__device__ inline float in_warp(float share) { return reduce_warp(share, Sum()); }
__device__ inline Statistics in_warp(Statistics share) {
    return {reduce_warp(share.peak, Maximum()), reduce_warp(share.squares, Sum())};
}

// The threads' shares together, in warp 0. At most once per kernel and type: the next use would need a barrier
// before.
template <class Value>
__device__ Value of_block(Value share) {
    __shared__ Value partial[WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    share = in_warp(share);
    if (lane == 0) partial[warp] = share;
    __syncthreads();
    if (warp == 0) share = in_warp(lane < warps ? partial[lane] : nothing<Value>());
    return share;
}

// A row's value from those of its tiles, in every thread; thread i fetches that of tile i. At most once per
// kernel and type.
template <class Value, class Fetch>
__device__ Value of_tiles(int tiles, Fetch fetch) {
    __shared__ Value partial[MOST_TILES / WARP];
    const int warp = threadIdx.x / WARP, warps = (tiles + WARP - 1) / WARP;
    if (warp < warps) {
        const int tile = threadIdx.x;
        const Value share = in_warp(tile < tiles ? fetch(tile) : nothing<Value>());
        if (threadIdx.x % WARP == 0) partial[warp] = share;
    }
    __syncthreads();
    Value whole = partial[0];
#pragma unroll
    for (int i = 1; i < MOST_TILES / WARP; ++i) {
        if (i < warps) whole = together(whole, partial[i]);
    }
    return whole;
}

// What turns an element of a row into its exponential: exp(r * (x - peak)) = 2 ^ ((x - peak) * steepness).
struct Scaling {
    float peak;
    float steepness;  // r * log2(e)
};

__device__ inline Scaling scaling_of(Statistics row, int columns) {
    const float r = 1.0f / sqrtf(row.squares / static_cast<float>(columns) + EPSILON);
    return {row.peak, r * LOG2_E};
}

// Subtracting first keeps the difference accurate when x lies far from zero.
__device__ inline float exponential_of(float x, Scaling row) { return exp2f((x - row.peak) * row.steepness); }

__device__ inline float4 exponential_of(float4 x, Scaling row) {
    return make_float4(exponential_of(x.x, row), exponential_of(x.y, row), exponential_of(x.z, row),
                       exponential_of(x.w, row));
}

__device__ inline float peak_of(float4 q) { return fmaxf(fmaxf(q.x, q.y), fmaxf(q.z, q.w)); }

__device__ inline Statistics statistics_of(float4 q) {
    return {peak_of(q), (q.x * q.x + q.y * q.y) + (q.z * q.z + q.w * q.w)};
}

__device__ inline float sum_of(float4 q) { return (q.x + q.y) + (q.z + q.w); }

__device__ inline float4 times(float4 q, float factor) {
    return make_float4(q.x * factor, q.y * factor, q.z * factor, q.w * factor);
}

constexpr int AT_ONCE = 8;  // 128-bit loads of walk() in flight per thread

// take(i, from[i]) for this thread's pieces, the loads ahead of what is done with them.
template <class Take>
__device__ void walk(const float4* from, int quads, Take take) {
    for (int first = threadIdx.x; first < quads; first += AT_ONCE * blockDim.x) {
        float4 held[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int i = first + k * blockDim.x;
            held[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (i < quads) held[k] = from[i];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int i = first + k * blockDim.x;
            if (i < quads) take(i, held[k]);
        }
    }
}
