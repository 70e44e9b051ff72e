// Two kernels, one operation each; the product t goes through global memory.
//
// Launch shape: blocks of 256 threads, one element per thread.
// Bytes, with A = 4 * elements: multiply reads A and writes A, add reads A and writes A.

extern "C" __global__ void multiply(const float* x, float* t, int elements) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < elements) t[i] = 2.0f * x[i];
}

extern "C" __global__ void add(const float* t, float* y, int elements) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < elements) y[i] = t[i] + 1.0f;
}
