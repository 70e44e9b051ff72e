// RMS-scaled softmax in one kernel whose blocks keep what they read: x is read once, y is written once.
//
// Each row is cut into tiles, one block each, and a block's tile lies in its shared memory from the load to the
// store:
//
//     load      x into the tile; its maximum and sum of squares on the way
//     meet      the row's r and maximum
//     exponent  the tile becomes exp(r * (x - max)); its sum on the way
//     meet      the row's sum
//     store     y = tile / sum
//
// A thread touches only the pieces of the tile that it loaded itself, so the tile needs no barrier of the
// block.
//
// Two forms of meeting, each a kernel of its own in this one binary:
//     mega_grid  numbers of the tiles in global memory, then a barrier of the whole grid
//     mega_row   only the blocks of one row wait for one another: each publishes a message and reads its row's
// Both put the tiles' numbers together in the order of the tiles and with the same code: equal to the last bit.
//
// Launch shape: tiles along x, rows along y; at most one block per multiprocessor, with a thread for every 8
// floats of its tile, from 128 to 1024. All blocks of a launch must be resident together, for blocks wait for
// blocks: the driver checks that before it launches. A row of 131072 floats needs four tiles of 128 KB, each in
// the shared memory of a multiprocessor of its own, so 132 of them hold 33 rows at once, and 64 rows take two
// launches of 32.
//
// Bytes, with A = 4 * rows * columns: reads A, writes A, and 12 to 24 bytes per block cross the L2 cache. The
// floor is a plain copy of x and two trips through the L2 cache; expect one to two microseconds per meeting, in
// which nothing is loaded or stored, since all blocks are in step. A meeting of a row has no counter at which
// all blocks queue, but each block looks at a message of every tile of its row: which form is faster depends on
// the number of tiles, and is for the pilot to say.
//
// The messages of mega_row were released and acquired at first, as is usual. They carry all that is to be known,
// so nothing else needs an order; relaxed, predicted to spare 0.5 to 1 µs of fences, a replay of 8 rows takes
// 14.1 µs instead of 14.7 (mega_grid 14.2), one row 12.7 instead of 13.3, 64 rows 44.2 instead of 45.6.
//
// What stays on the table: no store begins before the last load, since a row's sum is known only then, so reading
// and writing cannot overlap inside a launch; with two launches at 64 rows the second could load while the first
// stores, if both fitted the shared memory. Clusters with distributed shared memory would shorten a meeting of
// up to 16 tiles, for 8 rows and more.
//
// `retention` is the control: the same binary, launch shape and shared memory, and less kept over the second
// meeting.
//     0  the exponentials
//     1  x, in the tile as before; the exponentials are computed again for the store      (mega_grid_recompute)
//     2  nothing: for the store x is read again from global memory and computed again     (mega_grid_reload)
// The store gives the same bits in all three.
#include "rms.cuh"

constexpr int KEEP_EXPONENTIALS = 0;
constexpr int KEEP_X = 1;

using Message = unsigned long long;  // turn above, the bits of a float below

template <class Meeting>
__device__ void softmax_of_tile(const float* x, float* y, int columns, int retention, Meeting meeting) {
    extern __shared__ float4 tile[];
    const int quads = columns / 4 / gridDim.x;
    const float4* from = reinterpret_cast<const float4*>(x) + blockIdx.x * quads;
    float4* to = reinterpret_cast<float4*>(y) + blockIdx.x * quads;

    Statistics share = nothing<Statistics>();
    walk(from, quads, [&share](int i, float4 q) {
        tile[i] = q;
        share = together(share, statistics_of(q));
    });
    const Scaling row = scaling_of(meeting.meet(share), columns);

    float sum = 0.0f;
    walk(tile, quads, [&sum, row, retention](int i, float4 q) {
        const float4 e = exponential_of(q, row);
        sum += sum_of(e);
        if (retention == KEEP_EXPONENTIALS) tile[i] = e;
    });
    // The largest element adds exactly one, so the sum is never small and its reciprocal is accurate.
    const float factor = 1.0f / meeting.meet(sum);

    const auto again = [to, row, factor](int i, float4 q) { to[i] = times(exponential_of(q, row), factor); };
    if (retention == KEEP_EXPONENTIALS) {
        walk(tile, quads, [to, factor](int i, float4 e) { to[i] = times(e, factor); });
    } else if (retention == KEEP_X) {
        walk(tile, quads, again);
    } else {
        walk(from, quads, again);
    }
}

__device__ inline unsigned load_acquire(const unsigned* from) {
    unsigned value;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

__device__ inline unsigned add_acquire_release(unsigned* to, unsigned value) {
    unsigned before;
    asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(to), "r"(value) : "memory");
    return before;
}

// One thread of each block waits here until one of every block does. What it wrote before is seen by those that
// come after, of its own block once a block's barrier follows.
//
// The top bit of `arrivals` turns over when all have come: the first block adds what the others leave to be
// added to 2^31. So the counter needs no reset, from launch to launch or from replay to replay, and grids of
// different sizes may use it in turn. A block that runs ahead cannot turn the bit again, since that needs this
// one too.
__device__ void meet_grid(unsigned* arrivals) {
    constexpr unsigned TOP = 0x80000000u;
    const unsigned others = gridDim.x * gridDim.y - 1;
    const bool first = blockIdx.x == 0 && blockIdx.y == 0;
    const unsigned before = add_acquire_release(arrivals, first ? TOP - others : 1u);
    while (((load_acquire(arrivals) ^ before) & TOP) == 0) {
    }
}

__device__ inline float past_l1(const float* from) { return __ldcg(from); }
__device__ inline Statistics past_l1(const Statistics* from) {
    const float2 both = __ldcg(reinterpret_cast<const float2*>(from));
    return {both.x, both.y};
}

// The blocks of a row meet in a barrier of the whole grid. The arrays hold one value per tile of this row.
struct GridMeeting {
    Statistics* statistics;
    float* sums;
    unsigned* arrivals;

    __device__ Statistics meet(Statistics share) const { return exchange(share, statistics); }
    __device__ float meet(float share) const { return exchange(share, sums); }

    template <class Value>
    __device__ Value exchange(Value share, Value* of_row) const {
        share = of_block(share);
        if (threadIdx.x == 0) {
            of_row[blockIdx.x] = share;
            meet_grid(arrivals);
        }
        __syncthreads();
        return of_tiles<Value>(gridDim.x, [of_row](int tile) { return past_l1(of_row + tile); });
    }
};

__device__ inline Message message_of(float value, unsigned turn) {
    return static_cast<Message>(turn) << 32 | __float_as_uint(value);
}
__device__ inline unsigned turn_of(Message message) { return static_cast<unsigned>(message >> 32); }
__device__ inline float value_of(Message message) { return __uint_as_float(static_cast<unsigned>(message)); }

__device__ inline void publish(Message* to, Statistics value, unsigned turn) {
    asm volatile("st.relaxed.gpu.v2.b64 [%0], {%1, %2};"
                 :
                 : "l"(to), "l"(message_of(value.peak, turn)), "l"(message_of(value.squares, turn))
                 : "memory");
}

__device__ inline void publish(Message* to, float value, unsigned turn) {
    asm volatile("st.relaxed.gpu.b64 [%0], %1;" : : "l"(to), "l"(message_of(value, turn)) : "memory");
}

__device__ inline Statistics await_statistics(const Message* from, unsigned turn) {
    Message peak, squares;
    do {
        asm volatile("ld.relaxed.gpu.v2.b64 {%0, %1}, [%2];"
                     : "=l"(peak), "=l"(squares)
                     : "l"(from)
                     : "memory");
    } while (turn_of(peak) != turn || turn_of(squares) != turn);
    return {value_of(peak), value_of(squares)};
}

__device__ inline float await_sum(const Message* from, unsigned turn) {
    Message sum;
    do {
        asm volatile("ld.relaxed.gpu.b64 %0, [%1];" : "=l"(sum) : "l"(from) : "memory");
    } while (turn_of(sum) != turn);
    return value_of(sum);
}

// The blocks of a row meet alone: each publishes a message, and waits for those of all others of its row.
//
// A message is a 64-bit word that carries its value together with the number of the turn, so whoever sees the
// turn has the value, and one trip through the L2 cache is a meeting. Nothing else passes between the blocks, so
// nothing has to be ordered: the accesses are relaxed, and there is no fence to wait for. The turn is one more
// than that of the block's own last message, written by an earlier launch: nothing needs a reset, and all
// messages of a row keep the same turn. Each launch writes each message once, and the next begins only when all
// have read it.
struct RowMeeting {
    Message* statistics;  // two per tile of this row
    Message* sums;        // one per tile of this row
    unsigned turn;

    __device__ RowMeeting(Message* statistics, Message* sums) : statistics(statistics), sums(sums) {
        Message last;
        asm volatile("ld.relaxed.gpu.b64 %0, [%1];" : "=l"(last) : "l"(statistics + 2 * blockIdx.x) : "memory");
        turn = turn_of(last) + 1;
    }

    __device__ Statistics meet(Statistics share) const {
        share = of_block(share);
        if (threadIdx.x == 0) publish(statistics + 2 * blockIdx.x, share, turn);
        return of_tiles<Statistics>(
            gridDim.x, [this](int tile) { return await_statistics(statistics + 2 * tile, turn); });
    }

    __device__ float meet(float share) const {
        share = of_block(share);
        if (threadIdx.x == 0) publish(sums + blockIdx.x, share, turn);
        return of_tiles<float>(gridDim.x, [this](int tile) { return await_sum(sums + tile, turn); });
    }
};

extern "C" __global__ void __launch_bounds__(1024, 1)
    mega_grid(const float* x, float* y, Statistics* statistics, float* sums, unsigned* arrivals, int columns,
              int first_row, int retention) {
    const size_t row = first_row + blockIdx.y, tiles = row * gridDim.x;
    const GridMeeting meeting{statistics + tiles, sums + tiles, arrivals};
    softmax_of_tile(x + row * columns, y + row * columns, columns, retention, meeting);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    mega_row(const float* x, float* y, Message* statistics, Message* sums, int columns, int first_row) {
    const size_t row = first_row + blockIdx.y, tiles = row * gridDim.x;
    const RowMeeting meeting(statistics + 2 * tiles, sums + tiles);
    softmax_of_tile(x + row * columns, y + row * columns, columns, KEEP_EXPONENTIALS, meeting);
}
