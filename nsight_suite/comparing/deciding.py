"""Samples before and after → a verdict: the interval of the change, against the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from nsight_suite.comparing import intervals
from nsight_suite.comparing.drift import Moved, Noise, noise_of, pooled
from nsight_suite.comparing.intervals import Interval
from nsight_suite.comparing.results import (
    IMPROVED,
    INCOMPARABLE,
    REGRESSED,
    WITHIN_NOISE,
    Options,
    Pairing,
    Row,
)
from nsight_suite.comparing.series import Series

# An interval that leaves 1 out more often than this, though nothing changed, says nothing.
_MOST_CHANCE = 0.1


@dataclass(frozen=True)
class Job:
    """One row that is to be judged.

    sessions  samples (before, after) of each session that both runs have
    group     cases that share their drift: a shape
    drift     what this case tells of the drift
    host      by how much the host alone moved, as a share of the time
    """

    quantity: str
    unit: str
    queries: tuple[str, ...]
    case_id: str
    group: str
    sessions: tuple[tuple[Series, Series], ...]
    drift: tuple[Moved, ...] = ()
    host: float = 0.0


def decide(jobs: Sequence[Job], options: Options) -> list[Row]:
    """A row each. The intervals are simultaneous: the chance to err is shared among them (Bonferroni)."""
    level = (1 - options.confidence) / max(len(jobs), 1)
    groups: dict[tuple[str, str], list[Moved]] = {}
    for job in jobs:
        groups.setdefault((job.quantity, job.group), []).extend(job.drift)
    drifts = {key: pooled(found) for key, found in groups.items()}
    return [
        _row(
            job,
            noise_of(options.threshold, drifts[job.quantity, job.group], job.host),
            level,
            options.pairing,
        )
        for job in jobs
    ]


def _row(job: Job, noise: Noise, level: float, pairing: Pairing) -> Row:
    compared = [_compare(before, after, level, pairing) for before, after in job.sessions]
    parts = [interval for interval, _ in compared]
    # What several sessions say together holds only as far as each of them says it.
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    chance = max(part.chance for part in parts)
    verdict = WITHIN_NOISE
    if chance > _MOST_CHANCE:
        verdict = INCOMPARABLE
    elif low > 1 + noise.size:
        verdict = REGRESSED
    elif high < 1 / (1 + noise.size):
        verdict = IMPROVED
    return Row(
        quantity=job.quantity,
        case_id=job.case_id,
        verdict=verdict,
        before=fmean(before.median for before, _ in job.sessions),
        after=fmean(after.median for _, after in job.sessions),
        unit=job.unit,
        factor=math.exp(fmean(math.log(part.factor) for part in parts)),
        low=low,
        high=high,
        noise=noise.size,
        noise_from=noise.measured_by,
        how="; ".join(dict.fromkeys(how for _, how in compared)),
        chance=None if verdict == INCOMPARABLE else chance,
        reasons="too-few-samples" if verdict == INCOMPARABLE else "",
        queries=job.queries,
    )


def _compare(before: Series, after: Series, level: float, pairing: Pairing) -> tuple[Interval, str]:
    """The interval, and how it was had."""
    shared = sorted(set(before.numbers) & set(after.numbers))
    unique = len(set(before.numbers)) == len(before.numbers) and len(set(after.numbers)) == len(after.numbers)
    same_order = bool(before.order) and before.order == after.order
    if unique and len(shared) > 1 and (pairing == "rounds" or (pairing == "auto" and same_order)):
        ours, theirs = (dict(zip(one.numbers, one.values, strict=True)) for one in (before, after))
        interval = intervals.paired([ours[n] for n in shared], [theirs[n] for n in shared], level)
        return interval, f"{len(shared)} paired"
    counts = f"{len(before.values)} and {len(after.values)}"
    return intervals.apart(before.values, after.values, level), f"bootstrap of {counts}"
