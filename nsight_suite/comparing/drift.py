"""How much a time moves when nothing has changed: the noise that an interval from the rounds cannot show.

It is measured, in what the runs hold, by the logarithm of the factor between medians of

halves    the second half of a session against its first: what drifts while a session lasts
sessions  a run's second session against its first: another process, at times another unit
repeats   a further run of the same code against run A: all of it

and pooled over the cases of a shape, which stand side by side in time and move together. 1.96 times the root
of their mean square is where 95 % of such factors would lie. Halves tell less than two runs differ: what holds
for a whole session is the same in both of its halves.

On top comes `host`: by how much an empty synchronisation, timed for the same cases, changed. No kernel runs in
it, so the kernels are not the cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

Source = Literal["halves", "sessions", "repeats"]

# Samples that a half must have.
_HALF = 2
_WITHIN_95 = 1.96


@dataclass(frozen=True)
class Moved:
    """The logarithm of a factor between two medians of one case, of the same code."""

    by: Source
    log_factor: float


@dataclass(frozen=True)
class Noise:
    """The relative change that noise can make, and what it was measured by."""

    size: float
    measured_by: str


def moved(by: Source, before: Sequence[float], after: Sequence[float]) -> Moved:
    """Of two sets of samples of the same code."""
    return Moved(by, math.log(median(after) / median(before)))


def between_halves(values: Sequence[float]) -> tuple[Moved, ...]:
    """Of one session's samples in their order; nothing when they are too few."""
    half = len(values) // 2
    return (moved("halves", values[:half], values[-half:]),) if half >= _HALF else ()


def pooled(found: Iterable[Moved]) -> Noise | None:
    """The largest drift of a group of cases, by what measured it; None when nothing did."""
    logs: dict[Source, list[float]] = {}
    for one in found:
        logs.setdefault(one.by, []).append(one.log_factor)
    sizes = [
        Noise(math.expm1(_WITHIN_95 * math.sqrt(fmean(log * log for log in each))), by)
        for by, each in logs.items()
    ]
    return max(sizes, key=lambda noise: noise.size, default=None)


def noise_of(threshold: float, drift: Noise | None, host: float = 0.0) -> Noise:
    """The practical threshold or the drift, whichever is larger, and the change of the host on top."""
    larger = drift if drift and drift.size > threshold else Noise(threshold, "threshold")
    return Noise(larger.size + host, f"{larger.measured_by}+host") if host else larger
