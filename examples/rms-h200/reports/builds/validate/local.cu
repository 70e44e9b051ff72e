// RMS-scaled softmax by local fusion: three kernels, cut where every block needs a number of its whole row.
//
//     local_statistics  maximum and sum of squares of each tile     reads x          writes these statistics
//     local_sums        the row's r and maximum, then per tile the  reads x, those   writes these sums
//                       sum of exp(r * (x - max))
//     local_normalise   the row's sum, then y = exp(...) / sum      reads x, both    writes y
//
// A row's numbers are put together from those of its tiles (at most 128) by each block that needs them, which
// spares kernels of their own. The exponentials are computed twice: keeping them would cost a write and a read
// of the array, while computing them again costs a read of x that is needed anyway.
//
// Launch shape: a block of 256 threads per tile, tiles along x and rows along y. A tile has 4096 elements, four
// 128-bit loads in flight per thread; 1024 where a single row would leave multiprocessors idle. Each block asks
// for its part of x before it waits for the row's numbers.
//
// Bytes, with A = 4 * rows * columns and T tiles in all: reads 3 A + 20 T, writes A + 12 T. Against one kernel
// that reads x once, expect twice the time where memory is the limit, and two more launches where it is not.
#include "rms.cuh"

constexpr int HELD = 4;  // 128-bit pieces of x in one thread's registers

// This thread's part of its block's tile, and where that part lies in the array.
struct Tile {
    size_t start;
    int quads;

    __device__ explicit Tile(int columns) : quads(columns / 4 / gridDim.x) {
        start = (static_cast<size_t>(blockIdx.y) * gridDim.x + blockIdx.x) * quads;
    }

    __device__ void load(const float* x, float4 (&held)[HELD]) const {
#pragma unroll
        for (int k = 0; k < HELD; ++k) {
            const int i = k * blockDim.x + threadIdx.x;
            held[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (i < quads) held[k] = reinterpret_cast<const float4*>(x)[start + i];
        }
    }

    // take(place in the array, piece) for each piece that lies in the tile.
    template <class Take>
    __device__ void each(const float4 (&held)[HELD], Take take) const {
#pragma unroll
        for (int k = 0; k < HELD; ++k) {
            const int i = k * blockDim.x + threadIdx.x;
            if (i < quads) take(start + i, held[k]);
        }
    }
};

__device__ int this_tile() { return blockIdx.y * gridDim.x + blockIdx.x; }

__device__ Scaling scaling_of_row(const Statistics* statistics, int columns) {
    const Statistics* of_row = statistics + blockIdx.y * gridDim.x;
    return scaling_of(of_tiles<Statistics>(gridDim.x, [of_row](int tile) { return of_row[tile]; }), columns);
}

extern "C" __global__ void __launch_bounds__(256)
    local_statistics(const float* x, Statistics* statistics, int columns) {
    const Tile tile(columns);
    float4 held[HELD];
    tile.load(x, held);
    Statistics share = nothing<Statistics>();
    tile.each(held, [&share](size_t, float4 q) { share = together(share, statistics_of(q)); });
    share = of_block(share);
    if (threadIdx.x == 0) statistics[this_tile()] = share;
}

extern "C" __global__ void __launch_bounds__(256)
    local_sums(const float* x, const Statistics* statistics, float* sums, int columns) {
    const Tile tile(columns);
    float4 held[HELD];
    tile.load(x, held);
    const Scaling row = scaling_of_row(statistics, columns);
    float share = 0.0f;
    tile.each(held, [&share, row](size_t, float4 q) { share += sum_of(exponential_of(q, row)); });
    share = of_block(share);
    if (threadIdx.x == 0) sums[this_tile()] = share;
}

extern "C" __global__ void __launch_bounds__(256)
    local_normalise(const float* x, const Statistics* statistics, const float* sums, float* y, int columns) {
    const Tile tile(columns);
    float4 held[HELD];
    tile.load(x, held);
    const Scaling row = scaling_of_row(statistics, columns);
    const float* of_row = sums + blockIdx.y * gridDim.x;
    const float total = of_tiles<float>(gridDim.x, [of_row](int i) { return of_row[i]; });
    // The largest element adds exactly one, so the sum is never small and its reciprocal is accurate.
    const float factor = 1.0f / total;
    tile.each(held, [y, row, factor](size_t at, float4 q) {
        reinterpret_cast<float4*>(y)[at] = times(exponential_of(q, row), factor);
    });
}
