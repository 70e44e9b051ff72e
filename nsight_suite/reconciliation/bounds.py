"""How far apart two witnesses may be before they disagree. Each bound with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bounds:
    # nsys maps device time stamps onto the host's clock; that fit is off by 0.5 to 2 µs.
    clock_ns: int = 2_000
    # The device's timer advances in steps of 32 ns, so a kernel may start that much before the one ahead ended.
    tick_ns: int = 64
    # A kernel may take a little longer under nsys than unprofiled. On an H200 every completion was at least 4.4 %
    # longer than the shortest device work that nsys saw of its case.
    busy_relative: float = 0.01
    # Opening and closing a range, and Python between it and the calls: 2 to 14 µs were seen under nsys.
    remainder_ns: int = 30_000
    # Below this factor the profiler's cost is not worth a word.
    overhead_factor: float = 1.02
    # A profiled run may come out faster by noise (few samples, other clocks), not by more than this.
    profiled_faster: float = 0.7

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

    # Memory-bound: the copy would need this share of the device time or more.
    memory_bound: float = 0.6
    # Launch-bound: the device is busy for at most this share of the completion.
    launch_bound: float = 0.5
    # Copies are measured too; nothing is faster than memory by more than this.
    floor_relative: float = 0.05
    # With warm caches less than this share of the declared bytes moves through DRAM: L2 serves the rest.
    through_dram: float = 0.9


BOUNDS = Bounds()
