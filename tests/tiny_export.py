"""nsys exports of a few rows, written out in a test: times are small integers, names are plain.

make_export(path, api=[Call("cudaLaunchKernel_v7000", 50, 60, 1)], kernels=[Kernel("k", 150, 250, 1)])
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

PROCESS = 1 << 24
MODE = {"PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE": "Node", "CAPTURE_EVENT_TYPE": "Cuda"}
VERSION = {"EXPORT_PRODUCT_VERSION": "2025.5.2.266", "EXPORT_SCHEMA_VERSION": "3.24.0"}
Row = Mapping[str, object]
# Names and values of META_DATA_*: a dictionary, or pairs, since names may repeat.
Words = Mapping[str, str] | Sequence[tuple[str, str]]

_TEXT = {"text", "name", "label", "value", "uuid"}
_PLACE = "start end deviceId contextId streamId correlationId globalPid"
# Columns of further tables, by the versions of nsys that write them so.
SCHEMAS = {
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_PLACE} bytes copyKind srcKind dstKind graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_PLACE} bytes graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_PLACE} greenContextId graphId graphExecId",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "start end globalTid correlationId overheadType",
    "CUDA_GRAPH_NODE_EVENTS": "start end eventClass globalTid nameId graphNodeId originalGraphNodeId",
    "CUDA_GRAPH_EVENTS": "start end eventClass globalTid nameId graphId originalGraphId graphExecId",  # 2025
    "PROFILER_OVERHEAD": "start end globalTid correlationId nameId overheadType",  # 2025
    "DIAGNOSTIC_EVENT": "timestamp timestampType source severity text",
    "PROCESSES": "globalPid pid name",
    "TARGET_INFO_GPU": "id name uuid cuDevice smCount totalMemory l2CacheSize computeMajor computeMinor",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName name nameEnum value",
    "ENUM_CUDA_MEMCPY_OPER": "id name label",
    "ENUM_CUDA_MEM_KIND": "id name label",
}
# As nsys 2023 writes them: pass these as `columns`.
OLD_GRAPH_EVENTS = "start end eventClass globalTid nameId graphNodeId originalGraphNodeId"
OLD_OVERHEAD = "start end globalTid correlationId nameId returnValue"


@dataclass(frozen=True)
class Call:
    """An API call on a thread of a process."""

    name: str
    start: int
    end: int | None
    correlation: int | None
    process: int = 1
    thread: int = 1


@dataclass(frozen=True)
class Kernel:
    """A kernel that ran; `correlation` is that of the call which launched it."""

    name: str
    start: int | None
    end: int | None
    correlation: int | None
    process: int = 1
    node: int | None = None
    device: int = 0
    context: int = 1
    stream: int = 7


@dataclass(frozen=True)
class Range:
    """An NVTX event; type 59 is push/pop, 60 start/end. `ended_by` is the thread that closed it, if told."""

    name: str | None
    start: int
    end: int | None
    type: int = 59
    process: int = 1
    thread: int = 1
    domain: int = 0
    payload: int | None = None
    registered: int | None = None
    ended_by: int | None = None


@dataclass(frozen=True)
class Table:
    """A further table: its rows by column, and its columns where they are not those of SCHEMAS."""

    rows: Sequence[Row] = ()
    columns: str | None = None


def make_export(
    path: Path,
    *,
    api: Sequence[Call] | None = (),
    kernels: Sequence[Kernel] | None = (),
    nvtx: Sequence[Range] | None = (),
    strings: Mapping[int, str] | None = None,
    capture: Words = MODE,
    export: Words | None = VERSION,
    more: Mapping[str, Sequence[Row] | Table] | None = None,
) -> Path:
    """Write the export. `None` instead of rows leaves the table out; `strings` adds to those of the names."""
    names: dict[str, int] = {}

    def identity(name: str) -> int:
        return names.setdefault(name, len(names) + 1)

    with closing(sqlite3.connect(path)) as database:
        if api is not None:
            _fill(
                database,
                "CUPTI_ACTIVITY_KIND_RUNTIME",
                "start end globalTid correlationId nameId",
                [
                    (
                        call.start,
                        call.end,
                        call.process * PROCESS + call.thread,
                        call.correlation,
                        identity(call.name),
                    )
                    for call in api
                ],
            )
        if kernels is not None:
            _fill(
                database,
                "CUPTI_ACTIVITY_KIND_KERNEL",
                "start end correlationId globalPid demangledName shortName graphNodeId "
                "deviceId contextId streamId",
                [
                    (
                        *(kernel.start, kernel.end, kernel.correlation, kernel.process * PROCESS),
                        *(identity(kernel.name), identity(kernel.name), kernel.node),
                        *(kernel.device, kernel.context, kernel.stream),
                    )
                    for kernel in kernels
                ],
            )
        if nvtx is not None:
            _fill(
                database,
                "NVTX_EVENTS",
                "start end eventType text globalTid textId domainId int64Value endGlobalTid",
                [
                    (
                        *(
                            event.start,
                            event.end,
                            event.type,
                            event.name,
                            event.process * PROCESS + event.thread,
                        ),
                        *(event.registered, event.domain, event.payload),
                        None if event.ended_by is None else event.process * PROCESS + event.ended_by,
                    )
                    for event in nvtx
                ],
            )
        for table, given in (more or {}).items():
            wanted = given if isinstance(given, Table) else Table(given)
            columns = wanted.columns or SCHEMAS[table]
            rows = [tuple(row.get(name) for name in columns.split()) for row in wanted.rows]
            assert all(set(row) <= set(columns.split()) for row in wanted.rows), f"a column that {table} lacks"
            _fill(database, table, columns, rows)
        database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        texts = {**{number: name for name, number in names.items()}, **(strings or {})}
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", texts.items())
        for table, words in (("META_DATA_EXPORT", export), ("META_DATA_CAPTURE", capture)):
            if words is not None:
                pairs = list(words.items() if isinstance(words, Mapping) else words)
                database.execute(f"CREATE TABLE {table} (name TEXT, value TEXT)")
                database.executemany(f"INSERT INTO {table} VALUES (?, ?)", pairs)
        database.commit()
    return path


def change(path: Path, *statements: str) -> Path:
    """Run statements over an export."""
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    return path


def _fill(database: sqlite3.Connection, table: str, columns: str, rows: Sequence[tuple[object, ...]]) -> None:
    names = columns.split()
    declared = ", ".join(f'"{name}" {"TEXT" if name in _TEXT else "INTEGER"}' for name in names)
    database.execute(f'CREATE TABLE "{table}" ({declared})')
    database.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(names))})', rows)
