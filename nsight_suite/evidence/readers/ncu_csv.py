"""`ncu --import R.ncu-rep --csv` → counters. The raw page (wide) and the details page (long) are both read.

Everything is found by the header's names: columns come and go with ncu's version and options.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from nsight_suite.errors import BadReport
from nsight_suite.evidence.notes import Doubt, note_doubts, note_report
from nsight_suite.evidence.readers.workloads import Cell, Workload, insert
from nsight_suite.evidence.store import Connection
from nsight_suite.protocol import DOMAIN

_SUMMARY = ("Minimum", "Maximum", "Average")
# Domain:Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg, where the message is the range's name once more.
# Only a name holds colons.
_RANGE = re.compile(
    r"(?P<domain>[^:]*):(?P<name>.*):[^:]*:(?P<payload>[^:]*):[^:]*:[^:]*:[^:]*:(?P=name)", re.DOTALL
)


class Kind(Enum):
    """What a line of a page is."""

    SKIPPED = "before the header, empty, or a message of ncu"
    HEADER = "the header"
    UNITS = "the units of a raw page"
    ROW = "a row of the table"
    FOREIGN = "a whole line that is none of these"
    CUT = "the last line, cut off"


@dataclass(frozen=True)
class Line:
    kind: Kind
    cells: list[str]


@dataclass(frozen=True)
class Page:
    """The lines of a page. A raw page has one row per workload, a details page one per workload and metric."""

    name: str
    header: list[str]
    lines: list[Line]
    ended: bool

    def rows(self, kind: Kind = Kind.ROW) -> list[list[str]]:
        return [line.cells for line in self.lines if line.kind is kind]

    @property
    def truncated(self) -> str | None:
        """Where the file stops too early, if it does."""
        cut = bool(self.lines) and self.lines[-1].kind is Kind.CUT
        return f"{self.name} is cut off at line {len(self.lines)}" if cut or not self.ended else None


def read(connection: Connection, path: Path, pass_name: str, requested: Sequence[str] = ()) -> None:
    """Insert the counters of one CSV page. `requested` are the metrics that the protocol asks for, by name.

    Raises BadReport, with nothing inserted, for a file without a table of workloads, and says what it holds.
    """
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise BadReport(f"{path.name} cannot be read: {error.strerror}.") from error
    page = parse(text, path.name)
    count = insert(connection, path, pass_name, list(workloads(page)), requested)
    note_report(connection, pass_name, path, "ncu-csv", rows=count, complete=page.truncated is None)
    doubts: list[Doubt] = []
    if page.truncated:
        told = f"{page.truncated}. The whole rows before are kept. Export it again."
        doubts.append(("truncated-report", path.name, told))
    if foreign := len(page.rows(Kind.FOREIGN)):
        told = (
            f"{foreign} lines of {path.name} are no rows of its table and were left out. "
            "Print the page with --log-file, which keeps the program's own output out of it."
        )
        doubts.append(("foreign-lines", path.name, told))
    note_doubts(connection, pass_name, doubts)


def parse(text: str, name: str) -> Page:
    """Cut the text of a page into lines and cells; `name` is the file's, for messages.

    Each line is cut on its own, so that a stray quote in a foreign line cannot swallow the rows after it.
    """
    texts = text.split("\n")
    ended = texts[-1] == ""
    if ended:
        texts.pop()
    first = next((index for index, line in enumerate(texts) if _is_header(line)), None)
    if first is None:
        raise _no_table(text, name)
    header = cells(texts[first]) or []
    if "Metric Value" not in header and any(column in header for column in _SUMMARY):
        raise BadReport(
            f"{name} is a summary page, which has no single launches.",
            "Print the raw page: ncu --import R.ncu-rep --csv --page raw --print-units base",
        )
    lines = [Line(Kind.SKIPPED, [])] * first + [Line(Kind.HEADER, header)]
    for index in range(first + 1, len(texts)):
        lines.append(
            _line(
                texts[index],
                header,
                directly_below=index == first + 1,
                last=index == len(texts) - 1,
                ended=ended,
            )
        )
    return Page(name, header, lines, ended)


def _line(text: str, header: list[str], *, directly_below: bool, last: bool, ended: bool) -> Line:
    if not text.strip() or text.startswith("=="):
        return Line(Kind.SKIPPED, [])
    row = cells(text)
    # Rows of a details page may lack the cells of the columns for rules.
    long = "Metric Value" in header
    whole = row is not None and (len(row) == len(header) or (long and len(row) < len(header)))
    if row is None or not whole or (last and not ended and not text.endswith('"')):
        # Without its line end, only a closing quote shows that a last value is whole.
        return Line(Kind.CUT if last else Kind.FOREIGN, [])
    number = row[header.index("ID")].strip()
    if directly_below and not long and not number:
        return Line(Kind.UNITS, row)
    if number.isdigit():
        return Line(Kind.ROW, row + [""] * (len(header) - len(row)))
    return Line(Kind.FOREIGN, [])


def cells(line: str) -> list[str] | None:
    """The cells of one line; None when its quotes do not close."""
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return None


def workloads(page: Page) -> Iterator[Workload]:
    """The profiled workloads of a page, in the order of the report."""
    metrics: dict[int, dict[str, Cell]] = {}
    facts: dict[int, dict[str, str]] = {}
    units = next(iter(page.rows(Kind.UNITS)), None)
    for row in page.rows():
        named = dict(zip(page.header, row, strict=True))
        workload_id = int(named["ID"])
        facts.setdefault(workload_id, named)
        found = metrics.setdefault(workload_id, {})
        if "Metric Value" in named:
            # Rows of a rule's advice have no metric.
            if named["Metric Name"]:
                found.setdefault(named["Metric Name"], Cell(named["Metric Value"], named["Metric Unit"]))
        else:
            for column, text in named.items():
                found[column] = Cell(text, units[page.header.index(column)] if units else None)
    push_pop = next((column for column in page.header if "Push/Pop_Range" in column), None)
    for workload_id, found in metrics.items():
        name = facts[workload_id]["Kernel Name"]
        range_name, payload = innermost_range(facts[workload_id][push_pop] if push_pop else "")
        yield Workload(workload_id, name, _is_graph(name, found), range_name, payload, found)


def innermost_range(cell: str) -> tuple[str | None, int | None]:
    """Name and integer payload of the innermost push/pop range of the suite's domain in an NVTX cell."""
    for text in reversed(re.findall(r'"(.*?)"(?=\s|$)', cell, re.DOTALL)):
        match = _RANGE.fullmatch(text)
        if match and match["domain"] == DOMAIN:
            payload = match["payload"].strip()
            return match["name"], int(payload) if re.fullmatch(r"-?[0-9]+", payload) else None
    return None, None


def _is_graph(name: str, metrics: dict[str, Cell]) -> bool:
    """ncu calls a whole graph 'graph'; so may a program its kernel, but that has no graph attributes."""
    exec_id = metrics.get("launch__graph_exec_cuda_id", Cell("", None)).text
    device_launch = metrics.get("launch__graph_contains_device_launch", Cell("", None)).text
    return name == "graph" and (exec_id not in ("", "0") or device_launch in ("0", "1"))


def _is_header(line: str) -> bool:
    return {"ID", "Kernel Name"} <= set(cells(line) or ())


def _no_table(text: str, name: str) -> BadReport:
    if not text.strip():
        return BadReport(f"{name} is empty.", "Export it again with ncu --import R.ncu-rep --csv --page raw.")
    if "ERR_NVGPUCTRPERM" in text:
        return BadReport(
            f"{name} has no counters: the user may not read them (ERR_NVGPUCTRPERM).",
            "Run as root or with CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0.",
        )
    if "No kernels were profiled" in text:
        return BadReport(
            f"{name} has no counters: no kernel matched the filters of ncu.",
            "Check the names given to --nvtx-include and --kernel-name.",
        )
    errors = [line.strip() for line in text.splitlines() if line.startswith("==ERROR==")]
    told = f": {errors[0]}" if errors else ""
    return BadReport(
        f"{name} has no header with 'ID' and 'Kernel Name'{told}",
        "Export it again with ncu --import R.ncu-rep --csv --page raw --print-units base.",
    )
