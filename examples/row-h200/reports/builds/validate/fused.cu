// Row softmax in one kernel, generic in width: a row is read once, kept in registers, and written once.
//
// Launch shape: blockDim.x threads share a row, each holding up to 16 of its floats; blockDim.y rows share a block.
//   columns <= 256: one warp per row and four rows per block, so that no barrier is needed;
//   wider:          one block per row, columns / 16 threads rounded up to whole warps, from 128 to 1024.
// Sixteen floats are four 128-bit loads in flight per thread, which keep DRAM busy although the registers that
// they take (42 on an H200) let no more than 62 % of the warps be resident.
//
// One division per row: each element is multiplied by the reciprocal of the row's sum.
//
// Bytes, with A = 4 * rows * columns: reads A, writes A. Rows wider than 16 * blockDim.x (more than 16384
// columns) do not fit the registers of a block; they are correct too, but read three times.
//
// Expect one launch's latency for small arrays and about the time of a plain copy for large ones.
#include "../common.cuh"

constexpr int HELD = 16;  // floats of a row in one thread's registers
constexpr int HELD_QUADS = HELD / 4;

// The thread's part of a row in registers; what lies beyond the row is -infinity, whose exponential is zero.
template <bool QUADS>
__device__ void load_held(float (&held)[HELD], const float* row, int columns) {
    if constexpr (QUADS) {
#pragma unroll
        for (int k = 0; k < HELD_QUADS; ++k) {
            const int i = k * blockDim.x + threadIdx.x;
            const float nothing = negative_infinity();
            float4 q = make_float4(nothing, nothing, nothing, nothing);
            if (i < columns / 4) q = reinterpret_cast<const float4*>(row)[i];
            held[4 * k] = q.x;
            held[4 * k + 1] = q.y;
            held[4 * k + 2] = q.z;
            held[4 * k + 3] = q.w;
        }
    } else {
#pragma unroll
        for (int k = 0; k < HELD; ++k) {
            const int i = k * blockDim.x + threadIdx.x;
            held[k] = i < columns ? row[i] : negative_infinity();
        }
    }
}

template <bool QUADS>
__device__ void store_held(const float (&held)[HELD], float* row, int columns) {
    if constexpr (QUADS) {
#pragma unroll
        for (int k = 0; k < HELD_QUADS; ++k) {
            const int i = k * blockDim.x + threadIdx.x;
            if (i < columns / 4) {
                reinterpret_cast<float4*>(row)[i] =
                    make_float4(held[4 * k], held[4 * k + 1], held[4 * k + 2], held[4 * k + 3]);
            }
        }
    } else {
#pragma unroll
        for (int k = 0; k < HELD; ++k) {
            const int i = k * blockDim.x + threadIdx.x;
            if (i < columns) row[i] = held[k];
        }
    }
}

template <bool QUADS>
__device__ void softmax_in_registers(const float* x, float* y, int columns) {
    float held[HELD];
    load_held<QUADS>(held, x, columns);
    float peak = held[0];
#pragma unroll
    for (int k = 1; k < HELD; ++k) peak = fmaxf(peak, held[k]);
    peak = reduce_block(peak, Maximum());
    // Narrow rows fill only the first registers; the rest is skipped by all threads alike, four at a time.
    const int used = (columns + blockDim.x - 1) / blockDim.x;
    float total = 0.0f;
#pragma unroll
    for (int k = 0; k < HELD; k += 4) {
        if (k < used) {
#pragma unroll
            for (int l = k; l < k + 4; ++l) {
                held[l] = expf(held[l] - peak);
                total += held[l];
            }
        }
    }
    // The largest element adds exactly one, so the sum is never small and its reciprocal is accurate.
    const float scale = 1.0f / reduce_block(total, Sum());
#pragma unroll
    for (int k = 0; k < HELD; ++k) held[k] *= scale;
    store_held<QUADS>(held, y, columns);
}

__device__ void softmax_of_wide_row(const float* x, float* y, int columns) {
    const float share = fold_row(x, columns, Maximum(), [](float value) { return value; });
    const float peak = reduce_block(share, Maximum());
    const auto shifted = [peak](float value) { return expf(value - peak); };
    const float scale = 1.0f / reduce_block(fold_row(x, columns, Sum(), shifted), Sum());
    map_row(x, y, columns, [shifted, scale](float value) { return shifted(value) * scale; });
}

extern "C" __global__ void __launch_bounds__(1024)
    row_softmax(const float* x, float* y, int rows, int columns) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;  // whole warps leave; a block of several warps per row has one row only
    x += static_cast<size_t>(row) * columns;
    y += static_cast<size_t>(row) * columns;
    if (columns > HELD * static_cast<int>(blockDim.x)) {
        softmax_of_wide_row(x, y, columns);
    } else if (in_quads(x, columns) && in_quads(y, columns)) {
        softmax_in_registers<true>(x, y, columns);
    } else {
        softmax_in_registers<false>(x, y, columns);
    }
}
