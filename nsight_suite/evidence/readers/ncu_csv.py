"""`ncu --csv`, live or from `--import` → counters: the raw page (wide) and the details page (long).

Everything is found by the header's names: columns come and go with ncu's version and options. Of who ran the
program where (Process Name, Host Name) nothing enters the evidence.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from nsight_suite.errors import BadReport
from nsight_suite.evidence.notes import note_doubts, note_report
from nsight_suite.evidence.readers.ncu_advice import insert_advice
from nsight_suite.evidence.readers.ncu_page import Kind, encoding_of, header_of, lines_of, parse, texts_of
from nsight_suite.evidence.readers.ncu_settings import UNKNOWN, Identity, Policies
from nsight_suite.evidence.readers.ncu_table import Reading
from nsight_suite.evidence.readers.workloads import Cells
from nsight_suite.evidence.store import Connection

__all__ = ["Kind", "identity", "parse", "policies", "read", "recognises"]

_UNLOCKED_CLOCKS = "Running with unmodified GPU clocks"
_FIRST_ROWS = 5000
_TELLS_NOTHING = frozenset({"", "127.0.0.1", "localhost", "::1"})


def read(connection: Connection, path: Path, pass_name: str, requested: Sequence[str] | None = None) -> None:
    """Insert the counters of one CSV page: all, or of the metrics `requested` by exact name and of the launch.

    With everything asked for, the advice of rules and the GPUs that the page describes are inserted too.
    Raises BadReport, with nothing inserted, for a file without a table of workloads, and says what it holds.
    """
    with Cells(requested) as cells:
        table = Reading(cells)
        try:
            for line in lines_of(table.watch(texts_of(path))):
                table.take(line)
        except OSError as error:
            raise BadReport(f"{path.name} cannot be read: {error.strerror}.") from error
        if not cells.workloads and (refused := table.refusal(path.name)):
            raise refused
        count = cells.insert(connection, path, pass_name, None)
    if requested is None:
        insert_advice(connection, pass_name, table.advice)
    note_report(connection, pass_name, path, "ncu-csv", rows=count, complete=not table.cut)
    note_doubts(connection, pass_name, table.doubts(path.name))


def recognises(text_head: str) -> bool:
    """Whether the beginning of a file is that of a CSV of ncu: a table, or what ncu prints when it has none."""
    if any(header_of(line) for line in text_head.splitlines()):
        return True
    return bool(
        re.search(r'^"Kernel Name","|^"(Launch|Session) Attribute","Value"', text_head, re.MULTILINE)
        or re.search(r"^==(PROF|ERROR)==|^==WARNING== No kernels were profiled", text_head, re.MULTILINE)
    )


def policies(path: Path) -> Policies:
    """How the counters were taken, as far as the file tells: ncu warns when it leaves the clocks alone."""
    unlocked = _contains(path, _UNLOCKED_CLOCKS)
    whole_graphs = _contains(path, "launch__graph_") and any(_is_graph(row) for row in _rows(path))
    return Policies(UNKNOWN, "none" if unlocked else UNKNOWN, "graph" if whole_graphs else UNKNOWN)


def identity(path: Path) -> Identity:
    """Host, programs and GPUs that the first rows name: to compare reports with, never to be kept."""
    seen: dict[str, set[str]] = {
        "Host Name": set(),
        "Process Name": set(),
        "device__attribute_display_name": set(),
    }
    for row in islice(_rows(path), _FIRST_ROWS):
        for column, found in seen.items():
            found.add(row.get(column, ""))
    hosts, programs, gpus = (frozenset(found - _TELLS_NOTHING) for found in seen.values())
    return Identity(hosts, frozenset(re.split(r"[/\\]", program)[-1] for program in programs), gpus)


def _is_graph(row: Mapping[str, str]) -> bool:
    exec_id = row.get("launch__graph_exec_cuda_id", "")
    if exec_id.isascii() and exec_id.isdecimal():
        return bool(exec_id.strip("0"))
    return row["Kernel Name"] == "graph" and row.get("launch__graph_contains_device_launch", "") != ""


def _rows(path: Path) -> Iterator[Mapping[str, str]]:
    header: list[str] = []
    for line in lines_of(texts_of(path)):
        if line.kind is Kind.HEADER:
            header = line.cells
        elif line.kind is Kind.ROW:
            yield dict(zip(header, line.cells, strict=True))


def _contains(path: Path, needle: str) -> bool:
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(needle.encode(encoding_of(content[:2]))) >= 0
