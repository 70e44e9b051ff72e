"""The driver's own records, one JSON object a line → the tables they name."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nsight_suite.errors import BadReport
from nsight_suite.evidence.notes import Doubt, note_doubts, note_report
from nsight_suite.evidence.paths import without_paths
from nsight_suite.evidence.store import Connection, insert_rows
from nsight_suite.evidence.tables import BLOCK, tables

# Tables that a driver may fill. What the profilers saw comes from their reports alone.
TABLES = frozenset(
    {
        *("tool", "device", "device_state", "driven", "sample", "graph_setup", "graph_node", "build"),
        *("validation", "finding", "planned_launch", "occupancy", "choice", "graph_dot", "task", "task_plan"),
    }
)
_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "BIGINT": int,
    "DOUBLE": (int, float),
    "VARCHAR": str,
    "BOOLEAN": bool,
}


def read(connection: Connection, path: Path, pass_name: str) -> None:
    """Insert the rows of one record file; `pass` is filled in where a record does not name it.

    Lines that do not fit become rows of `finding`. Raises BadReport when the file cannot be read at all.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadReport(f"{path.name} cannot be read: {error.strerror}.") from error
    lines = text.removesuffix("\n").split("\n") if text else []
    rows: dict[str, list[dict[str, object]]] = {}
    doubts: Counter[tuple[str, str]] = Counter()
    end: dict[str, Any] | None = None
    for record in _records(lines, doubts):
        table = _storable(str(record.pop("table", None)))
        if table == "_end":
            # Where several drivers wrote, one that failed is not made good by the next.
            end = end if end and end.get("state") != "ok" else record
        elif table in TABLES:
            mine = rows.setdefault(table, [])
            mine += [_fitting(table, row, pass_name, doubts) for row in _each(table, record, doubts)]
        elif not table.startswith("_"):
            doubts["unknown-table", without_paths(f"{path.name}: table {table}")] += 1
    for table, found in rows.items():
        insert_rows(connection, table, found)
    found_doubts: list[Doubt] = [
        (code, subject, f"{count} lines: {_REASONS[code]}") for (code, subject), count in sorted(doubts.items())
    ]
    if end is None:
        found_doubts.append(
            (
                "truncated-records",
                path.name,
                f"{path.name} stops at line {len(lines)} without its last record. The driver was ended early; "
                "the rows before are kept. Run the pass again with --resume.",
            )
        )
    elif end.get("state") != "ok":
        reason = without_paths(_storable(str(end.get("reason") or "The driver gave no reason.")))
        found_doubts.append(("driver-failed", path.name, reason))
    note_doubts(connection, pass_name, found_doubts)
    count = sum(len(found) for found in rows.values())
    note_report(connection, pass_name, path, "driver-records", rows=count, complete=end is not None)


_REASONS = {
    "bad-line": "not a JSON object, so it was left out.",
    "unknown-table": "no table of the evidence, so it was left out.",
    "unknown-column": "no column of that table, so its values were left out.",
    "bad-block": "columns that are no lists of one length, so the rows were left out.",
    "bad-value": "a value of the wrong type, read as NULL.",
    "no-duration": "a measurement without its duration.",
    "other-pass": "named another pass than the file, and count as this one's.",
}


def _records(lines: list[str], doubts: Counter[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):  # no JSON, an integer of thousands of digits, or nested too deep
            record = None
        if isinstance(record, dict):
            yield record
        elif number < len(lines):  # a last line that was cut is told by the missing end
            doubts["bad-line", f"line {number}"] += 1


def _each(table: str, record: dict[str, Any], doubts: Counter[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """The rows of a record: itself, or those of the block in it."""
    if BLOCK not in record:
        yield record
        return
    block = record.pop(BLOCK)
    if not is_block(block):
        doubts["bad-block", table] += 1
        return
    for values in zip(*block.values(), strict=True):
        yield {**record, **dict(zip(block, values, strict=True))}


def is_block(block: object) -> bool:
    """Whether this is a table's columns: lists of one length by name."""
    return (
        isinstance(block, dict)
        and all(isinstance(values, list) for values in block.values())
        and len({len(values) for values in block.values()}) <= 1
    )


def _fitting(
    table: str, record: dict[str, Any], pass_name: str, doubts: Counter[tuple[str, str]]
) -> dict[str, object]:
    types = {column.name: column.type for column in tables()[table].columns}
    row: dict[str, object] = {"pass": pass_name}
    for name, value in record.items():
        if name not in types:
            doubts["unknown-column", without_paths(_storable(f"{table}.{name}"))] += 1
        elif value is None or _fits(value, types[name]):
            row[name] = without_paths(value) if isinstance(value, str) else value
        else:
            doubts["bad-value", f"{table}.{name}"] += 1
    if "duration_ns" in types and record.get("duration_ns") is None:
        doubts["no-duration", f"{table}.duration_ns"] += 1
    if "pass" in types and row["pass"] != pass_name:
        doubts["other-pass", f"{table}.pass"] += 1
        row["pass"] = pass_name
    return row


def _storable(text: str) -> str:
    """Half a surrogate pair, which JSON can write and no database can hold, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def _fits(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "BOOLEAN"
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return False
    if isinstance(value, str) and not value.isascii() and _storable(value) != value:
        return False
    return isinstance(value, _PYTHON_TYPES[kind])
