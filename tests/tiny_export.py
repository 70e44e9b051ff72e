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


@dataclass(frozen=True)
class Call:
    """An API call on a thread of a process."""

    name: str
    start: int
    end: int | None
    correlation: int
    process: int = 1
    thread: int = 1


@dataclass(frozen=True)
class Kernel:
    """A kernel that ran; `correlation` is that of the call which launched it."""

    name: str
    start: int
    end: int
    correlation: int | None
    process: int = 1
    node: int | None = None


@dataclass(frozen=True)
class Range:
    """An NVTX event; type 59 is push/pop, 60 start/end."""

    name: str | None
    start: int
    end: int | None
    type: int = 59
    process: int = 1
    thread: int = 1
    domain: int = 0
    payload: int | None = None
    registered: int | None = None


def make_export(
    path: Path,
    *,
    api: Sequence[Call] = (),
    kernels: Sequence[Kernel] | None = (),
    nvtx: Sequence[Range] | None = (),
    strings: Mapping[int, str] | None = None,
    capture: Mapping[str, str] = MODE,
    export: Mapping[str, str] = VERSION,
) -> Path:
    """Write the export. `None` instead of rows leaves the table out; `strings` adds to those of the names."""
    names: dict[str, int] = {}

    def identity(name: str) -> int:
        return names.setdefault(name, len(names) + 1)

    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME "
            "(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)"
        )
        database.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)",
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
            database.execute(
                "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, correlationId INTEGER, "
                "globalPid INTEGER, demangledName INTEGER, shortName INTEGER, graphNodeId INTEGER)"
            )
            database.executemany(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *(kernel.start, kernel.end, kernel.correlation, kernel.process * PROCESS),
                        *(identity(kernel.name), identity(kernel.name), kernel.node),
                    )
                    for kernel in kernels
                ],
            )
        if nvtx is not None:
            database.execute(
                "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "
                "globalTid INTEGER, textId INTEGER, domainId INTEGER, int64Value INTEGER)"
            )
            database.executemany(
                "INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *(event.start, event.end, event.type, event.name),
                        *(
                            event.process * PROCESS + event.thread,
                            event.registered,
                            event.domain,
                            event.payload,
                        ),
                    )
                    for event in nvtx
                ],
            )
        database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        texts = {**{number: name for name, number in names.items()}, **(strings or {})}
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", texts.items())
        for table, values in (("META_DATA_EXPORT", export), ("META_DATA_CAPTURE", capture)):
            database.execute(f"CREATE TABLE {table} (name TEXT, value TEXT)")
            database.executemany(f"INSERT INTO {table} VALUES (?, ?)", values.items())
        database.commit()
    return path
