"""The samples of a run, case by case and session by session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from nsight_suite.comparing.sides import Side
from nsight_suite.protocol import SESSIONS


@dataclass(frozen=True)
class Series:
    """Samples of one case in one session, by their number: the round, or the invocation.

    `order` tells for every round which case of the shape ran at which position, so that two series of the same
    order had the same neighbours all the way; empty where no order was recorded.
    """

    numbers: tuple[int, ...]
    values: tuple[float, ...]
    order: tuple[tuple[int, int, str], ...] = ()

    @property
    def median(self) -> float:
        """Raises StatisticsError where there are no samples."""
        return median(self.values)

    @property
    def usable(self) -> bool:
        """Whether there are samples and all are above zero, as durations are."""
        return bool(self.values) and min(self.values) > 0


# By pass, then by case.
SeriesOf = Mapping[str, Mapping[str, Series]]


def completions(side: Side, variant: str = "") -> SeriesOf:
    """Host completion of an invocation in ns, unprofiled, by round (query `samples`); of one variant or all."""
    shapes = {case_id: case["shape"] for case_id, case in side.cases.items()}
    values: dict[tuple[str, str], list[tuple[int, float]]] = {}
    orders: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    for name, case_id, row in _samples(side, "completion"):
        values.setdefault((name, case_id), []).append((row["round"], row["duration_ns"] / row["invocations"]))
        orders.setdefault((name, shapes[case_id]), []).append((row["round"], row["position"], case_id))
    found: dict[str, dict[str, Series]] = {}
    for (name, case_id), pairs in values.items():
        if variant and side.cases[case_id]["variant"] != variant:
            continue
        numbers, durations = zip(*sorted(pairs), strict=True)
        order = tuple(sorted(orders[name, shapes[case_id]]))
        found.setdefault(name, {})[case_id] = Series(numbers, durations, order)
    return found


def over_baseline(side: Side, baseline: str) -> SeriesOf:
    """Completion over that of the variant `baseline` at the same shape and submission, in the same round.

    A case without such a round, or whose baseline took no time, has a series without values.
    """
    found: dict[str, dict[str, Series]] = {}
    for name, series in completions(side).items():
        bases = {
            (case["shape"], case["submission"]): series[case_id]
            for case_id, case in side.cases.items()
            if case["variant"] == baseline and case_id in series
        }
        for case_id, own in series.items():
            case = side.cases[case_id]
            base = bases.get((case["shape"], case["submission"]))
            if case["variant"] != baseline and base:
                by_number = dict(zip(base.numbers, base.values, strict=True)) if base.usable else {}
                pairs = zip(own.numbers, own.values, strict=True)
                ratios = {number: value / by_number[number] for number, value in pairs if number in by_number}
                both = Series(tuple(ratios), tuple(ratios.values()), own.order)
                found.setdefault(name, {})[case_id] = both
    return found


def device_busy(side: Side) -> SeriesOf:
    """Time in which at least one kernel, copy or fill runs, in ns (query `launch_split_invocations`)."""
    values: dict[str, list[tuple[int, float]]] = {}
    for row in side.rows["launch_split_invocations"]:
        if row["device_union_ns"] is not None:
            values.setdefault(row["case_id"], []).append((row["invocation"], row["device_union_ns"]))
    series = {}
    for case_id, pairs in values.items():
        numbers, durations = zip(*sorted(pairs), strict=True)
        series[case_id] = Series(numbers, durations)
    return {"nsys": series} if series else {}


def idle_waits(side: Side) -> Mapping[tuple[str, str], float]:
    """Median of an empty synchronisation in ns, by session and case."""
    values: dict[tuple[str, str], list[float]] = {}
    for name, case_id, row in _samples(side, "empty_sync"):
        values.setdefault((name, case_id), []).append(row["duration_ns"])
    return {key: median(durations) for key, durations in values.items()}


def _samples(side: Side, quantity: str) -> Iterator[tuple[str, str, Mapping[str, int]]]:
    for row in side.rows["samples"]:
        if row["quantity"] == quantity and row["pass"] in SESSIONS and row["case_id"] in side.cases:
            yield row["pass"], row["case_id"], row
