"""How far apart two witnesses may be before they disagree. Each bound with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bounds:
    # nsys maps device time stamps onto the host's clock; that fit is off by 0.5 to 2 µs.
    clock_ns: int = 2_000
    # The device's timer advances in steps of 32 ns, so a kernel may start that much before the one ahead ended.
    tick_ns: int = 64
    # Kernels take a little longer under nsys than unprofiled: on an H200 a graph of two kernels of 50 µs
    # completed 2 % faster than its kernels took in the profiled process.
    busy_relative: float = 0.05
    # Back to back an invocation finds its data in L2, under nsys other cases ran in between. On an H200 an
    # invocation of a batch took at least 98 % of the shortest device work under nsys.
    batch_relative: float = 0.1
    # Data that fit into L2 may come from there alone, several times as fast as from DRAM.
    batch_in_l2_relative: float = 0.75
    # Host code inside the stopwatch and outside of CUDA calls, per invocation. On an H200 the medians of cases
    # were 0.9 to 3.0 µs, and 3 to 11 µs for cuDNN by stream, whose own code runs before it launches: explained
    # by that from `host_code_ns` on. No effect is known for more than a share of the completion, or for more
    # than `most`; below `least` the share says nothing.
    host_code_ns: int = 4_000
    remainder_relative: float = 0.35
    remainder_least_ns: int = 5_000
    remainder_most_ns: int = 15_000
    # Between the range's ends and the stopwatch's: NVTX and Python. Medians of 0.5 to 1.3 µs were seen, and
    # 7 to 10 µs after waits of 14 ms, in which the host's caches grow cold: so a share is allowed as well.
    outside_ns: int = 5_000
    outside_relative: float = 0.005
    # Below this factor the profiler's cost is not worth a word.
    overhead_factor: float = 1.02
    # A profiled run may come out faster by noise (few samples), not by more than this: 1.02 to 1.9 were seen.
    profiled_faster: float = 0.9
    # Clocks of two passes that are further apart make two devices of one.
    clock_relative: float = 0.05

    # DRAM reads beside the array bytes: instructions, constants, partial lines. Seen on an H200 with flushed
    # caches: 10 to 27 kB a kernel, whatever its size.
    read_relative: float = 0.01
    read_slack_bytes: int = 49_152
    # A kernel also writes back lines that were dirty before it: up to 2.8 MB were seen in one kernel.
    write_relative: float = 0.05
    write_slack_bytes: int = 4_194_304
    # With flushed caches, repeated invocations, and stream and graph twins, read the same: seen within 1 kB for
    # small ones and within 0.1 % for large ones.
    repeat_relative: float = 0.02
    repeat_slack_bytes: int = 4_096
    # With warm caches they may differ: up to 262 kB were seen to be written by a kernel that writes 512 B.
    # Beyond this share of the declared bytes and this slack no single value stands for the case.
    warm_repeat_relative: float = 0.05
    warm_repeat_slack_bytes: int = 524_288

    # Memory-bound: the copy would need this share of the device time or more.
    memory_bound: float = 0.6
    # Launch-bound: the device is busy for at most this share of the completion.
    launch_bound: float = 0.5
    # Copies are measured too; nothing is faster than memory by more than this.
    floor_relative: float = 0.05
    # With warm caches less than this share of the declared bytes moves through DRAM: L2 serves the rest.
    through_dram: float = 0.9
    # No share of the declared bytes is told above this: the rest is other traffic.
    most_share: float = 1.1


BOUNDS = Bounds()
