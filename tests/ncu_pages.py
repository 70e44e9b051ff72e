"""Small ncu pages for tests, in the layouts that versions of ncu print, and a store to read them into."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nsight_suite.evidence import store
from nsight_suite.evidence.readers import ncu_csv

LAUNCH = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream")
SHAPE = ("Block Size", "Grid Size", "Device", "CC")
METRIC = ("Section Name", "Metric Name", "Metric Unit", "Metric Value")
RULE = ("Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup")
PUSH_POP = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
START_END = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
BANNERS = (
    "==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise, profiling results may "
    "be inconsistent.\n==PROF== Connected to process 457 (/usr/bin/python3.12)\n"
)


def text_of(*lines: Sequence[object]) -> str:
    """Lines as ncu prints them: every cell quoted."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(lines)
    return text.getvalue()


def launch(number: int = 0, kernel: str = "saxpy", *, pid: int = 457, grid: str = "(65536, 1, 1)") -> list[str]:
    """The cells of a launch under LAUNCH and SHAPE."""
    return [str(number), str(pid), "python3.12", "gold", kernel, "1", "7", "(256, 1, 1)", grid, "0", "9.0"]


def raw(metrics: Sequence[str], units: Sequence[str] | None, *values: Sequence[str]) -> str:
    """A raw page with one launch per element of `values`."""
    header = [*LAUNCH, *SHAPE, *metrics]
    below = [] if units is None else [[""] * (len(LAUNCH) + len(SHAPE)) + list(units)]
    return text_of(header, *below, *([*launch(number), *cells] for number, cells in enumerate(values)))


def details(*rows: Sequence[str], number: int = 0) -> str:
    """A details page of one launch; each row is section, metric, unit, value."""
    return text_of([*LAUNCH, *SHAPE, *METRIC], *([*launch(number), *row] for row in rows))


def read(
    connection: store.Connection,
    folder: Path,
    text: str | bytes,
    requested: Sequence[str] | None = None,
    name: str = "ncu.csv",
) -> Path:
    """Write a page and read it as the pass "ncu"."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    ncu_csv.read(connection, path, "ncu", requested)
    return path


def rows(connection: store.Connection, sql: str) -> list[Any]:
    """The rows of a query; the bare values when it has one column."""
    found = connection.execute(sql).fetchall()
    return [row[0] if len(row) == 1 else row for row in found]


def values(connection: store.Connection) -> list[Any]:
    return rows(connection, "SELECT value FROM counter ORDER BY workload_id, metric, section, instance")


def codes(connection: store.Connection) -> list[str]:
    return rows(connection, "SELECT code FROM finding ORDER BY code")
