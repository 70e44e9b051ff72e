// The three steps, each rounded to FP32 on its own, and the walk over an array that both variants share.
//
//     a = round32(x + 1)      b = round32(a * a)      y = round32(b * 0.5)
//
// The steps are intrinsics that name their rounding: the compiler may not contract a product and a sum into one
// operation that rounds once, whatever its options are.
//
// The walk: blocks of THREADS threads; a block owns THREADS * QUADS pieces of 128 bits side by side, 2048
// floats. A thread takes QUADS of them, THREADS apart, so that each access of a warp is 512 contiguous bytes,
// and loads all before it stores any: two loads in flight per thread, 64 KiB per full multiprocessor, which
// is more than DRAM's latency times its bandwidth divided by the multiprocessors. The grid is the number of
// such pieces of the array, rounded up; with N a multiple of 4 only whole quads are left over, and they are
// masked.
//
//     N                   256      32,768      1,048,576      16,777,216
//     blocks                1          16            512           8,192
//     idle threads        192           0              0               0
//
// At N = 256 one block's first 64 threads move one quad each: what is measured there is a launch and nothing
// else. With 32-bit accesses the grid would be eight times as large, for as many bytes.
#pragma once

constexpr unsigned THREADS = 256;
constexpr unsigned QUADS = 2;

struct PlusOne {
    __device__ float operator()(float x) const { return __fadd_rn(x, 1.0f); }
};

struct Squared {
    __device__ float operator()(float a) const { return __fmul_rn(a, a); }
};

struct Halved {
    __device__ float operator()(float b) const { return __fmul_rn(b, 0.5f); }
};

// to[i] = of_element(from[i]) for this block's share of the array; `from` and `to` do not overlap.
template <class OfElement>
__device__ void map_quads(
    const float4* __restrict__ from, float4* __restrict__ to, unsigned quads, OfElement of_element) {
    const unsigned first = blockIdx.x * (THREADS * QUADS) + threadIdx.x;
    float4 held[QUADS];
#pragma unroll
    for (unsigned k = 0; k < QUADS; ++k) {
        if (first + k * THREADS < quads) held[k] = from[first + k * THREADS];
    }
#pragma unroll
    for (unsigned k = 0; k < QUADS; ++k) {
        if (first + k * THREADS < quads) {
            const float4 q = held[k];
            to[first + k * THREADS] =
                make_float4(of_element(q.x), of_element(q.y), of_element(q.z), of_element(q.w));
        }
    }
}
