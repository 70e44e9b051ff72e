// The host's floor: what a C++ program needs for what the drivers do from Python.
//
// The same kernels with the same launch shapes, and the timing pass's method: 10 warm-ups, then rounds in which
// every case of a shape runs once in a shuffled order, each timed by the steady clock from just before submission
// to the return of stream synchronisation. One JSON object per case is printed: {variant, submission, shape,
// rounds, median_ns, p10_ns, p90_ns}. benchmarks/host_overhead.py compares them with the timing pass.
//
//     nvcc -O3 -std=c++17 --fmad=false -arch=sm_90 -o host_floor benchmarks/host_floor.cu -ldl
//     ./host_floor [--rounds 21] [--cudnn /path/to/libcudnn.so.9]
//
// Exit status: 0 fine, 1 a wrong output, 2 a failed call. Without cuDNN its cases are left out, and stderr says so.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "../kernels/row/fused.cu"
#include "../kernels/row/staged.cu"

struct Shape {
    int rows, columns;
};

// The timed shapes of capture/row/protocol.toml.
constexpr Shape SHAPES[] = {{1, 128}, {32, 1024}, {4096, 128}, {4096, 1024}, {4096, 4096}, {16384, 1024}};
constexpr int WARM_UPS = 10;

void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "host_floor: %s: %s\n", what, cudaGetErrorString(status));
    std::exit(2);
}

#define CHECK(call) check(call, #call)

int whole_warps(double threads, int least, int most) {
    return std::min(most, std::max(least, static_cast<int>(std::ceil(threads / 32)) * 32));
}

// cuDNN by its C interface; no header of it is needed to build this file.
class Cudnn {
public:
    explicit Cudnn(const char* path, cudaStream_t stream) : library_(dlopen(path, RTLD_NOW)) {
        if (!library_) {
            std::fprintf(stderr, "host_floor: no cuDNN, its cases are left out: %s\n", dlerror());
            return;
        }
        function<int(void**)>("cudnnCreate")(&handle_);
        function<int(void*, cudaStream_t)>("cudnnSetStream")(handle_, stream);
        forward_ = function<Forward>("cudnnSoftmaxForward");
    }

    explicit operator bool() const { return library_ != nullptr; }

    // What enqueues y = softmax(x): accurate, instance mode, rows images of `columns` channels and one pixel.
    std::function<int()> softmax(const float* x, float* y, Shape shape) const {
        void* descriptor = nullptr;
        function<int(void**)>("cudnnCreateTensorDescriptor")(&descriptor);
        constexpr int NCHW = 0, FLOAT = 0, ACCURATE = 1, INSTANCE = 0;
        function<int(void*, int, int, int, int, int, int)>("cudnnSetTensor4dDescriptor")(
            descriptor, NCHW, FLOAT, shape.rows, shape.columns, 1, 1);
        return [this, descriptor, x, y] {
            const float one = 1, zero = 0;
            return forward_(handle_, ACCURATE, INSTANCE, &one, descriptor, x, &zero, descriptor, y);
        };
    }

private:
    using Forward = int(void*, int, int, const void*, void*, const void*, const void*, void*, void*);

    template <class Signature>
    Signature* function(const char* name) const {
        void* found = dlsym(library_, name);
        if (!found) {
            std::fprintf(stderr, "host_floor: cuDNN lacks %s\n", name);
            std::exit(2);
        }
        return reinterpret_cast<Signature*>(found);
    }

    void* library_;
    void* handle_ = nullptr;
    Forward* forward_ = nullptr;
};

struct Arrays {
    float *x, *y, *m, *e, *z;
};

int launch_staged(const Arrays& on, Shape shape, cudaStream_t stream) {
    const int threads = whole_warps(shape.columns / 4.0, 32, 256);
    row_max<<<shape.rows, threads, 0, stream>>>(on.x, on.m, shape.columns);
    row_exp<<<shape.rows, threads, 0, stream>>>(on.x, on.m, on.e, shape.columns);
    row_sum<<<shape.rows, threads, 0, stream>>>(on.e, on.z, shape.columns);
    row_divide<<<shape.rows, threads, 0, stream>>>(on.e, on.z, on.y, shape.columns);
    return 0;
}

int launch_fused(const Arrays& on, Shape shape, cudaStream_t stream) {
    const bool narrow = shape.columns <= 256;
    const dim3 block(narrow ? 32 : whole_warps(shape.columns / 16.0, 128, 1024), narrow ? 4 : 1);
    const int blocks = (shape.rows + block.y - 1) / block.y;
    row_softmax<<<blocks, block, 0, stream>>>(on.x, on.y, shape.rows, shape.columns);
    return 0;
}

struct Case {
    std::string variant, submission;
    std::function<int()> submit;
    std::vector<double> durations_ns;
};

double quantile(std::vector<double> sorted, double share) {
    std::sort(sorted.begin(), sorted.end());
    const double at = share * (sorted.size() - 1);
    const size_t below = static_cast<size_t>(at), above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

cudaGraphExec_t captured(const std::function<int()>& submit, cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    submit();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphUpload(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphDestroy(graph));
    return executable;
}

void run(const Case& one, cudaStream_t stream) {
    if (const int status = one.submit()) {
        std::fprintf(stderr, "host_floor: %s %s: status %d\n", one.variant.c_str(), one.submission.c_str(),
                     status);
        std::exit(2);
    }
    CHECK(cudaStreamSynchronize(stream));
}

// Each row sums to one, and nothing is left of the NaN that the output was filled with.
void verify(const Case& one, const Arrays& on, Shape shape, cudaStream_t stream) {
    const size_t elements = static_cast<size_t>(shape.rows) * shape.columns;
    std::vector<float> y(elements);
    CHECK(cudaMemsetAsync(on.y, 0xff, elements * sizeof(float), stream));
    run(one, stream);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(y.data(), on.y, elements * sizeof(float), cudaMemcpyDeviceToHost));
    for (int row = 0; row < shape.rows; ++row) {
        double sum = 0;
        for (int i = 0; i < shape.columns; ++i) sum += y[static_cast<size_t>(row) * shape.columns + i];
        if (!(std::abs(sum - 1) <= 2e-5)) {
            std::fprintf(stderr, "host_floor: %s %s: row %d of %dx%d sums to %g\n", one.variant.c_str(),
                         one.submission.c_str(), row, shape.rows, shape.columns, sum);
            std::exit(1);
        }
    }
}

Arrays allocate(Shape shape) {
    const size_t elements = static_cast<size_t>(shape.rows) * shape.columns;
    Arrays on;
    for (float** whole : {&on.x, &on.y, &on.e}) CHECK(cudaMalloc(whole, elements * sizeof(float)));
    for (float** per_row : {&on.m, &on.z}) CHECK(cudaMalloc(per_row, shape.rows * sizeof(float)));
    std::vector<float> x(elements);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& value : x) value = normal(random);
    CHECK(cudaMemcpy(on.x, x.data(), elements * sizeof(float), cudaMemcpyHostToDevice));
    return on;
}

void measure(Shape shape, int rounds, const Cudnn& cudnn, cudaStream_t stream) {
    const Arrays on = allocate(shape);
    std::vector<Case> cases;
    const auto add = [&](const char* variant, std::function<int()> submit) {
        submit();  // loads the kernels, which a capture may not do
        CHECK(cudaStreamSynchronize(stream));
        const cudaGraphExec_t executable = captured(submit, stream);
        cases.push_back({variant, "stream", submit, {}});
        const auto replay = [=] { return static_cast<int>(cudaGraphLaunch(executable, stream)); };
        cases.push_back({variant, "graph", replay, {}});
    };
    add("staged", [=] { return launch_staged(on, shape, stream); });
    add("fused", [=] { return launch_fused(on, shape, stream); });
    if (cudnn) add("cudnn", cudnn.softmax(on.x, on.y, shape));

    for (const Case& one : cases) verify(one, on, shape, stream);
    for (const Case& one : cases) {
        for (int i = 0; i < WARM_UPS; ++i) run(one, stream);
    }
    std::vector<size_t> order(cases.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::mt19937 random(shape.rows + shape.columns);
    for (int round = 0; round < rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (const size_t index : order) {
            Case& one = cases[index];
            const auto start = std::chrono::steady_clock::now();
            const int submitted = one.submit();
            const cudaError_t finished = cudaStreamSynchronize(stream);
            const auto stop = std::chrono::steady_clock::now();
            CHECK(finished);
            if (submitted) std::exit(2);
            one.durations_ns.push_back(std::chrono::duration<double, std::nano>(stop - start).count());
        }
    }
    for (const Case& one : cases) {
        std::printf(
            "{\"variant\": \"%s\", \"submission\": \"%s\", \"shape\": \"%dx%d\", \"rounds\": %d, "
            "\"median_ns\": %.0f, \"p10_ns\": %.0f, \"p90_ns\": %.0f}\n",
            one.variant.c_str(), one.submission.c_str(), shape.rows, shape.columns, rounds,
            quantile(one.durations_ns, 0.5), quantile(one.durations_ns, 0.1), quantile(one.durations_ns, 0.9));
    }
    std::fflush(stdout);
    for (float* memory : {on.x, on.y, on.m, on.e, on.z}) CHECK(cudaFree(memory));
}

int main(int count, char** arguments) {
    int rounds = 21;
    const char* cudnn_path = "libcudnn.so.9";
    for (int i = 1; i < count; ++i) {
        if (i + 1 < count && !std::strcmp(arguments[i], "--rounds")) {
            rounds = std::max(1, std::atoi(arguments[++i]));
        } else if (i + 1 < count && !std::strcmp(arguments[i], "--cudnn")) {
            cudnn_path = arguments[++i];
        } else {
            std::fprintf(stderr, "usage: host_floor [--rounds N] [--cudnn LIBRARY]\n");
            return 2;
        }
    }
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const Cudnn cudnn(cudnn_path, stream);
    for (const Shape shape : SHAPES) measure(shape, rounds, cudnn, stream);
    return 0;
}
