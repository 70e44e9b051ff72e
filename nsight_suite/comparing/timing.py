"""Times of the cases: host completion, completion over a baseline's, and time in which the device works."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, median

from nsight_suite.comparing.conditions import blocking, remark
from nsight_suite.comparing.deciding import Job, decide
from nsight_suite.comparing.drift import Moved, between_halves, moved
from nsight_suite.comparing.results import INCOMPARABLE, MISSING, NEW, Doubt, Options, Row
from nsight_suite.comparing.series import Series, SeriesOf, completions, device_busy, idle_waits, over_baseline
from nsight_suite.comparing.sides import QueryRow, Side
from nsight_suite.protocol import SESSIONS

# Fewer cases at a shape cannot be said to have moved together.
_TOGETHER = 3


@dataclass(frozen=True)
class Quantity:
    """A time, as runs A and B and repeats of A hold it; `on_host`: part of it is the host's."""

    name: str
    unit: str
    queries: tuple[str, ...]
    a: SeriesOf
    b: SeriesOf
    repeats: tuple[SeriesOf, ...]
    on_host: bool = False


def judge_times(
    a: Side,
    b: Side,
    case_ids: Sequence[str],
    doubts: Sequence[Doubt],
    options: Options,
    *,
    repeats: Sequence[Side] = (),
) -> list[Row]:
    """A row for every time that either run holds of these cases, which both runs have."""
    host = _HostMoves.between(a, b)
    rows: list[Row] = []
    jobs: list[Job] = []
    for quantity in _quantities(a, b, repeats, options.baseline):
        for case_id in case_ids:
            if _held(quantity.a, case_id) or _held(quantity.b, case_id):
                kept_from = _kept_from(quantity, case_id, doubts)
                if kept_from:
                    rows.append(kept_from)
                else:
                    jobs.append(_job(quantity, case_id, a.cases[case_id]["shape"], host))
    return [*rows, *decide(jobs, options)]


def moved_together(rows: Sequence[Row], cases: Mapping[str, QueryRow], threshold: float) -> list[Doubt]:
    """A remark for each shape at which every completion moved the same way."""
    shapes: dict[str, list[float]] = {}
    for row in rows:
        if row.quantity == "completion" and row.factor is not None:
            shapes.setdefault(cases[row.case_id]["shape"], []).append(math.log(row.factor))
    return [
        remark(
            "moved-together",
            f"{shape}: the completions of all {len(logs)} cases moved the same way, by "
            f"{math.expm1(median(logs)):+.1%} in the middle. That is likelier the machine, or code that they "
            "share, than any one kernel; a baseline cancels it.",
        )
        for shape, logs in shapes.items()
        if len(logs) >= _TOGETHER and (min(logs) > 0 or max(logs) < 0) and abs(median(logs)) > threshold
    ]


def host_unknown(a: Side, b: Side) -> list[Doubt]:
    """A remark where no empty synchronisation tells, in both runs, by how much the host alone moved."""
    if idle_waits(a).keys() & idle_waits(b).keys():
        return []
    told = "by how much the host alone moved is not known: no empty synchronisation was timed in both runs"
    return [remark("unknown-host", told, SESSIONS)]


def _quantities(a: Side, b: Side, repeats: Sequence[Side], baseline: str) -> Iterator[Quantity]:
    def quantity(name: str, unit: str, query: str, of: Callable[[Side], SeriesOf], on_host: bool) -> Quantity:
        return Quantity(name, unit, (query,), of(a), of(b), tuple(of(side) for side in repeats), on_host)

    if baseline:
        # The baseline's own cases stay as they are: were it slower, all others would look faster.
        yield quantity("completion", "ns", "samples", lambda side: completions(side, baseline), on_host=True)
        of = partial(over_baseline, baseline=baseline)
        yield quantity(f"completion/{baseline}", "1/baseline", "samples", of, on_host=False)
    else:
        yield quantity("completion", "ns", "samples", completions, on_host=True)
    yield quantity("device_busy", "ns", "launch_split_invocations", device_busy, on_host=False)


def _held(series: SeriesOf, case_id: str) -> dict[str, Series]:
    """What a run holds of a case, by session."""
    return {name: cases[case_id] for name, cases in series.items() if case_id in cases}


def _kept_from(quantity: Quantity, case_id: str, doubts: Sequence[Doubt]) -> Row | None:
    """The row of a case that cannot be judged; None for one that can."""
    ours, theirs = _held(quantity.a, case_id), _held(quantity.b, case_id)
    row = Row(
        quantity.name,
        case_id,
        INCOMPARABLE,
        before=_middle(ours),
        after=_middle(theirs),
        unit=quantity.unit,
        queries=quantity.queries,
    )
    if not ours or not theirs:
        return replace(row, verdict=NEW if theirs else MISSING)
    shared = ours.keys() & theirs.keys()
    if codes := blocking(doubts, shared or ours.keys(), case_id):
        return replace(row, reasons=codes)
    if not shared:
        return replace(row, reasons="no-session-in-both")
    both = [one for name in shared for one in (ours[name], theirs[name])]
    if not all(one.values for one in both):
        return replace(row, reasons="no-round-with-baseline")
    if not all(one.usable for one in both):
        return replace(row, reasons="durations-not-above-zero")
    return None


def _middle(held: Mapping[str, Series]) -> float | None:
    """The mean of the sessions' medians; None where there are no samples."""
    medians = [one.median for one in held.values() if one.values]
    return fmean(medians) if medians else None


def _job(quantity: Quantity, case_id: str, shape: str, host: _HostMoves) -> Job:
    ours, theirs = _held(quantity.a, case_id), _held(quantity.b, case_id)
    shared = [name for name in ours if name in theirs]
    drift = [one for held in (ours, theirs) for one in _drift_of(held)]
    for held in (_held(repeat, case_id) for repeat in quantity.repeats):
        both = [name for name in ours if name in held and held[name].usable]
        drift += [moved("repeats", ours[name].values, held[name].values) for name in both]
    return Job(
        quantity.name,
        quantity.unit,
        quantity.queries,
        case_id,
        shape,
        tuple((ours[name], theirs[name]) for name in shared),
        tuple(drift),
        host.share(case_id, shared, ours) if quantity.on_host else 0.0,
    )


def _drift_of(held: Mapping[str, Series]) -> Iterator[Moved]:
    """What the sessions of one run tell of the drift of a case."""
    usable = [one.values for one in held.values() if one.usable]
    for values in usable:
        yield from between_halves(values)
    if len(usable) > 1:
        yield moved("sessions", usable[0], usable[1])


@dataclass(frozen=True)
class _HostMoves:
    """Medians of empty synchronisations by session and case, in A and in B, in ns."""

    a: Mapping[tuple[str, str], float]
    b: Mapping[tuple[str, str], float]

    @classmethod
    def between(cls, a: Side, b: Side) -> _HostMoves:
        return cls(idle_waits(a), idle_waits(b))

    def share(self, case_id: str, sessions: Sequence[str], series: Mapping[str, Series]) -> float:
        """The largest change of an empty synchronisation over the completion; 0 where none was timed."""
        keys = [(name, case_id) for name in sessions]
        return max(
            (
                abs(self.b[key] - self.a[key]) / series[key[0]].median
                for key in keys
                if key in self.a and key in self.b
            ),
            default=0.0,
        )
