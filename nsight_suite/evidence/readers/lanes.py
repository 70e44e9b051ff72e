"""The calls and ranges of one thread, window after window of time → who encloses whom, and what ran inside each
range.

Everything is arrays of numbers, a row per call or range. What reaches beyond a window (ranges still open, calls
that have not returned) is carried into the next one, so a capture of any length needs the memory of one window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nsight_suite.evidence.readers.sweep import Extremes, Integers, Ranges, order

Rows = dict[str, Integers]

LAST = np.iinfo(np.int64).max
FIRST = np.iinfo(np.int64).min
NONE = -1

# What a call is for, as nsys_identity.sql numbers it.
SYNC = 4

# What is counted inside each range, launch by launch.
_SUMS = ("launches", "kernels", "operations", "device_ns")
_COUNTED = {**dict.fromkeys((*_SUMS, "timed"), 0), "first_ns": LAST, "last_ns": FIRST}
_LAUNCHED = {"first_launch_id": NONE, "last_launch_id": NONE}


@dataclass
class Paths:
    """Every nesting of names that was met. A path is its parent path and a name; -1 stands for no path."""

    numbers: dict[int, int] = field(default_factory=dict)
    nodes: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def of(self, parents: Integers, domains: Integers, labels: Integers, styles: Integers) -> Integers:
        """The paths of these names below these parent paths."""
        names = self._names(domains, labels, styles)
        unique, inverse = np.unique((parents + 1 << 32) | names, return_inverse=True)
        numbers = self.numbers
        known = np.array([numbers.setdefault(key, len(numbers)) for key in unique.tolist()], np.int64)
        return known[inverse] if len(unique) else np.empty(0, np.int64)

    def _names(self, domains: Integers, labels: Integers, styles: Integers) -> Integers:
        # One number per name, since numpy finds distinct numbers much faster than distinct rows. There are few
        # domains.
        known = np.unique(domains)
        keys = (labels * len(known) + np.searchsorted(known, domains)) * 2 + styles
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        names = zip(domains[first].tolist(), labels[first].tolist(), styles[first].tolist(), strict=True)
        numbers = [self.nodes.setdefault(name, len(self.nodes)) for name in names]
        return np.array(numbers, np.int64)[inverse] if numbers else np.empty(0, np.int64)

    def rows(self) -> Rows:
        """One row per path: path_id, parent (-1 for none), domain, label and style (1 push/pop, 0
        start/end)."""
        keys = np.fromiter(self.numbers, np.int64, len(self.numbers))
        nodes = np.array(list(self.nodes), np.int64).reshape(-1, 3)[keys & 0xFFFFFFFF]
        return {
            "path_id": np.arange(len(keys), dtype=np.int64),
            "parent": (keys >> 32) - 1,
            "domain": nodes[:, 0],
            "label": nodes[:, 1],
            "style": nodes[:, 2],
        }


@dataclass
class Lane:
    """What is known of one thread so far. `next_launch` numbers its launches."""

    paths: Paths
    next_launch: int
    open: Rows = field(default_factory=dict)
    pending: Rows = field(default_factory=dict)
    held: Rows = field(default_factory=dict)
    marks: Rows = field(default_factory=dict)
    capturing: int = 0


@dataclass(frozen=True)
class Advance:
    """What a window brought to light of a thread: calls with their ranges, calls that only wrap others, and
    ranges that nothing can be added to any more, with all that ran inside them."""

    calls: Rows
    wrappers: Rows
    closed: Rows
    until: int


def advance(lane: Lane, ranges: Rows, calls: Rows, captures: Rows, until: int) -> Advance:
    """Take in the ranges, calls and capture marks of a thread that start before `until` (LAST at the end)."""
    calls, wrappers, lane.held = _without_wrappers(joined([lane.held, calls]), until)
    until = min(until, int(lane.held["start"].min())) if count(lane.held) else until
    ranges = sorted_rows(ranges)
    new = take(ranges, ranges["style"] == 1)
    nested = joined([lane.open, new])
    around = Ranges(nested["start"], nested["end"])
    nested |= _nesting(around, nested, lane.paths)
    lane.open = take(nested, nested["end"] >= until)
    calls |= _placed(around, nested, calls, lane.paths)
    launches = calls["kind"] != SYNC
    calls["launch_id"] = np.where(launches, lane.next_launch + np.cumsum(launches) - 1, NONE)
    lane.next_launch += int(np.count_nonzero(launches))
    marks = joined([lane.marks, captures])
    levels = _capture_levels(marks, lane.capturing)
    calls["captured"] = (levels[np.searchsorted(marks["start"], calls["start"], side="right")] > 0).astype(
        np.int64
    )
    # Calls that are looked at again later start before some of these marks.
    passed = int(np.searchsorted(marks["start"], until, side="left"))
    lane.capturing, lane.marks = int(levels[passed]), take(marks, slice(passed, None))
    begun = take(nested, slice(count(nested) - count(new), None))
    begun = joined([begun, _flat(take(ranges, ranges["style"] != 1), lane.paths)])
    pending = joined([lane.pending, begun | _blank(count(begun))])
    _count(pending, take(calls, launches))
    over = pending["end"] < until if until != LAST else np.ones(count(pending), np.bool_)
    lane.pending = take(pending, ~over)
    return Advance(calls, wrappers, take(pending, over), until)


def _blank(rows: int) -> Rows:
    return {name: np.full(rows, value, np.int64) for name, value in {**_COUNTED, **_LAUNCHED}.items()}


def _flat(ranges: Rows, paths: Paths) -> Rows:
    """Start/end ranges overlap at will: they have no parents, and paths of one name."""
    none = np.full(count(ranges), NONE, np.int64)
    path = paths.of(none, ranges["domain"], ranges["label"], ranges["style"])
    return ranges | {"parent": none, "depth": np.zeros_like(none), "path_id": path}


def _without_wrappers(calls: Rows, until: int) -> tuple[Rows, Rows, Rows]:
    """Calls that do the work, calls that wrap such or are wrapped, and calls to be looked at again later.

    A runtime call contains the driver call that does its work. Of such a nest the calls that device records
    name are kept, or the outermost when none is, so that one launch stays one launch. Waits nest among
    themselves.
    """
    calls = sorted_rows(calls)
    keep = np.zeros(count(calls), np.bool_)
    hold = np.zeros(count(calls), np.bool_)
    waits = calls["kind"] == SYNC
    for group in (np.flatnonzero(waits), np.flatnonzero(~waits)):
        if not len(group):
            continue
        start, end = calls["start"][group], calls["end"][group]
        latest = np.maximum.accumulate(end)
        nested = np.concatenate([[False], start[1:] < latest[:-1]])
        recorded = calls["operations"][group] > 0
        if not nested.any():
            keep[group] = True
        else:
            nest = np.cumsum(~nested) - 1
            served = np.bincount(nest, weights=recorded)[nest] > 0
            chosen = np.where(served, recorded, ~nested)
            # Both calls of a nest may carry one correlation id; the outer one is the launch then.
            served_at = np.flatnonzero(chosen)
            ids = calls["correlation_id"][group[served_at]]
            by_id = np.lexsort((served_at, ids, nest[served_at]))
            same = (np.diff(ids[by_id]) == 0) & (np.diff(nest[served_at][by_id]) == 0)
            chosen[served_at[by_id][1:][same]] = False
            keep[group] = chosen
        if latest[-1] >= until and until != LAST:
            last = int(np.flatnonzero(~nested)[-1])
            hold[group[last:]] = True
    return take(calls, keep & ~hold), take(calls, ~keep & ~hold), take(calls, hold)


def _nesting(around: Ranges, rows: Rows, paths: Paths) -> Rows:
    """Parent, depth and path of push/pop ranges."""
    parent, depth = around.parent, around.depth
    path = np.full(len(parent), NONE, np.int64)
    crossed = around.crossed
    level_of = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[level_of], np.arange(int(depth.max(initial=-1)) + 2))
    for first, behind in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        here = level_of[first:behind]
        above = np.where(parent[here] >= 0, path[parent[here]], NONE)
        path[here] = paths.of(above, rows["domain"][here], rows["label"][here], rows["style"][here])
    if len(crossed):
        # Some range around these is around no parent of theirs: all are gone through one by one.
        chain = list(around.chain(around.last_before(crossed - 1, around.end[crossed]), around.end[crossed]))
        depth = depth.copy()
        depth[crossed] = sum((step >= 0).astype(np.int64) for step in chain) if chain else 0
        above = _path_of_chain(chain, rows, paths, len(crossed))
        path[crossed] = paths.of(above, rows["domain"][crossed], rows["label"][crossed], rows["style"][crossed])
    ids = np.where(parent >= 0, rows["range_id"][parent], NONE) if len(parent) else parent
    return {"parent": ids, "depth": depth, "path_id": path}


def _path_of_chain(chain: Sequence[Integers], rows: Rows, paths: Paths, length: int) -> Integers:
    """The paths of ranges given from the inside out."""
    path = np.full(length, NONE, np.int64)
    for step in reversed(chain):
        there = np.flatnonzero(step >= 0)
        at = step[there]
        path[there] = paths.of(path[there], rows["domain"][at], rows["label"][at], rows["style"][at])
    return path


def _placed(around: Ranges, rows: Rows, calls: Rows, paths: Paths) -> Rows:
    """Innermost range and path of each call."""
    start, end = calls["start"], calls["end"]
    at = around.innermost(start, end)
    inside = np.flatnonzero(at >= 0)
    range_id, path = np.full(len(at), NONE, np.int64), np.full(len(at), NONE, np.int64)
    range_id[inside] = rows["range_id"][at[inside]]
    path[inside] = rows["path_id"][at[inside]]
    # Where more ranges lie around a call than around its innermost range, some cross or touch there.
    more = inside[around.enclosing(start[inside], end[inside]) != rows["depth"][at[inside]] + 1]
    if len(more):
        path[more] = _path_of_chain(list(around.chain(at[more], end[more])), rows, paths, len(more))
    return {"range_id": range_id, "path_id": path}


def _capture_levels(marks: Rows, open_before: int) -> Integers:
    """How many captures of streams are open before the first mark, and behind each one."""
    levels = np.cumsum(np.concatenate([[open_before], marks["step"]]))
    # An end without a begin, as in a capture that nsys joined late, closes nothing.
    return np.asarray(levels - np.minimum(np.minimum.accumulate(levels), 0))


def counted_to(end: Integers, closed: Integers, latest: int) -> Integers:
    """Until when a range counts what ran, as nsys itself does in its projection.

    A range that was never closed (2) counts until the last NVTX event, one that another thread closed (1)
    nothing. `latest` is the last start of all ranges.
    """
    last = int(end[end != LAST].max(initial=latest))
    return np.select([closed == 1, closed == 2], [np.int64(FIRST), np.int64(last)], end)


def _count(ranges: Rows, launches: Rows) -> None:
    """Add to each range what the launches inside it did."""
    if not count(launches):
        return
    start = launches["start"]
    first = np.searchsorted(start, ranges["start"], side="left")
    behind = np.searchsorted(start, ranges["end"], side="right")
    some = np.flatnonzero(behind > first)
    ids = launches["launch_id"]
    fresh = some[ranges["first_launch_id"][some] == NONE]
    ranges["first_launch_id"][fresh] = ids[first[fresh]]
    ranges["last_launch_id"][some] = ids[behind[some] - 1]
    ran = take(launches, launches["operations"] > 0)
    while count(ran):
        # Calls inside calls return before those around them: they are counted in a round of their own.
        outer = ran["end"] >= np.maximum.accumulate(ran["end"])
        _count_in_order(ranges, ran if outer.all() else take(ran, outer))
        ran = take(ran, ~outer)


def _count_in_order(ranges: Rows, ran: Rows) -> None:
    first = np.searchsorted(ran["start"], ranges["start"], side="left")
    behind = np.searchsorted(ran["end"], ranges["counted_to"], side="right")
    some = np.flatnonzero(behind > first)
    a, b = first[some], behind[some]
    ranges["launches"][some] += b - a
    for name in ran.keys() & {"kernels", "operations", "device_ns", "timed"}:
        running = np.concatenate([[0], np.cumsum(ran[name])])
        ranges[name][some] += running[b] - running[a]
    for name, largest, pick in (("first_ns", False, np.minimum), ("last_ns", True, np.maximum)):
        if name not in ran:  # nobody asks for it
            continue
        ranges[name][some] = pick(ranges[name][some], Extremes(ran[name], largest).of(a, b))


# -- rows as columns ------------------------------------------------------------------------------


def count(rows: Mapping[str, Integers]) -> int:
    return len(next(iter(rows.values()), ()))


def take(rows: Rows, which: NDArray[np.bool_] | Integers | slice) -> Rows:
    """These rows, in the order of their numbers; all of them without a copy."""
    if isinstance(which, np.ndarray) and which.dtype == np.bool_:
        if which.all():
            return dict(rows)
        which = np.flatnonzero(which)
    return {name: values[which] for name, values in rows.items()}


def sorted_rows(rows: Rows) -> Rows:
    """By start, those that end later first."""
    found = order(rows["start"], rows["end"])
    return rows if found is None else take(rows, found)


def joined(parts: Sequence[Rows]) -> Rows:
    """All rows of these parts, with the columns of the last one."""
    some = [rows for rows in parts if count(rows)] or list(parts[-1:])
    if len(some) < 2:
        return dict(some[0]) if some else {}
    return {name: np.concatenate([rows[name] for rows in some]) for name in some[-1]}
