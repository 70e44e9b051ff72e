"""What every form of an ncu report becomes: profiled workloads, and their metrics as they are printed.

A full report has a thousand workloads and more, with some 1,500 metrics each. Cells therefore go through
temporary files, each of some workloads, and DuckDB makes values of one file after another (ncu_values.py).
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from types import TracebackType
from typing import IO

from nsight_suite.evidence.notes import note_doubts
from nsight_suite.evidence.readers import ncu_values
from nsight_suite.evidence.readers.ncu_instances import instances
from nsight_suite.evidence.readers.ncu_numbers import Format
from nsight_suite.evidence.readers.ncu_shapes import Shapes
from nsight_suite.evidence.store import Connection

# What every report is asked for besides the protocol's metrics: how the workload was launched and replayed.
_ALWAYS = ("launch__", "profiler__replayer_passes")
# What is printed in one cell, and every name, is kept up to this length.
LONGEST_CELL = 100_000
# A file of cells is in memory at once, with what becomes of them.
_CELLS_OF_FILE = 400_000
_BYTES_OF_FILE = 32 << 20


@dataclass(frozen=True)
class Workload:
    """One profiled workload. Grid and block are "x,y,z"; without `kind` the metrics of the launch tell it."""

    workload_id: int
    name: str
    process: int | None = None
    device: int | None = None
    context: int | None = None
    stream: int | None = None
    grid: str | None = None
    block: str | None = None
    kind: str | None = None
    range_name: str | None = None
    invocation: int | None = None


@dataclass(frozen=True)
class Metric:
    """What a cell is of. `unit` is as printed, None when not told; `section` is as in `counter`."""

    name: str
    unit: str | None
    section: str | None = None


def wanted(metric: str, requested: Sequence[str] | None) -> bool:
    """Whether a metric enters the evidence: any, or those asked for by exact name (.avg is another one)."""
    return requested is None or metric in requested or metric.startswith(_ALWAYS)


class Cells:
    """The workloads of a report and their cells, gathered one by one; then `insert` makes counters of them.

    To be used in a `with` statement: temporary files hold the cells, those of one workload in one file.
    """

    def __init__(self, requested: Sequence[str] | None) -> None:
        self.requested = requested
        self.workloads: dict[int, Workload] = {}
        # Whether a cell may have come twice. Looking for that is left out when it cannot be.
        self.repeats = False
        self._metrics: dict[Metric, int] = {}
        self._shapes = Shapes()
        self._position = 0
        # Workloads come in the order of a page: only another page goes back to an earlier file.
        self._files: list[Path] = []
        self._file_of: dict[int, int] = {}
        self._open: IO[str] | None = None
        self._current = -1
        self._first_position = 0

    def __enter__(self) -> Cells:
        self._folder = tempfile.TemporaryDirectory()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self._folder.cleanup()

    def metric(self, metric: Metric) -> int:
        """The number that stands for a metric in `add`."""
        if max(len(metric.name), len(metric.unit or ""), len(metric.section or "")) > LONGEST_CELL:
            section = metric.section and metric.section[:LONGEST_CELL]
            metric = Metric(metric.name[:LONGEST_CELL], metric.unit and metric.unit[:LONGEST_CELL], section)
        number = self._metrics.setdefault(metric, len(self._metrics))
        if number == len(self._metrics) - 1:
            self._shapes.begin_metric(number, metric.name, metric.unit)
        return number

    def add(self, workload: Workload, cells: Iterable[tuple[int, str]]) -> None:
        """Take a workload, or more of one that was taken before, with cells (metric's number, printed text)."""
        number = workload.workload_id
        if number in self.workloads:
            self.repeats = True
        self.workloads.setdefault(number, workload)
        self._turn_to(number)
        position, write, shape_of = self._position, self._write, self._shapes.of
        for metric, text in cells:
            position += 1
            if text.endswith(")") and (several := instances(text)):
                aggregate = several.aggregate[:LONGEST_CELL]
                write((number, metric, shape_of(metric, aggregate), position, "", aggregate))
                for name, value in several.values():
                    cut = value[:LONGEST_CELL]
                    write((number, metric, shape_of(metric, cut), position, name[:LONGEST_CELL], cut))
            else:
                write((number, metric, shape_of(metric, text), position, "", text[:LONGEST_CELL]))
        self._position = position

    def add_row(self, workload: Workload, metrics: Sequence[int], texts: Sequence[str]) -> None:
        """Take a workload with a cell of each of these metrics: what `add` does, faster."""
        number, count = workload.workload_id, len(metrics)
        if number in self.workloads or len("".join(texts)) > LONGEST_CELL or _ends_a_list(texts):
            self.add(workload, zip(metrics, texts, strict=True))
            return
        self.workloads[number] = workload
        self._turn_to(number)
        positions = range(self._position + 1, self._position + 1 + count)
        shapes = self._shapes.of_row(metrics, texts)
        self._write_all(zip(repeat(number), metrics, shapes, positions, repeat(""), texts, strict=False))
        self._position += count

    def _turn_to(self, number: int) -> None:
        """Open the file that holds a workload's cells: the last one, and a new one when that is full."""
        index = self._file_of.get(number)
        if index is None:
            if not self._files or self._is_full():
                self._files.append(Path(self._folder.name) / f"{len(self._files)}.csv")
                self._first_position = self._position
            index = self._file_of[number] = len(self._files) - 1
        if index != self._current:
            self._close()
            self._open = self._files[index].open("a", encoding="utf-8", errors="replace", newline="")
            # The writer puts into quotes what holds a character of a line's end: a text may hold each alone.
            writer = csv.writer(self._open, lineterminator="\r\n")
            self._write, self._write_all = writer.writerow, writer.writerows
            self._current = index

    def _is_full(self) -> bool:
        if self._position - self._first_position >= _CELLS_OF_FILE:
            return True
        # Long texts and cells of many instances fill it earlier.
        return self._open is not None and self._open.tell() >= _BYTES_OF_FILE

    def _close(self) -> None:
        if self._open is not None:
            self._open.close()
        self._open, self._current = None, -1

    def insert(
        self, connection: Connection, path: Path, pass_name: str, formats: Sequence[Format] | None
    ) -> int:
        """Insert the counters, and findings for what they lack; count the workloads.

        `formats` are the number formats of the cells; None when the cells themselves must tell it.
        """
        self._close()
        source = ncu_values.Source(
            file=path.name,
            pass_name=pass_name,
            cells=self._files,
            shapes=self._shapes,
            requested=self.requested,
            may_repeat=self.repeats,
            formats=formats,
        )
        doubts = ncu_values.insert_counters(connection, source, self.workloads.values(), self._metrics)
        note_doubts(connection, pass_name, doubts)
        return len(self.workloads)


def _ends_a_list(texts: Sequence[str]) -> bool:
    """Whether a text may be that of several instances."""
    return any(text[-1:] == ")" for text in texts)
