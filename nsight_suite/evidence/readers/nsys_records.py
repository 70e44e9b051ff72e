"""Device records of an nsys export → what ran for each correlation id of a process, for calls to look up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nsight_suite.evidence.readers.batches import complete, distinct, filled, poured, split, valid
from nsight_suite.evidence.readers.lanes import FIRST, LAST, Rows, count, take
from nsight_suite.evidence.readers.nsys_export import BIGINT, Export, find
from nsight_suite.evidence.readers.sqlite_pages import Batch, Integers

OPERATIONS = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
SUMS = ("operations", "kernels", "timed", "device_ns", "first_ns", "last_ns")
# All others are added up.
_PICKED: Mapping[str, np.ufunc] = {"first_ns": np.minimum, "last_ns": np.maximum}
# Correlation ids that lie this much further apart than there are operations are not used as places in an array.
_SPARSE = 8
# Ids may lie so far below the first one.
_BELOW = 100_000


def process_of(thread: int) -> int:
    """The globalPid of a globalTid."""
    return thread & ~0xFFFFFF


class Sums(Protocol):
    """What the device recorded for each correlation id of a process."""

    def of(self, ids: Integers) -> tuple[NDArray[np.bool_], Rows]:
        """Which of these ids it knows, and the sums of those, in their order."""


class _FarApart(Exception):
    """Sums are not kept in place: ids lie too far apart, or a table must be read a second time."""


def read_records(export: Export, wanted: Collection[str]) -> tuple[Mapping[int, Sums], set[int]]:
    """Sums by process, `operations` and those of the SUMS that are wanted; and all processes with records, also
    such as no call could be found for."""
    names = tuple(name for name in SUMS if name in wanted or name == "operations")
    with suppress(_FarApart):
        return _kept_in_place(export, names)
    # Behind the handler: what the first way took is free by now.
    return _sorted_out(export, names)


# -- in place: what nearly all exports take -------------------------------------------------------


class _InPlace:
    """Sums in arrays in which an id is a place, from the id `base` on."""

    def __init__(self, names: Sequence[str], lowest: int, longest: int) -> None:
        self._base = max(0, lowest - _BELOW)
        self._longest = longest
        self._sums: Rows = {name: np.zeros(0, np.int64) for name in names}

    def add(self, rows: Rows) -> None:
        """Rows of ids that ascend and that each stand there once."""
        ids = rows["correlation_id"]
        self._reach(int(ids[0]), int(ids[-1]))
        at = ids - self._base
        sums = self._sums
        fresh = sums["operations"][at] == 0
        for name, values in sums.items():
            if pick := _PICKED.get(name):
                values[at] = np.where(fresh, rows[name], pick(values[at], rows[name]))
            else:
                values[at] += rows[name]

    def _reach(self, lowest: int, highest: int) -> None:
        if lowest < self._base or highest - self._base >= self._longest:
            raise _FarApart
        room = len(self._sums["operations"])
        if highest - self._base >= room:
            room = min(self._longest, 2 * (highest - self._base + 1))
            for name, values in self._sums.items():
                grown = np.zeros(room, np.int64)
                grown[: len(values)] = values
                self._sums[name] = grown

    def of(self, ids: Integers) -> tuple[NDArray[np.bool_], Rows]:
        at = ids - self._base
        known = (at >= 0) & (at < len(self._sums["operations"]))
        known[known] = self._sums["operations"][at[known]] > 0
        return known, take(self._sums, at[known])


def _kept_in_place(export: Export, names: Sequence[str]) -> tuple[Mapping[int, Sums], set[int]]:
    found_tables = ((name, find(export, name)) for name in OPERATIONS)
    tables = [(name, table) for name, table in found_tables if table and export.columns_of(table)]
    longest = _SPARSE * sum(export.size(table) for _, table in tables) + 2 * _BELOW
    found: dict[int, _InPlace] = {}

    def added(batch: Batch, first: int, *, kernel: int) -> set[int]:
        by_process = _summed_by_process(batch, first, names=names, kernel=kernel)
        for process, rows in by_process.items():
            if count(rows):
                lowest = int(rows["correlation_id"][0])
                found.setdefault(process, _InPlace(names, lowest, longest)).add(rows)
        return set(by_process)

    def twice() -> None:
        raise _FarApart  # what was added cannot be taken back

    working: set[int] = set()
    for name, table in tables:
        of = partial(added, kernel=int(name == OPERATIONS[0]))
        working.update(*export.mapped(table, _COLUMNS, of, twice))
    return found, working


# -- sorted: ids of any kind ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Ascending:
    """Sums by ids that ascend."""

    ids: Integers
    sums: Rows

    def of(self, ids: Integers) -> tuple[NDArray[np.bool_], Rows]:
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        known = self.ids[at] == ids
        return known, take(self.sums, at[known])


def _sorted_out(export: Export, names: Sequence[str]) -> tuple[Mapping[int, Sums], set[int]]:
    parts: dict[int, list[Rows]] = {}
    for name in OPERATIONS:
        summed = partial(_summed_by_process, names=names, kernel=int(name == OPERATIONS[0]))
        for by_process in export.mapped(find(export, name) or "", _COLUMNS, summed):
            for process, rows in by_process.items():
                parts.setdefault(process, []).append(rows)
    found: dict[int, Sums] = {}
    for process, rows_of in parts.items():
        if any(map(count, rows_of)):
            rows = _summed(poured(rows_of))
            found[process] = _Ascending(rows.pop("correlation_id"), rows)
    return found, set(parts)


# -- of one batch ---------------------------------------------------------------------------------

_COLUMNS = dict.fromkeys(("start", "end", "correlationId", "globalPid"), BIGINT)


def _summed_by_process(batch: Batch, first: int, *, names: Sequence[str], kernel: int) -> dict[int, Rows]:
    """By process one row per correlation id, ids ascending; no row for a process of which no id is known."""
    there = complete(batch, "correlationId", "globalPid")
    start, end = filled(batch["start"], 0), filled(batch["end"], 0)
    # CUPTI writes start = end = 0 when it has counted an operation but not timed it.
    timed = ((start != 0) | (end != 0)) & (end >= start) & valid(batch["start"]) & valid(batch["end"])
    made: dict[str, Callable[[], Integers]] = {
        "operations": lambda: np.ones(len(start), np.int64),
        "kernels": lambda: np.full(len(start), kernel, np.int64),
        "timed": lambda: timed.astype(np.int64),
        "device_ns": lambda: np.where(timed, end - start, 0),
        "first_ns": lambda: np.where(timed, start, LAST),
        "last_ns": lambda: np.where(timed, end, FIRST),
    }
    rows = {"correlation_id": batch["correlationId"].values} | {name: made[name]() for name in names}
    processes = batch["globalPid"].values
    idle: dict[int, Rows] = {}
    if not there.all():
        nothing = take(rows, slice(0, 0))
        idle = dict.fromkeys(distinct(batch["globalPid"]), nothing)
        rows, processes = take(rows, there), processes[there]
    return idle | {process: _summed(own) for process, own in split(rows, processes).items()}


def _summed(rows: Rows) -> Rows:
    """One row per correlation id, in ascending order."""
    ids = rows["correlation_id"]
    if (ids[1:] < ids[:-1]).any():
        rows = take(rows, np.argsort(ids, kind="stable"))
        ids = rows["correlation_id"]
    begins = np.concatenate([[True], ids[1:] != ids[:-1]])
    if begins.all():
        return rows
    first = np.flatnonzero(begins)
    return {"correlation_id": ids[first]} | {
        name: _PICKED.get(name, np.add).reduceat(values, first)
        for name, values in rows.items()
        if name != "correlation_id"
    }
