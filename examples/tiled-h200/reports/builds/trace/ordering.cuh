// How blocks of one running kernel tell one another that something is written: the words of PTX's memory model,
// at the scope of the device, and barriers of a cluster and of the whole grid.
//
// `release` orders everything that the thread has seen or done before it, and by a barrier of the block
// everything that the block has done, before its own write. `acquire` that reads this write orders everything
// after it. What other blocks have written may therefore be read by ordinary loads after an acquire, and a
// block barrier passes the right on to the other threads of the block.
#pragma once

__device__ inline unsigned load_relaxed(const unsigned* at) {
    unsigned value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ inline unsigned load_acquire(const unsigned* at) {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ inline void store_release(unsigned* at, unsigned value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

__device__ inline void add_release(unsigned* at, unsigned value) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

// These give the value before.
__device__ inline unsigned fetch_add_relaxed(unsigned* at, unsigned value) {
    unsigned before;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(at), "r"(value)
                 : "memory");
    return before;
}

__device__ inline unsigned fetch_add(unsigned* at, unsigned value) {
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(at), "r"(value)
                 : "memory");
    return before;
}

__device__ inline unsigned compare_and_swap(unsigned* at, unsigned expected, unsigned wanted) {
    unsigned before;
    asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(before)
                 : "l"(at), "r"(expected), "r"(wanted)
                 : "memory");
    return before;
}

// Before Hopper there are no clusters, and none of this may be relied on: a kernel compiles and must not meet.
#if __CUDA_ARCH__ >= 900
#define IN_CLUSTERS_OF(blocks) __cluster_dims__(blocks, 1, 1)
#else
#define IN_CLUSTERS_OF(blocks)
#endif

__device__ inline unsigned rank_in_cluster() {
    unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}

// No thread of the cluster goes on before all have come here, and then each sees what any wrote before, to
// shared or to global memory. The hardware starts the blocks of a cluster together, so there is nothing to ask
// of the launch.
__device__ inline void cluster_barrier() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
#endif
}

// No thread of the grid goes on before all have come here, and then each sees what any wrote before. Every
// block must be resident: a cooperative launch.
//
// The highest bit of `*generation` tells barriers apart. Block 0 adds what the others leave lacking to 2^31, so
// that each barrier flips the bit and leaves the bits below as they were: the word needs no reset between
// barriers or launches.
__device__ inline void grid_barrier(unsigned* generation) {
    constexpr unsigned FLIPPED = 0x80000000u;
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned before = fetch_add(generation, blockIdx.x == 0 ? FLIPPED - (gridDim.x - 1) : 1u);
        while (((before ^ load_acquire(generation)) & FLIPPED) == 0) {}
    }
    __syncthreads();
}
