"""nsys exports of any size, of a made-up training program: the same every time.

Steps hold layers, layers hold operations, each in NVTX ranges on two threads and in two domains; an operation
launches some kernels, and a fifth of all kernels runs in CUDA graphs of a hundred nodes. Tables and columns are
those of nsys 2023.4 that matter here.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

_PROCESS = (1 << 48) | (4242 << 24)
_THREADS = (_PROCESS | 4242, _PROCESS | 4243)
_LAUNCH, _GRAPH, _OTHER = 1, 2, 3
_API_NAMES = {
    _LAUNCH: "cudaLaunchKernel_v7000",
    _GRAPH: "cudaGraphLaunch_v10000",
    _OTHER: "cudaGetDevice_v3020",
}
_KERNELS, _LAYERS, _OPERATIONS, _NODES = 200, 16, 12, 100
_FIRST_KERNEL, _FIRST_RANGE = 100, 1000

_TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        "start end deviceId contextId greenContextId streamId correlationId globalPid demangledName "
        "shortName mangledName launchType cacheConfig registersPerThread gridX gridY gridZ blockX blockY "
        "blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId "
        "sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig"
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start end eventClass globalTid correlationId nameId returnValue callchainId"
    ),
    "NVTX_EVENTS": (
        "start end eventType rangeId category color text:TEXT globalTid endGlobalTid textId domainId "
        "uint64Value int64Value doubleValue:REAL uint32Value int32Value floatValue:REAL jsonTextId "
        "jsonText:TEXT"
    ),
}


def write_export(path: Path, kernels: int, seed: int = 1) -> None:
    """Write an export with at least so many kernels; rows of the tables lie between each other, as nsys
    writes them."""
    draft = path.with_name(f".{path.name}")
    draft.unlink(missing_ok=True)
    with closing(sqlite3.connect(draft)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        _create(database)
        for rows in _steps(kernels, random.Random(seed)):
            for table, values in rows.items():
                marks = ", ".join("?" * len(_TABLES[table].split()))
                database.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
        database.commit()
    draft.replace(path)


def _create(database: sqlite3.Connection) -> None:
    for table, columns in _TABLES.items():
        declared = ", ".join(
            f'"{name}" {kind or "INTEGER"}' for name, _, kind in (c.partition(":") for c in columns.split())
        )
        database.execute(f"CREATE TABLE {table} ({declared})")
    database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    names = {**_API_NAMES}
    names |= {
        _FIRST_KERNEL + number: f"void kernel_{number}<float>(float *, int)" for number in range(_KERNELS)
    }
    names |= {_FIRST_RANGE: "step"}
    names |= {_FIRST_RANGE + 1 + number: f"layer {number}" for number in range(_LAYERS)}
    names |= {_FIRST_RANGE + 100 + number: f"operation {number}" for number in range(_OPERATIONS)}
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", names.items())
    database.execute("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)")
    database.executemany(
        "INSERT INTO META_DATA_EXPORT VALUES (?, ?)",
        [("EXPORT_PRODUCT_VERSION", "2023.4.4.54"), ("EXPORT_SCHEMA_VERSION", "3.7.2")],
    )
    database.execute("CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT)")
    database.executemany(
        "INSERT INTO META_DATA_CAPTURE VALUES (?, ?)",
        [("CAPTURE_EVENT_TYPE", "Cuda"), ("CAPTURE_EVENT_TYPE", "NvtxEvents")],
    )


Rows = dict[str, list[tuple[object, ...]]]


def _steps(kernels: int, chance: random.Random) -> Iterator[Rows]:
    program = _Program(chance)
    while program.kernels < kernels:
        program.rows = {table: [] for table in _TABLES}
        for thread in _THREADS:
            program.step(thread)
        yield program.rows


class _Program:
    """The made-up program, at some moment of its run; times in ns."""

    def __init__(self, chance: random.Random) -> None:
        self.rows: Rows = {}
        self.kernels = 0
        self._chance = chance
        self._clock = self._device = 1_000_000_000
        self._correlation = 0

    def step(self, thread: int) -> None:
        """One step: its calls, kernels and ranges."""
        ranges, started = [], self._clock
        for layer in range(_LAYERS):
            layer_started = self._pass(500)
            for operation in range(_OPERATIONS):
                operation_started = self._pass(300)
                self._operate(thread, layer, operation)
                ranges.append((operation_started, self._pass(300), _FIRST_RANGE + 100 + operation, 1))
            ranges.append((layer_started, self._pass(200), _FIRST_RANGE + 1 + layer, 0))
        ranges.append((started, self._pass(1000), _FIRST_RANGE, 0))
        for start, end, name, domain in sorted(ranges):
            row = (start, end, 59, None, None, None, None, thread, None, name, domain, *[None] * 8)
            self.rows["NVTX_EVENTS"].append(row)

    def _operate(self, thread: int, layer: int, operation: int) -> None:
        graph = operation % 4 == 3 and layer % 4 == 0
        for number in range(1 if graph else 5):
            self._pass(200 + self._chance.randrange(100))
            self._call(thread, _GRAPH if graph else _LAUNCH, 4000)
            for node in range(_NODES if graph else 1):
                name = (layer * 13 + operation * 5 + number + node) % _KERNELS
                self._run(_FIRST_KERNEL + name, node + 1 if graph else None)
        self._call(thread, _OTHER, 100)

    def _call(self, thread: int, name: int, duration: int) -> None:
        self._correlation += 1
        row = (self._clock, self._clock + duration, 0, thread, self._correlation, name, 0, None)
        self.rows["CUPTI_ACTIVITY_KIND_RUNTIME"].append(row)
        self._device = max(self._device, self._clock + 6000)
        self._pass(duration)

    def _run(self, name: int, node: int | None) -> None:
        start = self._device
        end = self._device = start + 1500 + self._chance.randrange(6000)
        where = (0, 1, None, 7, self._correlation, _PROCESS)
        shape = (32, 128, 1, 1, 256, 1, 1, 0, 1024, 0, 0)
        row = (start, end, *where, name, name, None, 0, 0, *shape, self.kernels, 1024, node, 0)
        self.rows["CUPTI_ACTIVITY_KIND_KERNEL"].append(row)
        self._device += 400
        self.kernels += 1

    def _pass(self, duration: int) -> int:
        self._clock += duration
        return self._clock
