"""What every form of an ncu report becomes: profiled workloads, and their metrics as they are printed.

A full report has a thousand workloads and more, with some 1,500 metrics each. Cells therefore go through a
temporary file, and DuckDB makes values of them in one sweep (ncu_values.py).
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from nsight_suite.evidence.notes import note_doubts
from nsight_suite.evidence.readers import ncu_values
from nsight_suite.evidence.readers.ncu_instances import instances
from nsight_suite.evidence.readers.ncu_numbers import Format
from nsight_suite.evidence.store import Connection

# What every report is asked for besides the protocol's metrics: how the workload was launched and replayed.
_ALWAYS = ("launch__", "profiler__replayer_passes")
_LONGEST_CELL = 100_000


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

    To be used in a `with` statement: a temporary file holds the cells.
    """

    def __init__(self, requested: Sequence[str] | None) -> None:
        self.requested = requested
        self.workloads: dict[int, Workload] = {}
        # Whether a cell may have come twice. Looking for that is left out when it cannot be.
        self.repeats = False
        self._metrics: dict[Metric, int] = {}
        self._position = 0

    def __enter__(self) -> Cells:
        self._file = tempfile.NamedTemporaryFile(
            "w", suffix=".csv", encoding="utf-8", errors="replace", newline=""
        )
        self._write = csv.writer(self._file, lineterminator="\n").writerow
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def metric(self, metric: Metric) -> int:
        """The number that stands for a metric in `add`."""
        return self._metrics.setdefault(metric, len(self._metrics))

    def add(self, workload: Workload, cells: Iterable[tuple[int, str]]) -> None:
        """Take a workload, or more of one that was taken before, with cells (metric's number, printed text)."""
        number = workload.workload_id
        if number in self.workloads:
            self.repeats = True
        self.workloads.setdefault(number, workload)
        position, write = self._position, self._write
        for metric, text in cells:
            position += 1
            if text.endswith(")") and (several := instances(text)):
                write((number, metric, position, "", several.aggregate))
                for name, value in several.values:
                    write((number, metric, position, name, value))
            else:
                write((number, metric, position, "", text[:_LONGEST_CELL]))
        self._position = position

    def insert(
        self, connection: Connection, path: Path, pass_name: str, formats: Sequence[Format] | None
    ) -> int:
        """Insert the counters, and findings for what they lack; count the workloads.

        `formats` are the number formats of the cells; None when the cells themselves must tell it.
        """
        self._file.flush()
        source = ncu_values.Source(
            file=path.name,
            pass_name=pass_name,
            cells=Path(self._file.name),
            requested=self.requested,
            may_repeat=self.repeats,
            formats=formats,
        )
        doubts = ncu_values.insert_counters(connection, source, self.workloads.values(), self._metrics)
        note_doubts(connection, pass_name, doubts)
        return len(self.workloads)
