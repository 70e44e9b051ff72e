"""A strip plot: a tick for every sample, a bar from p10 to p90 and a mark at the median, as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _MARGIN = 640, 8
# The plot reaches so many times the width of the bar beyond it, on either side.
_REACH = 3
# Fewer samples have no 10th percentile worth the name: their whole range is told instead.
_ENOUGH = 10


@dataclass(frozen=True)
class Spread:
    """What samples amount to, in base units. `low` and `high` are p10 and p90, or the extremes of few."""

    samples: int
    low: float
    median: float
    high: float
    least: float
    most: float

    @property
    def quantiles(self) -> bool:
        """Whether there are samples enough for `low` and `high` to be p10 and p90."""
        return self.samples >= _ENOUGH


def spread(values: Sequence[float]) -> Spread:
    """The spread of at least one value."""
    ordered = sorted(values)
    few = len(ordered) < _ENOUGH
    low, median, high = (_quantile(ordered, share) for share in (0.0 if few else 0.1, 0.5, 1.0 if few else 0.9))
    return Spread(len(ordered), low, median, high, ordered[0], ordered[-1])


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Interpolated between the two values around it, as DuckDB's quantile_cont does it."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


@dataclass(frozen=True)
class Strip:
    """A plot, and how many of its samples lie beyond it: a few stragglers would make a point of all others."""

    svg: str
    beyond: int


def strip(values: Sequence[float]) -> Strip:
    """The plot of at least one value, in the colours of the page. Its caption has to say what it says."""
    from markupsafe import Markup

    seen = spread(values)
    reach = _REACH * (seen.high - seen.low) or seen.most - seen.least
    first, last = max(seen.least, seen.low - reach), min(seen.most, seen.high + reach)

    def at(value: float) -> str:
        place = (value - first) / (last - first) if last > first else 0.5
        return f"{_MARGIN + place * (_WIDTH - 2 * _MARGIN):.0f}"

    inside = [value for value in values if first <= value <= last]
    ticks = "".join(f"M{at(value)} 6v14" for value in inside)
    bar = f"M{at(seen.low)} 13H{at(seen.high)}"
    template = (
        '<svg viewBox="0 0 {} 26" aria-hidden="true"><path class="spread" d="{}"/>'
        '<path class="ticks" d="{}"/><path class="median" d="M{} 2v22"/></svg>'
    )
    svg = Markup(template).format(_WIDTH, bar, ticks, at(seen.median))
    return Strip(svg, len(values) - len(inside))
