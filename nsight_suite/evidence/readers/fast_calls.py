"""Device records by correlation id, and by thread the API calls that they name, for the loops to look up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nsight_suite.evidence.readers import lanes
from nsight_suite.evidence.readers.fast_pages import Part, Reader, distinct
from nsight_suite.evidence.readers.loops import BLOCK, NULL
from nsight_suite.evidence.readers.machine import Machine
from nsight_suite.evidence.readers.nsys_export import find
from nsight_suite.evidence.readers.nsys_records import OPERATIONS, process_of
from nsight_suite.evidence.readers.sqlite_pages import Integers, Unusual

API = "CUPTI_ACTIVITY_KIND_RUNTIME"
# Correlation ids are places in an array, which may be so many times longer than there are rows.
_SPARSE = 16
# Ids may lie so far below the first one.
_BELOW = 100_000
_LARGEST = np.iinfo(np.int32).max


@dataclass
class Records:
    """What the device recorded for each correlation id of a process, from the id `base` on."""

    base: int
    sums: Integers

    def hold(self, lowest: int, highest: int, longest: int) -> None:
        """Make room for these ids. Raises Unusual when they lie too far apart."""
        if lowest < self.base or highest - self.base >= longest:
            raise Unusual("correlation ids lie far apart")
        if highest - self.base >= len(self.sums):
            grown = np.zeros((min(longest, 2 * (highest - self.base + 1)), self.sums.shape[1]), np.int64)
            grown[: len(self.sums)] = self.sums
            self.sums = grown


def read_records(reader: Reader, wide: bool) -> tuple[Mapping[int, Records], set[int]]:
    """By process, with counts and durations when `wide`; and all processes with records, of whatever call."""
    export = reader.export
    tables = [(name, found) for name in OPERATIONS if (found := find(export, name))]
    calls = find(export, API)
    rows = sum(export.size(table) for table in (*(found for _, found in tables), *([calls] if calls else ())))
    longest = min(_LARGEST, _SPARSE * rows + _BELOW)
    by_process: dict[int, Records] = {}
    working: set[int] = set()
    for name, table in tables:
        kernel = int(name == OPERATIONS[0])
        for part in reader.parts(table, ("start", "end", "correlationId", "globalPid")):
            ids, processes = part.values[2, : part.rows], part.values[3, : part.rows]
            working.update(distinct(processes))
            if ids.min() == NULL or processes.min() == NULL:
                there = (ids != NULL) & (processes != NULL)
                ids, processes = ids[there], processes[there]
            for process in distinct(processes):
                own = ids[processes == process]
                lowest, highest = int(own.min()), int(own.max())
                if lowest < 0:
                    raise Unusual("a correlation id below zero")
                if process not in by_process:
                    # Memory that no id is written to is never taken.
                    base = max(0, lowest - _BELOW)
                    room = min(longest, highest - base + rows)
                    by_process[process] = Records(base, np.zeros((room, 4 if wide else 2), np.int64))
                records = by_process[process]
                records.hold(lowest, highest, longest)
                added = reader.machine.accumulate(
                    *(part.values, part.room, part.rows, process, kernel),
                    *(records.base, records.sums, records.sums.shape[1]),
                )
                if added < 0:
                    raise Unusual("a moment before the capture")
    return by_process, working - {NULL}


@dataclass(frozen=True)
class Round:
    """Calls of one thread of which none lies inside another, in their order; and their records summed up."""

    starts: Integers
    ends: Integers
    keys: NDArray[np.int32]
    sums: Integers
    offsets: Integers
    tree: Integers

    @classmethod
    def of(
        cls, machine: Machine, starts: Integers, ends: Integers, keys: NDArray[np.int32], sums: Integers
    ) -> Round:
        # Level 0 are the calls themselves.
        sizes = [0]
        blocks = len(keys) // BLOCK
        while blocks:
            sizes.append(blocks)
            blocks //= BLOCK
        offsets = np.cumsum([0, *sizes])
        tree = np.empty((int(offsets[-1]), sums.shape[1]), np.int64)
        machine.build_tree(keys, sums, sums.shape[1], offsets, len(sizes) - 1, tree)
        return cls(starts, ends, keys, sums, offsets, tree)


@dataclass
class _Lane:
    """The calls of one thread that device records name."""

    sums: Integers
    starts: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    ends: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    keys: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    count: int = 0
    apart: bool = True

    def append(self, machine: Machine, part: Part, thread: int, base: int) -> None:
        if self.count + part.rows > len(self.starts):
            # Grown where they lie: the pages of large arrays are moved, not copied.
            for array in (self.starts, self.ends, self.keys):
                array.resize(self.count + self.count // 4 + part.rows, refcheck=False)
        count = machine.append_calls(
            *(part.values, part.room, part.rows, thread),
            *(base, self.sums, *self.sums.shape),
            *(self.starts, self.ends, self.keys, self.count),
        )
        self.count, apart = (count, True) if count >= 0 else (-1 - count, False)
        self.apart &= apart

    def rounds(self, machine: Machine) -> Iterator[Round]:
        """All calls that count, those inside others in rounds of their own."""
        starts, ends, keys = self.starts[: self.count], self.ends[: self.count], self.keys[: self.count]
        if not self.apart:
            rows: lanes.Rows = {"start": starts, "end": ends, "correlation_id": keys.astype(np.int64)}
            ones = np.ones(self.count, np.int64)
            kept = lanes._without_wrappers(rows | {"operations": ones, "kind": ones * 0}, lanes.LAST)[0]
            starts, ends = kept["start"], kept["end"]
            keys = kept["correlation_id"].astype(np.int32)
        while len(keys):
            if self.apart:
                yield Round.of(machine, starts, ends, keys, self.sums)
                return
            outer = ends >= np.maximum.accumulate(ends)
            yield Round.of(machine, starts[outer], ends[outer], keys[outer], self.sums)
            starts, ends, keys = starts[~outer], ends[~outer], keys[~outer]


def read_calls(
    reader: Reader, records: Mapping[int, Records]
) -> tuple[set[int], Mapping[int, Sequence[Round]]]:
    """All threads that call at all, and by thread the calls that device records name."""
    seen: set[int] = set()
    by_thread: dict[int, _Lane] = {}
    table = find(reader.export, API)
    for part in reader.parts(table, ("start", "end", "globalTid", "correlationId")) if table else ():
        for thread in distinct(part.values[2, : part.rows]):
            if thread == NULL:
                continue
            seen.add(thread)
            if (own := records.get(process_of(thread))) is not None:
                lane = by_thread.setdefault(thread, _Lane(own.sums))
                lane.append(reader.machine, part, thread, own.base)
    return seen, {thread: list(lane.rounds(reader.machine)) for thread, lane in by_thread.items()}
