// Row softmax as fast as the device lets it: one kernel per invocation, chosen by the table in tuned.py.
//
// Every kernel here keeps its row in registers, from one 128-bit load to one 128-bit store of each four floats:
// x is read once and y written once. The width is a constant of the kernel, so there is no loop, no mask and no
// test, and a launch that is over in a microsecond has little code to fetch. A name tells the launch shape:
//
//     row_1024_w2q4    a row of 1024 floats: 2 warps, 4 quads (of 4 floats) per thread
//     row_128_l8q4     a row of 128 floats: 8 lanes of a warp, 4 quads per thread; 4 rows share a warp
//     ..._s            stores are marked to leave the caches first; y is not read again by this kernel
//     ..._l, ..._ls    loads are, or both: x is dead once it is read
//     ..._p            persistent: as many blocks as fit at once, and a row's loads are in flight while the
//                      row before it is summed and stored (loads and stores marked as in _ls)
//     row_any          any width up to 16 floats per thread, one block per row, masked: for all else
//
// Blocks of the first kind of width (one warp or less per row) hold as many rows as the launch gives them
// threads; the rows must fill whole blocks. tuned.py sees to both.
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
// Floor (132 multiprocessors, a copy moving 4.3 TB/s read and write together):
//
//     1x128, 32x1024       a launch and one round trip to memory; bytes are nothing
//     4096x128             4.2 MB, in the L2 cache: 1.0 µs at DRAM speed, so again the launch
//     4096x1024            33.6 MB, in the L2 cache: 7.8 µs at DRAM speed, less from L2
//     4096x4096,16384x1024 134 MB, more than the L2 cache: 31.2 µs
//
// A launch by graph replay and the wait for it cost the host about 7 µs, to be added to all of them. 4.3 TB/s
// with some 800 ns of latency needs 3.4 MB in flight, 26 KB per multiprocessor; every kernel here can have 48
// KB or more.
//
// What was tried (host completion on an H200 as benchmarks/kernels.py --sweep prints it, predicted before; the
// device's part is what remains above 7 µs):
//
//     shape        kernel             predicted   because
//     1x128        l32q1                 7.1      one warp, one load and one store per lane: the launch is all
//     32x1024      w4q2                  8.3      a warp per scheduler, 8 exponentials a lane (w1q8: 32, 8.6)
//     4096x128     l8q4                  8.1      a quarter of the warps, 6 shuffles not 10 (l32q1: 8.5)
//     4096x1024    w1q8                 12.5      all rows resident at once, no barrier; L2 moves 33.6 MB in 5 µs
//     4096x1024    w1q8_ls              12.6      marks cannot help where nothing has to leave the cache
//     4096x4096    w8q4                 40.8      as fast as a copy: 31 µs, launch, 2 µs of start and end
//     4096x4096    w8q4_s               39.5      y leaves the L2 cache first, so x partly stays in it
//     4096x4096    w8q4_ls              40.5      neither stays: the traffic of the floor, less disorder
//     4096x4096    w8q4_p               40.5      no block starts; reads and writes are spread evenly
//     16384x1024   w2q4_s               41.0      as w8q4_s; four times as many blocks, a quarter of the size
//     16384x1024   w1q8_ls              42.0      long serial part per warp, fewer warps
//
// What stays on the table: bulk copies through shared memory (cp.async.bulk), which would free the registers
// that hold a row in flight. With 48 KB in flight and more, memory and not the number of loads is the limit, so
// at most the 2 µs of start and end are to be had. Pinning a part of x in the L2 cache between invocations
// would beat the floor of a warm loop and nothing else, so it is left out.
#include "../common.cuh"

constexpr float LOG2_E = 1.44269504f;
constexpr float LOWEST = -3.40282347e38f;

enum class Marks { NONE, STORES, LOADS, BOTH };

template <Marks MARKS>
__device__ float4 load_quad(const float4* from) {
    return MARKS == Marks::LOADS || MARKS == Marks::BOTH ? __ldcs(from) : __ldg(from);
}

template <Marks MARKS>
__device__ void store_quad(float4* to, float4 q) {
    if constexpr (MARKS == Marks::STORES || MARKS == Marks::BOTH) {
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

// What the warps of a row tell each other. Two of them in turn, where a block takes one row after another.
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

    // Softmax of a row of the whole block, with one barrier. A warp that holds nothing but -infinity (a masked
    // part of a row) takes a finite maximum, so that its exponentials are zeros and not NaN.
    __device__ void softmax_in_block(Shares<THREADS / WARP>& shares) {
        constexpr int WARPS = THREADS / WARP;
        const float peak = fmaxf(maximum_of_lanes<WARP>(maximum()) * LOG2_E, LOWEST);
        const float total = sum_of_lanes<WARP>(exponentials(peak));
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
        scale(exp2_fast(peak - highest) * reciprocal(sum));
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
    __shared__ Shares<WARPS> shares;
    const size_t start = static_cast<size_t>(blockIdx.x) * (WARPS * WARP * QUADS * 4);
    Part<WARPS * WARP, QUADS> part;
    part.template load<MARKS>(x + start, threadIdx.x);
    part.softmax_in_block(shares);
    part.template store<MARKS>(y + start, threadIdx.x);
}

// Rows blockIdx.x, blockIdx.x + gridDim.x, … The shares are two in turn: a warp that is one row ahead writes to
// those that nobody reads any more, for to be two rows ahead it would have to pass a barrier that all pass.
template <int WARPS, int QUADS>
__device__ void rows_in_turn(const float* x, float* y, int rows) {
    constexpr int THREADS = WARPS * WARP;
    constexpr int COLUMNS = THREADS * QUADS * 4;
    __shared__ Shares<WARPS> shares[2];
    Part<THREADS, QUADS> part, next;
    int turn = 0;
    int row = blockIdx.x;
    if (row >= rows) return;
    part.template load<Marks::BOTH>(x + static_cast<size_t>(row) * COLUMNS, threadIdx.x);
    for (;;) {
        const int following = row + gridDim.x;
        if (following < rows) {
            next.template load<Marks::BOTH>(x + static_cast<size_t>(following) * COLUMNS, threadIdx.x);
        }
        part.softmax_in_block(shares[turn]);
        part.template store<Marks::BOTH>(y + static_cast<size_t>(row) * COLUMNS, threadIdx.x);
        if (following >= rows) return;
        part = next;
        row = following;
        turn ^= 1;
    }
}

#define ROWS_IN_WARPS(NAME, LANES, QUADS, MARKS)                                                      \
    extern "C" __global__ void __launch_bounds__(256)                                                 \
        NAME(const float* __restrict__ x, float* __restrict__ y) {                                    \
        rows_in_warps<LANES, QUADS, Marks::MARKS>(x, y);                                              \
    }
#define ROW_IN_BLOCK(NAME, WARPS, QUADS, MARKS)                                                       \
    extern "C" __global__ void __launch_bounds__(WARPS* WARP)                                         \
        NAME(const float* __restrict__ x, float* __restrict__ y) {                                    \
        row_in_block<WARPS, QUADS, Marks::MARKS>(x, y);                                               \
    }
#define ROWS_IN_TURN(NAME, WARPS, QUADS, BLOCKS)                                                      \
    extern "C" __global__ void __launch_bounds__(WARPS* WARP, BLOCKS)                                 \
        NAME(const float* __restrict__ x, float* __restrict__ y, int rows) {                          \
        rows_in_turn<WARPS, QUADS>(x, y, rows);                                                       \
    }

ROWS_IN_WARPS(row_128_l32q1, 32, 1, NONE)
ROWS_IN_WARPS(row_128_l16q2, 16, 2, NONE)
ROWS_IN_WARPS(row_128_l8q4, 8, 4, NONE)

ROWS_IN_WARPS(row_1024_w1q8, 32, 8, NONE)
ROWS_IN_WARPS(row_1024_w1q8_s, 32, 8, STORES)
ROWS_IN_WARPS(row_1024_w1q8_ls, 32, 8, BOTH)
ROW_IN_BLOCK(row_1024_w2q4, 2, 4, NONE)
ROW_IN_BLOCK(row_1024_w2q4_s, 2, 4, STORES)
ROW_IN_BLOCK(row_1024_w2q4_l, 2, 4, LOADS)
ROW_IN_BLOCK(row_1024_w2q4_ls, 2, 4, BOTH)
ROW_IN_BLOCK(row_1024_w4q2, 4, 2, NONE)
ROW_IN_BLOCK(row_1024_w4q2_ls, 4, 2, BOTH)
ROW_IN_BLOCK(row_1024_w8q1, 8, 1, NONE)
ROWS_IN_TURN(row_1024_w2q4_p, 2, 4, 16)

ROW_IN_BLOCK(row_4096_w4q8_ls, 4, 8, BOTH)
ROW_IN_BLOCK(row_4096_w8q4, 8, 4, NONE)
ROW_IN_BLOCK(row_4096_w8q4_s, 8, 4, STORES)
ROW_IN_BLOCK(row_4096_w8q4_l, 8, 4, LOADS)
ROW_IN_BLOCK(row_4096_w8q4_ls, 8, 4, BOTH)
ROW_IN_BLOCK(row_4096_w16q2_ls, 16, 2, BOTH)
ROWS_IN_TURN(row_4096_w8q4_p, 8, 4, 4)

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
