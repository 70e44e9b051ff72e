"""Intervals for the factor by which a median changed, without drawing a single random number.

Values are positive durations; all is done on their logarithms, so that a factor and its inverse weigh the same.

paired   the median of the per-round ratios, between two of them: the interval of the sign test. It holds its
         level whatever the distribution, as long as rounds are independent of one another.
apart    the ratio of the two medians, with each run's samples drawn again on their own (bootstrap with
         percentiles). How often each value is the median of such a draw has a closed form, so that all draws
         are counted and none is made: no seed, and no error from too few draws.

Both say how often they err when nothing has changed (`chance`): the level asked for, or more, where the samples
are too few to reach it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

# Beyond so many samples a normal distribution stands for the binomial one; it gives the same ranks but for one.
_MANY_PAIRED, _MANY_APART = 400, 60
# A median that comes up more rarely than this moves no percentile that anybody asks for.
_NEVER = 1e-12


@dataclass(frozen=True)
class Interval:
    """The factor after/before, its bounds, and the chance that the bounds exclude 1 when nothing changed."""

    factor: float
    low: float
    high: float
    chance: float


def paired(before: Sequence[float], after: Sequence[float], level: float) -> Interval:
    """Of samples that belong together one by one; `level` is the chance to err that is asked for."""
    import numpy as np

    ratios = np.sort(np.log(np.asarray(after, float)) - np.log(np.asarray(before, float)))
    rank, chance = sign_rank(len(ratios), level)
    return _interval(float(np.median(ratios)), float(ratios[rank]), float(ratios[-1 - rank]), chance)


def apart(before: Sequence[float], after: Sequence[float], level: float) -> Interval:
    """Of samples that have nothing to do with one another; they may differ in number."""
    import numpy as np

    logs = [np.log(np.asarray(values, float)) for values in (before, after)]
    (points_a, weights_a), (points_b, weights_b) = (median_law(values) for values in logs)
    shifts = np.subtract.outer(points_b, points_a).ravel()
    order = np.argsort(shifts, kind="stable")
    grown = np.cumsum(np.multiply.outer(weights_b, weights_a).ravel()[order])
    last = len(shifts) - 1
    low, high = (min(int(np.searchsorted(grown, share)), last) for share in (level / 2, 1 - level / 2))
    factor = float(np.median(logs[1]) - np.median(logs[0]))
    # When all of one run lie beyond all of the other, no draw says otherwise: that itself happens by chance.
    count = len(before) + len(after)
    least = 2 / math.comb(count, len(before)) if count <= _MANY_APART else 0.0
    return _interval(factor, float(shifts[order[low]]), float(shifts[order[high]]), max(level, least))


def _interval(factor: float, low: float, high: float, chance: float) -> Interval:
    return Interval(math.exp(factor), math.exp(low), math.exp(high), chance)


@cache
def sign_rank(count: int, level: float) -> tuple[int, float]:
    """How many values an interval for a median leaves out on each side, and the chance that it misses it."""
    if count > _MANY_PAIRED:
        rank = math.floor((count - NormalDist().inv_cdf(1 - level / 2) * math.sqrt(count)) / 2) - 1
        return rank, level
    rank, missed, more = 0, 2 * 0.5**count, 2 * 0.5**count
    while rank + 1 < (count + 1) // 2:
        more += 2 * math.comb(count, rank + 1) * 0.5**count
        if more > level:
            break
        rank, missed = rank + 1, more
    return rank, missed


def median_law(values: Array) -> tuple[Array, Array]:
    """Each value that the median of a sample drawn again can take, and how often it takes it; they sum to 1.

    Of an even number the median is the mean of the two in the middle.
    """
    import numpy as np

    ordered = np.sort(values)
    count = len(ordered)
    if count > _MANY_APART:
        return _normal_law(ordered)
    if count % 2:
        return ordered, _odd_weights(count)
    first, second, weights = _even_weights(count)
    return (ordered[first] + ordered[second]) / 2, weights


@cache
def _odd_weights(count: int) -> Array:
    import numpy as np

    return np.diff([_at_least(count, (count + 1) // 2, done / count) for done in range(count + 1)])


@cache
def _even_weights(count: int) -> tuple[Any, Any, Array]:
    """Of each pair of ranks (i ≤ j, from 0) how often the two values in the middle of a draw are these."""
    import numpy as np

    half, share = count // 2, [done / count for done in range(count + 1)]
    ways = math.comb(count, half)
    first, second, weights = [], [], []
    for i in range(count):
        for j in range(i, count):
            if i < j:  # half of the draw ends at i, the other half begins at j
                weight = ways * (share[i + 1] ** half - share[i] ** half)
                weight *= (1 - share[j]) ** half - (1 - share[j + 1]) ** half
            else:
                weight = _at_least(count, half + 1, share[i + 1]) - _at_least(count, half + 1, share[i])
                weight -= ways * share[i] ** half * ((1 - share[i]) ** half - (1 - share[i + 1]) ** half)
            if weight > _NEVER:
                first.append(i)
                second.append(j)
                weights.append(weight)
    return np.array(first), np.array(second), np.array(weights)


def _at_least(count: int, least: int, share: float) -> float:
    """The chance that `least` or more of `count` draws fall into a part of this share."""
    return sum(
        math.comb(count, hits) * share**hits * (1 - share) ** (count - hits) for hits in range(least, count + 1)
    )


def _normal_law(ordered: Array) -> tuple[Array, Array]:
    """Of many values: the rank of a draw's median is normal around the middle, spread by half their root."""
    import numpy as np

    edges = np.linspace(-7, 7, 282)
    weights = np.diff([NormalDist().cdf(edge) for edge in edges])
    middles = (edges[1:] + edges[:-1]) / 2
    ranks = (len(ordered) - 1) / 2 + middles * math.sqrt(len(ordered)) / 2
    return np.interp(ranks, np.arange(len(ordered)), ordered), weights
