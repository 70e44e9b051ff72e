// Three kernels, one step each, with both intermediates in global memory:
//
//     add_one   a = x + 1      reads x      writes a
//     square    b = a * a      reads a      writes b
//     halve     y = b * 0.5    reads b      writes y
//
// Launch shape: 256 threads a block, 2048 elements a block (see steps.cuh).
//
// Bytes: each kernel reads 4 N and writes 4 N, 24 N together, against 8 N of one fused kernel. At N =
// 16,777,216 an array is 64 MiB: more than the L2 cache keeps, so expect three times the traffic and the time
// of `fused`. At 4 MiB an array (N = 1,048,576) a and b stay in the cache, and at 1 KiB nothing is left but
// three launches.
//
// Instructions: one addition or product per element and kernel: nothing beside the memory.
#include "steps.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) add_one(const float4* x, float4* a, unsigned quads) {
    map_quads(x, a, quads, PlusOne());
}

extern "C" __global__ void __launch_bounds__(THREADS) square(const float4* a, float4* b, unsigned quads) {
    map_quads(a, b, quads, Squared());
}

extern "C" __global__ void __launch_bounds__(THREADS) halve(const float4* b, float4* y, unsigned quads) {
    map_quads(b, y, quads, Halved());
}
