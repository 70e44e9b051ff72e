"""The tables of an ncu CSV, row by row → workloads and cells, and what was met beside the rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nsight_suite.errors import BadReport
from nsight_suite.evidence.notes import Doubt
from nsight_suite.evidence.readers.ncu_advice import Advice
from nsight_suite.evidence.readers.ncu_launches import Launches
from nsight_suite.evidence.readers.ncu_nvtx import innermost, ranges, start_end_ranges
from nsight_suite.evidence.readers.ncu_page import Header, Kind, Line, whole
from nsight_suite.evidence.readers.ncu_refusals import (
    failure,
    refusal,
    shown_column,
    summary,
    tool_errors,
)
from nsight_suite.evidence.readers.workloads import LONGEST_CELL, Cells, Metric, Workload, wanted

_IDENTITY = ("ID", "Process ID", "Kernel Name", "Grid Size", "Block Size")
_LABELS = ("Section Name", "Body Item Label", "Metric Name", "Metric Unit")
_RULE = ("Rule Name", "Rule Type", "Rule Description", "Estimated Speedup")
# Columns of a details page that change from row to row of one workload.
_PER_METRIC = (*_LABELS, "Metric Value", *_RULE, "Estimated Speedup Type")
# Beside these a raw page has metrics. A column of a newer ncu that is neither is told by name, and not read: it
# may hold anything.
_FACTS = frozenset(
    {
        *(*_IDENTITY, "Process Name", "Host Name", "Kernel Time", "Context", "Stream", "Device", "CC"),
        *("Invocations", *_PER_METRIC),
    }
)
_RANGES = ("Push/Pop_Range", "Start/Stop_Range")
_COMMAND_LINE_SECTION = "Command line profiler metrics"
# Up to the first underscore, then the rest: told in one way only, so that no long name takes long.
_NAME = r"[A-Za-z](?:[^\W_]|[.:])*_[\w.:]*"
_METRIC_NAME = re.compile(_NAME)
_LABEL_AND_NAME = re.compile(rf".* \((?P<name>{_NAME})\)", re.DOTALL)
# Each of so many columns is told by name.
_MOST_COLUMNS = 20
# How much of the text around the table is kept for messages.
_KEPT_TEXT = 200_000


@dataclass
class Reading:
    """What has been read so far of a page, and what was met beside its rows."""

    cells: Cells
    advice: list[Advice] = field(default_factory=list)
    lines: int = 0
    cut: bool = False
    foreign: int = 0
    ragged: int = 0
    summaries: int = 0
    unknown: set[str] = field(default_factory=set)
    _header: Header = field(default_factory=lambda: Header(()))
    _headers: int = 0
    _ranges: list[int | None] = field(default_factory=list)
    _columns: list[int] = field(default_factory=list)
    _metrics_of_columns: list[int] = field(default_factory=list)
    _metrics_of_labels: dict[tuple[str, ...], int] = field(default_factory=dict)
    _last: tuple[list[str], Workload] | None = None
    _known: Launches = field(default_factory=Launches)
    _around: list[str] = field(default_factory=list)
    _kept: int = 0

    def watch(self, texts: Iterator[str]) -> Iterator[str]:
        """The same lines, counted; afterwards it is known whether the last one has ended."""
        for text in texts:
            self.lines += 1
            self.cut = not text.endswith("\n")
            yield text

    def take(self, line: Line) -> None:
        match line.kind:
            case Kind.HEADER:
                self._begin_table(line.cells)
            case Kind.UNITS:
                self._name_columns(line.cells)
            case Kind.ROW:
                self._row(line.cells)
            case Kind.CUT:
                self.cut = True
            case Kind.FOREIGN if self._header.is_summary:
                self.summaries += 1
            case Kind.FOREIGN if line.cells:
                self.ragged += 1
            case Kind.FOREIGN:
                self.foreign += 1
        if line.kind in (Kind.SKIPPED, Kind.FOREIGN) and self._kept < _KEPT_TEXT:
            self._around.append(line.text)
            self._kept += len(line.text) + 1

    def _begin_table(self, names: list[str]) -> None:
        self._header, self._last = Header(tuple(names)), None
        self._ranges = [
            next((column for column, name in enumerate(names) if part in name), None) for part in _RANGES
        ]
        self._headers += 1
        self._metrics_of_labels = {}
        self._known.begin_table("details" if self._header.is_long else "raw")
        if not self._header.is_long and not self._header.is_summary:
            self._name_columns([None] * len(names))

    def _name_columns(self, units: Sequence[str | None]) -> None:
        """Give the metrics of a raw page their numbers, and keep in which columns they stand."""
        self.cells.repeats |= len(self._header.at) < len(self._header.names)
        self._columns, self._metrics_of_columns = [], []
        for column, (name, unit) in enumerate(zip(self._header.names, units, strict=True)):
            is_metric = _METRIC_NAME.fullmatch(name) is not None
            if not is_metric and name and name not in _FACTS and not any(part in name for part in _RANGES):
                self.unknown.add(shown_column(name))
            if is_metric and wanted(name, self.cells.requested):
                self._columns.append(column)
                self._metrics_of_columns.append(self.cells.metric(Metric(name, unit)))

    def _row(self, row: list[str]) -> None:
        if self._header.is_long:
            self._long_row(row)
            return
        texts = [row[column] for column in self._columns]
        self.cells.add_row(self._workload(row), self._metrics_of_columns, texts)

    def _long_row(self, row: list[str]) -> None:
        at = self._header.at
        facts = row[: min(at[name] for name in _PER_METRIC if name in at)]
        if self._last and self._last[0] == facts:
            workload = self._last[1]
        else:
            workload = self._workload(row)
            self._last = facts, workload
        label = tuple(row[at[name]] if name in at else "" for name in _LABELS)
        number = self._metrics_of_labels.get(label)
        if number is None:
            number = self._metrics_of_labels[label] = self._name_label(label, "Metric Unit" in at)
        if number >= 0:
            self.cells.add(workload, [(number, row[at["Metric Value"]])])
        elif not label[2].strip():
            self._rule(row, workload)
            self.cells.add(workload, ())

    def _name_label(self, label: tuple[str, ...], has_unit: bool) -> int:
        """The number of a details page's metric; -1 for a row without one, or one that is not wanted."""
        *place, printed, unit = label
        section = " / ".join(part.strip() for part in place if part.strip())
        name, section_of = _metric_and_section(printed.strip(), section)
        if not name or not wanted(name, self.cells.requested):
            return -1
        return self.cells.metric(Metric(name, unit if has_unit else None, section_of))

    def _rule(self, row: list[str], workload: Workload) -> None:
        section, *told = (self._cell(row, name) for name in ("Section Name", *_RULE))
        if any(told):
            rule, kind, text, speedup = told
            self.advice.append(Advice(workload.workload_id, section, rule, kind, text, speedup))

    def _cell(self, row: list[str], column: str) -> str:
        index = self._header.at.get(column)
        return "" if index is None else row[index].strip()

    def _workload(self, row: list[str]) -> Workload:
        """The workload that a row is of."""
        printed, pid, *launch = (self._cell(row, name) for name in _IDENTITY)
        key = (whole(printed), whole(pid), *launch)
        number, process = self._known.place(key)
        if number in self.cells.workloads:
            return self.cells.workloads[number]
        push_pop, start_end = (row[column] if column is not None else "" for column in self._ranges)
        around = innermost(ranges(push_pop), start_end_ranges(start_end))
        return Workload(
            workload_id=number,
            name=row[self._header.at["Kernel Name"]][:LONGEST_CELL],
            process=process,
            device=_integer(self._cell(row, "Device")),
            context=_integer(self._cell(row, "Context")),
            stream=_integer(self._cell(row, "Stream")),
            grid=_dimensions(key[3]),
            block=_dimensions(key[4]),
            range_name=around.name[:LONGEST_CELL] if around else None,
            invocation=around.payload if around else None,
        )

    def refusal(self, name: str) -> BadReport | None:
        """Why there is no workload; None for a table that is just empty."""
        text = "\n".join(self._around)
        if error := failure(text, name):
            return error
        if not self._headers:
            return refusal(text, name)
        return summary(name) if self.summaries or self._header.is_summary else None

    def doubts(self, name: str) -> Iterator[Doubt]:
        """What the evidence must tell of the file beside its counters."""
        if self.cut:
            told = f"{name} is cut off at line {self.lines}. The whole rows before are kept. Export it again."
            yield ("truncated-report", name, told)
        if self.foreign:
            told = (
                f"{self.foreign} lines of {name} are no rows of a table and were left out: the program's output"
            )
            way_out = "With --log-file ncu keeps the program's output out of it."
            yield ("foreign-lines", name, f"{told}, or a table of another kind. {way_out}")
        if self.ragged:
            told = f"{self.ragged} rows of {name} do not fit its header and were left out."
            yield ("ragged-rows", name, f"{told} The file was damaged or changed: export it again.")
        if self.summaries:
            told = f"{self.summaries} lines of {name} belong to a summary page and were left out"
            yield ("summary-page", name, f"{told}: they tell nothing of single launches.")
        if self._known.repeated:
            told = (
                f"{self._known.repeated} launches of {name} have the ID, process, name and shape of an earlier "
                "one. Each counts as a launch of its own: process IDs repeat, in containers above all. If the "
                "file holds the same page twice, they count double."
            )
            yield ("repeated-launches", name, told)
        for column in sorted(self.unknown)[:_MOST_COLUMNS]:
            told = f"{name} has a column that this version does not know. It was left out."
            yield ("unknown-column", column, told)
        if (more := len(self.unknown) - _MOST_COLUMNS) > 0:
            told = f"{name} has {more} more columns that this version does not know. They were left out."
            yield ("unknown-column", name, told)
        if not self.cells.workloads:
            told = f"{name} has a header and no row: nothing was profiled, or it was cut off."
            yield ("no-workloads", name, told)
        if errors := tool_errors("\n".join(self._around)):
            yield ("tool-error", name, f"ncu printed errors beside its table: {'; '.join(errors)}.")


def _metric_and_section(printed: str, section: str) -> tuple[str, str | None]:
    """The exact name of a metric, without a section; or its label, with the section that it belongs to.

    Names are printed for metrics asked for by name, and with --print-metric-name name or label-name.
    """
    if section == _COMMAND_LINE_SECTION or _METRIC_NAME.fullmatch(printed):
        return printed, None
    if match := _LABEL_AND_NAME.fullmatch(printed):
        return match["name"], None
    return printed, section or None


def _integer(text: str) -> int | None:
    found = whole(text)
    return int(found) if re.fullmatch("[0-9]{1,18}", found) else None


def _dimensions(text: str) -> str | None:
    """
    >>> _dimensions("(65536, 1, 1)")
    '65536,1,1'
    """
    numbers = re.findall("[0-9]+", text)
    return ",".join(numbers) if len(numbers) == 3 else None
