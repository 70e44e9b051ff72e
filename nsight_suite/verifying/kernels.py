"""Durations of kernels read straight from an export of nsys with SQLite, by the rows of three of its tables."""

from __future__ import annotations

import sqlite3
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from nsight_suite.errors import SuiteError

_DOMAIN = "nsight_suite"
_PUSH_POP, _DOMAIN_NAME = 59, 75
# Of a thread's global id the last bits tell the thread, the others the process.
_THREAD_BITS = 0xFFFFFF
_TABLES = {
    "NVTX_EVENTS": {"start", "end", "eventType", "globalTid", "text", "textId", "domainId"},
    "CUPTI_ACTIVITY_KIND_KERNEL": {"start", "end", "correlationId", "globalPid"},
    "CUPTI_ACTIVITY_KIND_RUNTIME": {"start", "end", "globalTid", "correlationId"},
    "StringIds": {"id", "value"},
}

Durations = dict[tuple[str, ...], Mapping[str, float | int]]


def kernel_durations(path: Path) -> tuple[Durations, str]:
    """Median, least and greatest duration in ns by case and position inside an invocation; why there are none.

    An invocation is a push/pop range of the suite's domain; its kernels are those whose API call started and
    returned inside it, on its thread, in the order in which they started. Raises SuiteError for what is no
    SQLite file or is damaged.
    """
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            if lacking := _lacking(database):
                return {}, f"the export has no {lacking}"
            return _by_position(_invocations(database)), ""
    except (sqlite3.Error, TypeError) as error:  # or a cell is of a type that nsys never writes
        raise SuiteError(f"{path.name} cannot be read: {error}.") from error


def _lacking(database: sqlite3.Connection) -> str:
    """A table or column that is not there. A view in place of a table is none: it may compute anything."""
    for table, columns in _TABLES.items():
        kind = database.execute("SELECT type FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        if kind != ("table",):
            return f"table {table}"
        there = {row[1] for row in database.execute(f'PRAGMA table_info("{table}")')}
        if missing := columns - there:
            return f"column {table}.{min(missing)}"
    return ""


def _invocations(database: sqlite3.Connection) -> list[tuple[str, list[int]]]:
    """The name of each range of the suite, and the durations of its kernels."""
    strings = dict(database.execute("SELECT id, value FROM StringIds"))
    events = database.execute(
        'SELECT start, "end", eventType, globalTid, text, textId, domainId FROM NVTX_EVENTS ORDER BY start'
    ).fetchall()
    domains = {
        (tid & ~_THREAD_BITS, domain): text or strings.get(text_id)
        for _, _, kind, tid, text, text_id, domain in events
        if kind == _DOMAIN_NAME
    }
    calls = _calls(database)
    kernels: dict[tuple[int, int], list[tuple[int, int]]] = {}
    rows = database.execute(
        'SELECT globalPid, correlationId, start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL'
    ).fetchall()
    for process, correlation, start, end in rows:
        if start is not None and end is not None:
            kernels.setdefault((process & ~_THREAD_BITS, correlation), []).append((start, end))
    found = []
    for start, end, kind, tid, text, text_id, domain in events:
        process = tid & ~_THREAD_BITS
        if kind != _PUSH_POP or end is None or domains.get((process, domain)) != _DOMAIN:
            continue
        mine, starts = calls.get(tid, ([], []))
        inside = mine[bisect_left(starts, start) : bisect_right(starts, end)]
        ids = {correlation for _, returned, correlation in inside if returned <= end}
        ran = sorted(span for correlation in ids for span in kernels.get((process, correlation), ()))
        found.append((text or str(strings.get(text_id)), [last - first for first, last in ran]))
    return found


def _calls(database: sqlite3.Connection) -> dict[int, tuple[list[Any], list[int]]]:
    """API calls by thread, in the order of their starts, with these starts."""
    calls: dict[int, tuple[list[Any], list[int]]] = {}
    for tid, start, end, correlation in database.execute(
        'SELECT globalTid, start, "end", correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME '
        'WHERE "end" IS NOT NULL ORDER BY start'
    ):
        mine, starts = calls.setdefault(tid, ([], []))
        mine.append((start, end, correlation))
        starts.append(start)
    return calls


def _by_position(invocations: list[tuple[str, list[int]]]) -> Durations:
    durations: dict[tuple[str, str], list[int]] = {}
    for name, mine in invocations:
        for ordinal, duration in enumerate(mine):
            durations.setdefault((name, str(ordinal)), []).append(duration)
    return {
        key: {"nsys_ns": statistics.median(values), "nsys_min_ns": min(values), "nsys_max_ns": max(values)}
        for key, values in durations.items()
    }
