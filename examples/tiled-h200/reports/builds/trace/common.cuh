// What several kernels share: reductions over a warp or a block, and walks over one row.
//
// Rows are walked in 128-bit pieces where the row's start and width allow it, else one float at a time.
// Everything is deterministic: no atomics, and the order of every sum is fixed by the launch shape.
#pragma once

constexpr int WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

// NVRTC has no INFINITY macro.
__device__ inline float negative_infinity() { return __int_as_float(static_cast<int>(0xff800000u)); }

struct Maximum {
    static __device__ float identity() { return negative_infinity(); }
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
    static __device__ float identity() { return 0.0f; }
    __device__ float operator()(float a, float b) const { return a + b; }
};

// Every lane gets the result over its whole warp.
template <class Operation>
__device__ float reduce_warp(float value, Operation operation) {
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        value = operation(value, __shfl_xor_sync(ALL_LANES, value, offset));
    }
    return value;
}

// Every thread gets the result over the threads of its block that share threadIdx.y. blockDim.x is a
// multiple of 32; more than one warp in x demands blockDim.y == 1.
template <class Operation>
__device__ float reduce_block(float value, Operation operation) {
    value = reduce_warp(value, operation);
    const int warps = blockDim.x / WARP;
    if (warps == 1) return value;
    __shared__ float partial[WARP];
    const int lane = threadIdx.x % WARP;
    __syncthreads();  // a former reduction may still be reading `partial`
    if (lane == 0) partial[threadIdx.x / WARP] = value;
    __syncthreads();
    return reduce_warp(lane < warps ? partial[lane] : Operation::identity(), operation);
}

// Whether a row of this width that starts here can be walked in 128-bit pieces.
__device__ inline bool in_quads(const float* row, int columns) {
    return columns % 4 == 0 && reinterpret_cast<unsigned long long>(row) % sizeof(float4) == 0;
}

// This thread's share of operation(... of_element(row[i]) ...).
template <class Operation, class OfElement>
__device__ float fold_row(const float* row, int columns, Operation operation, OfElement of_element) {
    float folded = Operation::identity();
    if (in_quads(row, columns)) {
        for (int i = threadIdx.x; i < columns / 4; i += blockDim.x) {
            const float4 q = reinterpret_cast<const float4*>(row)[i];
            const float low = operation(of_element(q.x), of_element(q.y));
            const float high = operation(of_element(q.z), of_element(q.w));
            folded = operation(folded, operation(low, high));
        }
    } else {
        for (int i = threadIdx.x; i < columns; i += blockDim.x) folded = operation(folded, of_element(row[i]));
    }
    return folded;
}

// to[i] = of_element(from[i]), for this thread's share of the row.
template <class OfElement>
__device__ void map_row(const float* from, float* to, int columns, OfElement of_element) {
    if (in_quads(from, columns) && in_quads(to, columns)) {
        for (int i = threadIdx.x; i < columns / 4; i += blockDim.x) {
            const float4 q = reinterpret_cast<const float4*>(from)[i];
            reinterpret_cast<float4*>(to)[i] =
                make_float4(of_element(q.x), of_element(q.y), of_element(q.z), of_element(q.w));
        }
    } else {
        for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] = of_element(from[i]);
    }
}
