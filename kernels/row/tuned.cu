// Row softmax as fast as the device lets it: one kernel per invocation, chosen by the table in tuned.py.
//
// Every kernel here keeps its row in registers, from one 128-bit load to one 128-bit store of each four floats:
// x is read once and y written once. The width is a constant of the kernel, so there is no loop, no mask and no
// test, and a launch that is over in a microsecond has little code to fetch. A name tells the launch shape:
//
//     row_1024_w2q4    a row of 1024 floats: 2 warps, 4 quads (of 4 floats) per thread
//     row_128_l8q4     a row of 128 floats: 8 lanes of a warp, 4 quads per thread; 4 rows share a warp
//     ..._ls           loads and stores are marked to leave the caches first: x is dead once it is read, and y
//                      is not read again by this kernel
//     ..._c8           8 rows per block, a warp each, whose sum is counted in fixed point: see below
//     row_any          any width up to 16 floats per thread, one block per row, masked: for all else
//
// Blocks of the kernels with lanes hold as many rows as the launch gives them threads, but for those that name
// the number; the rows must fill whole blocks. tuned.py sees to both.
//
// Instructions per element: one maximum, one fused multiply-add and one ex2 for the exponential, one addition,
// one multiplication. With L = log2(e), M = round(L * maximum), e' = ex2(fma(x, L, -M)) is exp(x - maximum) but
// for a factor that a whole row shares (at most 2^(ulp(M) / 2)) and that the division by the row's sum takes
// out again; what is left of the error is the rounding of the exponent, some 1e-6 relative where y matters.
// Dividing is multiplying by rcp.approx of the sum, which lies between about 1 and the width.
// tests/test_row_tuned.py holds the arithmetic against FP64 on every fixture.
//
// Where several warps share a row there is one barrier, not two: each warp takes the exponentials relative to
// its own maximum, the pairs (maximum, sum) meet in shared memory, and each warp's share is rescaled by the
// same multiplication that divides by the sum. A warp's maximum is one redux on integers that order as floats
// do.
//
// Floor (132 multiprocessors, a copy moving 4.19 TB/s read and write together):
//
//     1x128, 32x1024       a launch and one round trip to memory; bytes are nothing
//     4096x128             4.2 MB, in the L2 cache: 1.0 µs at DRAM speed, so again the launch
//     4096x1024            33.6 MB, in the L2 cache: 8.0 µs at DRAM speed, less from L2
//     4096x4096,16384x1024 134 MB, more than the L2 cache: 32.0 µs
//
// A launch by graph replay and the wait for it cost the host about 7 µs, to be added to all of them. 4.2 TB/s
// with some 800 ns of latency needs 3.4 MB in flight, 26 KB per multiprocessor; every kernel here can have 48
// KB or more.
//
// What was tried, the telling part of it. Host completion in µs, medians of 51 rounds on an H200 on 2026-11-30,
// by `python benchmarks/kernels.py --only row --sweep`, beside what had been predicted; xN is threads per
// block, where it mattered. What stood twice in a table differed by up to 0.6 % in its medians, so what differs
// by less than 1 % is taken for equal. A * marks what the rule says now; what lost is no longer in this file.
//
//     shape        kernel        predicted  measured   copy
//     1x128        l32q1            7.1       7.33     7.05   a
//     32x1024      w4q2             8.3       8.09     7.79   b
//                  w1q8             8.6       8.17
//                  w4q2_ls           -        7.99 *
//     4096x128     l8q4 x128        8.1       7.67     7.50   c
//                  l32q1 x32        8.5       9.70
//                  l32q1 x256        -        7.67
//     4096x1024    w1q8            12.5      12.73    12.32   d
//                  w1q8_ls         12.6      12.61
//                  w4q2              -       12.89
//                  w4q2_ls           -       12.26 *
//                  w8q1              -       13.09
//     4096x4096    w8q4            40.8      42.29 *  42.42   e
//                  w8q4_s          39.5      42.41
//                  w8q4_ls         40.5      42.76
//                  w8q4_p          40.5      43.12
//                  w4q8_ls           -       42.51
//                  w16q2_ls          -       43.29
//     16384x1024   w2q4_s          41.0      43.35    44.37   f
//                  w1q8_ls         42.0      42.49
//                  w2q4              -       42.96
//                  w2q4_ls           -       42.22 *
//                  w4q2              -       44.45
//                  w4q2_ls           -       43.47
//                  w2q4_p            -       43.07
//                  w8q1              -       45.96
//
//     (_s: stores marked alone; _p: persistent, a row's loads in flight while the row before it is stored)
//
// And in later runs, of other hours and so with other copies, sums that are counted:
//
//     1x128        l32q1             -        7.49    7.25    g
//                  l32q1_c1         7.29      7.32 *
//     32x1024      w4q2_ls           -        7.83    7.75
//                  w4q2_ls_c        7.96      7.82
//     4096x128     l8q4 x128         -        8.63    8.36    h
//                  l32q1 x256        -        8.43
//                  l32q1_c8          -        8.42
//                  l32q1_c16         -        8.40 *
//                  l32q1_c32         -        8.57
//
//  a  The launch is not quite all. From load to store one dependent chain runs (redux, ex2, five shuffles, rcp),
//     by its instructions' latencies some 300 clocks, 0.15 µs, and there are 60 instructions to fetch.
//  b  A fixed part of 7 µs and a serial part were added up where they overlap: from 1 to 8 warps per row all
//     kernels lie within 0.3 µs.
//  c  It is blocks that cost, not warps or shuffles: 4096 blocks of one warp take 1.9 µs longer than 1024 of
//     four, 0.6 ns a block, and l32q1 in large blocks is as fast as l8q4.
//  d  w1q8 was predicted well, but shorter threads are faster on the device (6.6 against 7.0 µs), probably as a
//     warp's 8 quads of exponentials are one serial part. Host times scatter here (p90 up to 17 µs, the copy's
//     too), so 12.26 against 12.89 for the same kernel without marks says little: on the device they take 6.59
//     and 6.61.
//  e  The copy itself takes 42.4 µs, 33.8 on the device: over 134 MB it moves 4.0 TB/s, not the 4.19 of 512
//     MiB. Marks and persistence change nothing beyond noise or lose; nothing of x is left in the cache to gain.
//  f  Marking stores alone gains nothing, marking both 2 to 3 % at w1q8, w2q4 and w4q2 alike. Eight warps per
//     row lose 7 % against two, both without marks: a barrier for one load per thread.
//  g  A warp's sum by one redux in fixed point instead of five shuffles and additions: about 75 clocks with both
//     conversions against 140, and an address without blockDim some 20 clocks less before the load: 85 clocks
//     were predicted to give 0.04 µs and gave 0.08 to 0.17. At 32x1024, where the difference is taken before the
//     multiply-add so that no sum can overflow, it gave nothing, and is out of this file.
//  h  Fewer blocks were predicted to gain 0.6 ns each, 0.15 µs from 512 to 256, and gained nothing that can be
//     seen; 128 blocks leave four multiprocessors without one and lose.
//
// Against the goal of 1.03 times the fastest peer (paired ratios, four runs in docs/measurements.md): reached at
// every shape but 32x1024, where a memcpy node is 1 to 5 % faster and the same copy as a kernel is not. Not tried
// there, for want of a reason: launch attributes (a graph of one node has nothing to overlap with), L2 policies
// (the bytes are few), fewer parameters (there are two).
//
// What stays on the table for the large ones: bulk copies through shared memory (cp.async.bulk), which would free
// the registers that hold a row in flight. With 48 KB in flight and more, memory and not the number of loads is
// the limit, and the copies that the driver makes are no faster. Pinning a part of x in the L2 cache between
// invocations would beat the floor of a warm loop and nothing else, so it is left out.
#include "../common.cuh"

constexpr float LOG2_E = 1.44269504f;
constexpr float LOWEST = -3.40282347e38f;

enum class Marks { NONE, BOTH };

template <Marks MARKS>
__device__ float4 load_quad(const float4* from) {
    return MARKS == Marks::BOTH ? __ldcs(from) : __ldg(from);
}

template <Marks MARKS>
__device__ void store_quad(float4* to, float4 q) {
    if constexpr (MARKS == Marks::BOTH) {
        __stcs(to, q);
    } else {
        *to = q;
    }
}

__device__ inline float exp2_fast(float value) {
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(value));
    return value;
}

__device__ inline float reciprocal(float value) {
    asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(value));
    return value;
}

// Integers that are ordered as the floats are, and back: negative floats have all bits but the sign turned
// over.
__device__ inline int ordered(float value) {
    const int bits = __float_as_int(value);
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

__device__ inline float of_ordered(int bits) { return __int_as_float(bits ^ ((bits >> 31) & 0x7fffffff)); }

// Over the aligned groups of LANES lanes of a warp, all of whose lanes take part.
template <int LANES>
__device__ float maximum_of_lanes(float value) {
    if constexpr (LANES == WARP) return of_ordered(__reduce_max_sync(ALL_LANES, ordered(value)));
#pragma unroll
    for (int offset = LANES / 2; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(ALL_LANES, value, offset));
    }
    return value;
}

template <int LANES>
__device__ float sum_of_lanes(float value) {
#pragma unroll
    for (int offset = LANES / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(ALL_LANES, value, offset);
    return value;
}

// The sum over a warp by one redux. The values are whole numbers but for a rounding by half, so what is summed
// should be large; all of them together must stay below 2^32.
__device__ inline float counted(float value) {
    return static_cast<float>(__reduce_add_sync(ALL_LANES, __float2uint_rn(value)));
}

// What the warps of a row tell each other.
template <int WARPS>
struct Shares {
    float peak[WARPS];
    float total[WARPS];
};

// A thread's part of a row: quads `thread`, `thread + THREADS`, … of it.
template <int THREADS, int QUADS>
struct Part {
    float4 quad[QUADS];

    template <Marks MARKS>
    __device__ void load(const float* row, int thread) {
        const float4* from = reinterpret_cast<const float4*>(row) + thread;
#pragma unroll
        for (int k = 0; k < QUADS; ++k) quad[k] = load_quad<MARKS>(from + k * THREADS);
    }

    template <Marks MARKS>
    __device__ void store(float* row, int thread) const {
        float4* to = reinterpret_cast<float4*>(row) + thread;
#pragma unroll
        for (int k = 0; k < QUADS; ++k) store_quad<MARKS>(to + k * THREADS, quad[k]);
    }

    __device__ float maximum() const {
        float found = negative_infinity();
#pragma unroll
        for (int k = 0; k < QUADS; ++k) {
            found = fmaxf(found, fmaxf(fmaxf(quad[k].x, quad[k].y), fmaxf(quad[k].z, quad[k].w)));
        }
        return found;
    }

    // Every value to its exponential relative to the one whose scaled value is `peak`; gives their sum.
    __device__ float exponentials(float peak) {
        float total = 0.0f;
#pragma unroll
        for (int k = 0; k < QUADS; ++k) {
            float4& q = quad[k];
            q.x = exp2_fast(fmaf(q.x, LOG2_E, -peak));
            q.y = exp2_fast(fmaf(q.y, LOG2_E, -peak));
            q.z = exp2_fast(fmaf(q.z, LOG2_E, -peak));
            q.w = exp2_fast(fmaf(q.w, LOG2_E, -peak));
            total += (q.x + q.y) + (q.z + q.w);
        }
        return total;
    }

    // The same 2^24 times as large, relative to a maximum that is not scaled yet. The difference is taken
    // first, so that no value exceeds 2^24 however large the maximum, and a warp's sum not 2^31.
    __device__ float large_exponentials(float highest) {
        static_assert(QUADS == 1, "the sum of a warp would not fit");
        constexpr float BITS = 24.0f;
        float4& q = quad[0];
        q.x = exp2_fast(fmaf(q.x - highest, LOG2_E, BITS));
        q.y = exp2_fast(fmaf(q.y - highest, LOG2_E, BITS));
        q.z = exp2_fast(fmaf(q.z - highest, LOG2_E, BITS));
        q.w = exp2_fast(fmaf(q.w - highest, LOG2_E, BITS));
        return (q.x + q.y) + (q.z + q.w);
    }

    __device__ void scale(float by) {
#pragma unroll
        for (int k = 0; k < QUADS; ++k) {
            quad[k].x *= by;
            quad[k].y *= by;
            quad[k].z *= by;
            quad[k].w *= by;
        }
    }

    // Softmax of a row of one warp, or of LANES lanes of one.
    template <int LANES>
    __device__ void softmax_in_warp() {
        const float peak = maximum_of_lanes<LANES>(maximum()) * LOG2_E;
        scale(reciprocal(sum_of_lanes<LANES>(exponentials(peak))));
    }

    __device__ void softmax_in_warp_counted() {
        scale(reciprocal(counted(large_exponentials(maximum_of_lanes<WARP>(maximum())))));
    }

    // Softmax of a row of the whole block, with one barrier. A warp that holds nothing but -infinity (a masked
    // part of a row) takes a finite maximum, so that its exponentials are zeros and not NaN.
    __device__ void softmax_in_block() {
        const float peak = fmaxf(maximum_of_lanes<WARP>(maximum()) * LOG2_E, LOWEST);
        scale(share_of_row(peak, sum_of_lanes<WARP>(exponentials(peak))));
    }

    // What this warp's exponentials are to be multiplied by: every warp tells its scaled maximum, and its sum
    // relative to it.
    static __device__ float share_of_row(float peak, float total) {
        constexpr int WARPS = THREADS / WARP;
        __shared__ Shares<WARPS> shares;
        if (threadIdx.x % WARP == 0) {
            shares.peak[threadIdx.x / WARP] = peak;
            shares.total[threadIdx.x / WARP] = total;
        }
        __syncthreads();
        float highest = shares.peak[0];
#pragma unroll
        for (int warp = 1; warp < WARPS; ++warp) highest = fmaxf(highest, shares.peak[warp]);
        float sum = 0.0f;
#pragma unroll
        for (int warp = 0; warp < WARPS; ++warp) {
            sum += shares.total[warp] * exp2_fast(shares.peak[warp] - highest);
        }
        return exp2_fast(peak - highest) * reciprocal(sum);
    }
};

template <int LANES, int QUADS, Marks MARKS>
__device__ void rows_in_warps(const float* x, float* y) {
    const int lane = threadIdx.x % LANES;
    const size_t row = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES;
    const size_t start = row * (LANES * QUADS * 4);
    Part<LANES, QUADS> part;
    part.template load<MARKS>(x + start, lane);
    part.template softmax_in_warp<LANES>();
    part.template store<MARKS>(y + start, lane);
}

template <int WARPS, int QUADS, Marks MARKS>
__device__ void row_in_block(const float* x, float* y) {
    const size_t start = static_cast<size_t>(blockIdx.x) * (WARPS * WARP * QUADS * 4);
    Part<WARPS * WARP, QUADS> part;
    part.template load<MARKS>(x + start, threadIdx.x);
    part.softmax_in_block();
    part.template store<MARKS>(y + start, threadIdx.x);
}

// The number of rows is a constant, so that an address needs neither blockDim nor, of a single row, threadIdx.
template <int ROWS, int QUADS, Marks MARKS>
__device__ void rows_counted(const float* x, float* y) {
    const int lane = ROWS == 1 ? threadIdx.x : threadIdx.x % WARP, warp = ROWS == 1 ? 0 : threadIdx.x / WARP;
    const size_t start = (static_cast<size_t>(blockIdx.x) * ROWS + warp) * (WARP * QUADS * 4);
    Part<WARP, QUADS> part;
    part.template load<MARKS>(x + start, lane);
    part.softmax_in_warp_counted();
    part.template store<MARKS>(y + start, lane);
}

#define KERNEL(NAME, MOST_THREADS, BODY, SIZE, QUADS, MARKS)                                          \
    extern "C" __global__ void __launch_bounds__(MOST_THREADS)                                        \
        NAME(const float* __restrict__ x, float* __restrict__ y) {                                    \
        BODY<SIZE, QUADS, Marks::MARKS>(x, y);                                                        \
    }

KERNEL(row_128_l8q4, 256, rows_in_warps, 8, 4, NONE)
KERNEL(row_128_l32q1, 256, rows_in_warps, 32, 1, NONE)
KERNEL(row_128_l32q1_c1, 32, rows_counted, 1, 1, NONE)
KERNEL(row_128_l32q1_c8, 256, rows_counted, 8, 1, NONE)
KERNEL(row_128_l32q1_c16, 512, rows_counted, 16, 1, NONE)
KERNEL(row_128_l32q1_c32, 1024, rows_counted, 32, 1, NONE)

KERNEL(row_1024_w2q4_ls, 64, row_in_block, 2, 4, BOTH)
KERNEL(row_1024_w4q2_ls, 128, row_in_block, 4, 2, BOTH)

KERNEL(row_4096_w8q4, 256, row_in_block, 8, 4, NONE)
KERNEL(row_4096_w4q8_ls, 128, row_in_block, 4, 8, BOTH)

constexpr int HELD = 16;

// One block per row, up to HELD floats per thread; what lies beyond the row is -infinity, whose exponential is
// zero.
extern "C" __global__ void __launch_bounds__(1024) row_any(const float* x, float* y, int columns) {
    const float* from = x + static_cast<size_t>(blockIdx.x) * columns;
    float* to = y + static_cast<size_t>(blockIdx.x) * columns;
    float held[HELD];
    float peak = negative_infinity();
#pragma unroll
    for (int k = 0; k < HELD; ++k) {
        const int i = k * blockDim.x + threadIdx.x;
        held[k] = i < columns ? from[i] : negative_infinity();
        peak = fmaxf(peak, held[k]);
    }
    peak = reduce_block(peak, Maximum()) * LOG2_E;
    float total = 0.0f;
#pragma unroll
    for (int k = 0; k < HELD; ++k) {
        held[k] = exp2_fast(fmaf(held[k], LOG2_E, -peak));
        total += held[k];
    }
    const float scale = reciprocal(reduce_block(total, Sum()));
#pragma unroll
    for (int k = 0; k < HELD; ++k) {
        const int i = k * blockDim.x + threadIdx.x;
        if (i < columns) to[i] = held[k] * scale;
    }
}
