// Row softmax in four kernels, one mathematical step each:
//
//     row_max     m = max(x)         reads x       writes m
//     row_exp     e = exp(x - m)     reads x, m    writes e
//     row_sum     z = sum(e)         reads e       writes z
//     row_divide  y = e / z          reads e, z    writes y
//
// Launch shape: one block per row, min(256, columns / 4) threads rounded up to whole warps.
//
// Bytes, with 4-byte floats and A = 4 * rows * columns, R = 4 * rows: reads 4 A + 2 R, writes 2 A + 2 R. A fused
// softmax needs A and A. So once the arrays outgrow the L2 cache, expect about three times the time of one
// kernel, and four times its DRAM reads; for small arrays expect four launches' worth of latency instead.
//
// The steps stay apart on purpose: this is what a framework does that runs one operation after another.
#include "../common.cuh"

extern "C" __global__ void row_max(const float* x, float* m, int columns) {
    const size_t row = blockIdx.x;
    const float share = fold_row(x + row * columns, columns, Maximum(), [](float value) { return value; });
    const float peak = reduce_block(share, Maximum());
    if (threadIdx.x == 0) m[row] = peak;
}

extern "C" __global__ void row_exp(const float* x, const float* m, float* e, int columns) {
    const size_t start = static_cast<size_t>(blockIdx.x) * columns;
    const float peak = m[blockIdx.x];
    map_row(x + start, e + start, columns, [peak](float value) { return expf(value - peak); });
}

extern "C" __global__ void row_sum(const float* e, float* z, int columns) {
    const size_t row = blockIdx.x;
    const float share = fold_row(e + row * columns, columns, Sum(), [](float value) { return value; });
    const float total = reduce_block(share, Sum());
    if (threadIdx.x == 0) z[row] = total;
}

extern "C" __global__ void row_divide(const float* e, const float* z, float* y, int columns) {
    const size_t start = static_cast<size_t>(blockIdx.x) * columns;
    const float total = z[blockIdx.x];
    map_row(e + start, y + start, columns, [total](float value) { return value / total; });
}
