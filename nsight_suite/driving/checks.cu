// The reductions behind the checks of an output, each a pass over the array that ends in one number.
//
// Compiled for the types at hand: OUTPUT is the type of the output, REFERENCE that of what it is compared with.
// Every result is a maximum or a count, so the order in which threads arrive does not matter. They stand here and
// not as CuPy reductions because CuPy compiles its own against large headers, ten seconds on a machine's first run.

using Index = unsigned long long;

__device__ Index first() { return static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ Index stride() { return static_cast<Index>(gridDim.x) * blockDim.x; }

// The bits of doubles that are not negative are ordered as the doubles are. What is no number counts as the largest.
__device__ void keep_largest(double violation, double* worst) {
    const double most = 1.7976931348623157e308;
    if (!(violation < most)) violation = most;
    atomicMax(reinterpret_cast<Index*>(worst), static_cast<Index>(__double_as_longlong(violation)));
}

// Largest |output - reference| / (absolute + relative * |reference|). What is equal has no error, whatever the limit.
extern "C" __global__ void worst_error(
    const OUTPUT* output, const REFERENCE* reference, Index size, double absolute, double relative, double* worst) {
    double largest = 0.0;
    for (Index i = first(); i < size; i += stride()) {
        const double seen = static_cast<double>(output[i]), expected = static_cast<double>(reference[i]);
        if (seen == expected) continue;
        const double error = fabs(seen - expected) / (absolute + relative * fabs(expected));
        if (!(error <= largest)) largest = error;
        if (error != error) break;  // a NaN is the worst there is
    }
    keep_largest(largest, worst);
}

// Size of the most negative element.
extern "C" __global__ void most_negative(const OUTPUT* output, Index size, double* worst) {
    for (Index i = first(); i < size; i += stride()) {
        if (!(output[i] >= static_cast<OUTPUT>(0))) keep_largest(-static_cast<double>(output[i]), worst);
    }
}

// Number of elements that are NaN or infinite.
extern "C" __global__ void not_finite(const OUTPUT* output, Index size, Index* found) {
    for (Index i = first(); i < size; i += stride()) {
        if (!(fabs(static_cast<double>(output[i])) <= 1.7976931348623157e308)) atomicAdd(found, Index(1));
    }
}

// Number of elements whose bits differ; both arrays are of unsigned integers.
extern "C" __global__ void differing(const OUTPUT* left, const REFERENCE* right, Index size, Index* found) {
    for (Index i = first(); i < size; i += stride()) {
        if (left[i] != right[i]) atomicAdd(found, Index(1));
    }
}

// Largest distance from one of a row's sum in FP64; one warp per row.
extern "C" __global__ void worst_row_sum(const OUTPUT* output, Index rows, Index columns, double* worst) {
    const int lane = threadIdx.x % 32;
    for (Index row = first() / 32; row < rows; row += stride() / 32) {
        double sum = 0.0;
        for (Index i = lane; i < columns; i += 32) sum += static_cast<double>(output[row * columns + i]);
        for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (lane == 0) keep_largest(fabs(sum - 1.0), worst);
    }
}
