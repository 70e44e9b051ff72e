// RMS-scaled softmax in nine kernels, one whole-array or whole-row operation each:
//
//     square       s = x * x               reads x       writes s
//     mean_square  q = mean(s)             reads s       writes q
//     inverse_rms  r = 1 / sqrt(q + 1e-5)  reads q       writes r
//     row_max      m = max(x)              reads x       writes m
//     subtract     d = x - m               reads x, m    writes d
//     scale        t = d * r               reads d, r    writes t
//     exponential  e = exp(t)              reads t       writes e
//     row_sum      z = sum(e)              reads e       writes z
//     divide       y = e / z               reads e, z    writes y
//
// Launch shape: element by element, 256 threads with one 128-bit piece each; the three reductions, one block of
// 1024 threads per row, so that each stays one kernel without atomics. A single row is then read by one
// multiprocessor alone, which shows.
//
// Bytes, with A = 4 * rows * columns and R = 4 * rows: reads 8 A + 4 R, writes 5 A + 4 R. A fused operator
// needs A and A, so expect about six times its time once the arrays outgrow the L2 cache, and nine launches'
// worth of latency before that.
//
// The steps stay apart on purpose: this is what a framework does that runs one operation after another.
#include "rms.cuh"

// Each element of one row, in 128-bit pieces: to = of_quad(from).
template <class OfQuad>
__device__ void each(const float* from, float* to, int columns, OfQuad of_quad) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= columns / 4) return;
    const size_t at = static_cast<size_t>(blockIdx.y) * (columns / 4) + i;
    reinterpret_cast<float4*>(to)[at] = of_quad(reinterpret_cast<const float4*>(from)[at]);
}

// One row by one block; `of_quad` folds a 128-bit piece.
template <class Operation, class OfQuad>
__device__ float over_row(const float* array, int columns, Operation operation, OfQuad of_quad) {
    const float* row = array + static_cast<size_t>(blockIdx.x) * columns;
    float folded = Operation::identity();
    walk(reinterpret_cast<const float4*>(row), columns / 4,
         [&folded, operation, of_quad](int, float4 q) { folded = operation(folded, of_quad(q)); });
    return reduce_block(folded, operation);
}

extern "C" __global__ void square(const float* x, float* s, int columns) {
    each(x, s, columns, [](float4 q) { return make_float4(q.x * q.x, q.y * q.y, q.z * q.z, q.w * q.w); });
}

extern "C" __global__ void mean_square(const float* s, float* q, int columns) {
    const float total = over_row(s, columns, Sum(), sum_of);
    if (threadIdx.x == 0) q[blockIdx.x] = total / static_cast<float>(columns);
}

extern "C" __global__ void inverse_rms(const float* q, float* r, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) r[row] = 1.0f / sqrtf(q[row] + EPSILON);
}

extern "C" __global__ void row_max(const float* x, float* m, int columns) {
    const float peak = over_row(x, columns, Maximum(), peak_of);
    if (threadIdx.x == 0) m[blockIdx.x] = peak;
}

extern "C" __global__ void subtract(const float* x, const float* m, float* d, int columns) {
    const float peak = m[blockIdx.y];
    each(x, d, columns,
         [peak](float4 q) { return make_float4(q.x - peak, q.y - peak, q.z - peak, q.w - peak); });
}

extern "C" __global__ void scale(const float* d, const float* r, float* t, int columns) {
    const float factor = r[blockIdx.y];
    each(d, t, columns, [factor](float4 q) { return times(q, factor); });
}

extern "C" __global__ void exponential(const float* t, float* e, int columns) {
    each(t, e, columns, [](float4 q) { return make_float4(expf(q.x), expf(q.y), expf(q.z), expf(q.w)); });
}

extern "C" __global__ void row_sum(const float* e, float* z, int columns) {
    const float total = over_row(e, columns, Sum(), sum_of);
    if (threadIdx.x == 0) z[blockIdx.x] = total;
}

extern "C" __global__ void divide(const float* e, const float* z, float* y, int columns) {
    const float total = z[blockIdx.y];
    each(e, y, columns,
         [total](float4 q) { return make_float4(q.x / total, q.y / total, q.z / total, q.w / total); });
}
