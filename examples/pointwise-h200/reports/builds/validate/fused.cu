// All three steps in one kernel: a and b live in registers, never in memory. Each step is still rounded to
// FP32, so the result has the bits of `separate`.
//
//     add_square_halve   y = ((x + 1) squared) * 0.5      reads x      writes y
//
// Launch shape: 256 threads a block, 2048 elements a block (see steps.cuh): that of each kernel of `separate`.
//
// Bytes: reads 4 N, writes 4 N. That is the floor of any way to compute y from x, so for large arrays expect
// the time of a plain copy, and for small ones one launch.
#include "steps.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    add_square_halve(const float4* x, float4* y, unsigned quads) {
    map_quads(x, y, quads, [](float value) { return Halved()(Squared()(PlusOne()(value))); });
}
