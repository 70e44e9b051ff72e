"""Random nsys exports: every table, several processes and threads, all that a capture may leave odd.

Times are small, so that ranges and calls nest, cross, touch and coincide. `exports` draws what holds together
as nsys writes it, `odd_exports` also what no nsys should write: cells of wrong types, ids that lead nowhere,
tables and columns that are missing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st
from tiny_export import MODE, VERSION, Call, Kernel, Range, Row, Table, change, make_export

LAUNCH, GRAPH, COPY, FILL = (
    *("cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000"),
    *("cudaMemcpyAsync_v3020", "cudaMemsetAsync_v3020"),
)
API = [
    *(LAUNCH, LAUNCH, "cuLaunchKernel", GRAPH, COPY, FILL, "cudaStreamSynchronize_v3020", "cuCtxSynchronize"),
    *("cudaStreamBeginCapture_v10000", "cudaStreamEndCapture_v10000", "cuKernelGetName", "cudaMalloc_v3020"),
]
NAMES = ["step", "step", "layer", "op", "a / b", "", None]
PROCESSES, THREADS, DOMAINS = range(1, 4), range(1, 4), range(4)
LONGEST = 120


@dataclass(frozen=True)
class RandomExport:
    """What is to be written: see make_export. `statements` are run over the file then."""

    api: list[Call]
    kernels: list[Kernel] | None
    nvtx: list[Range] | None
    more: Mapping[str, list[Row]] = field(default_factory=dict)
    capture: Mapping[str, str] = field(default_factory=lambda: MODE)
    export: Mapping[str, str] | None = field(default_factory=lambda: VERSION)
    statements: tuple[str, ...] = ()

    def write(self, path: Path) -> Path:
        strings = {1000: "registered", 1001: ""}
        make_export(
            path,
            api=self.api,
            kernels=self.kernels,
            nvtx=self.nvtx,
            strings=strings,
            capture=self.capture,
            export=self.export,
            more={name: Table(rows) for name, rows in self.more.items()},
        )
        for statement in self.statements:
            try:
                change(path, statement)
            except sqlite3.Error:  # the table or column that it would change is missing, or takes no such value
                continue
        return path

    def rows(self, path: Path, table: str) -> int:
        with closing(sqlite3.connect(path)) as database:
            return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _spans(longest: int = LONGEST) -> st.SearchStrategy[tuple[int, int]]:
    lengths = st.integers(0, 12) | st.integers(0, longest)
    return st.tuples(st.integers(0, longest), lengths).map(lambda pair: (pair[0], pair[0] + pair[1]))


@st.composite
def calls(draw: st.DrawFn, correlation: int | None) -> Call:
    start, end = draw(_spans())
    return Call(
        draw(st.sampled_from(API)),
        start,
        draw(st.sampled_from([end, end, end, end, end, end, None])),
        correlation,
        draw(st.sampled_from(PROCESSES)),
        draw(st.sampled_from(THREADS)),
    )


@st.composite
def ranges(draw: st.DrawFn) -> Range:
    start, end = draw(_spans())
    return Range(
        draw(st.sampled_from(NAMES)),
        start,
        draw(st.sampled_from([end, end, end, end, end, end, end, None])),
        draw(st.sampled_from([59, 59, 59, 59, 59, 60, 60, 70, 71, 34, 75, 76, 33])),
        draw(st.sampled_from(PROCESSES)),
        draw(st.sampled_from(THREADS)),
        draw(st.sampled_from(DOMAINS)),
        draw(st.none() | st.integers(-5, 5)),
        draw(st.sampled_from([None, None, None, 1000, 1001, 9999])),
        draw(st.sampled_from([None, None, None, 1, 2])),
    )


def _placed(draw: st.DrawFn) -> dict[str, int]:
    where = st.integers(0, 1)
    return {"device": draw(where), "context": draw(where), "stream": 7 + draw(where)}


@st.composite
def kernels(draw: st.DrawFn, correlation: int | None, process: int) -> Kernel:
    start, end = draw(_spans(400))
    timed = draw(st.sampled_from([True] * 9 + [False]))
    return Kernel(
        draw(st.sampled_from(["scale", "add", "void f<int>(int*)"])),
        start + 1 if timed else 0,
        end + 1 if timed else 0,
        correlation,
        process,
        draw(st.sampled_from([None, None, 11, 12])),
        **_placed(draw),
    )


@st.composite
def exports(draw: st.DrawFn, most: int = 25) -> RandomExport:
    """An export whose tables are all there, with records whose calls are known and some whose are not."""
    # Ids count on inside a process, and two processes use the same ones. A runtime call and the driver call in
    # it may share one.
    api = [draw(calls(number // 2)) for number in range(draw(st.integers(0, most)))]
    ids = st.integers(0, most)
    works = [
        draw(kernels(draw(ids), draw(st.sampled_from(PROCESSES)))) for _ in range(draw(st.integers(0, most)))
    ]
    more: dict[str, list[Row]] = {}
    for name, extra in _MORE.items():
        if draw(st.booleans()):
            more[name] = [draw(extra) for _ in range(draw(st.integers(0, 4)))]
    nvtx = draw(st.lists(ranges(), max_size=most))
    return RandomExport(api, works, nvtx, more)


def _row(**columns: st.SearchStrategy[object]) -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(columns)


_TIME = st.integers(1, 400)
_WORK = {
    "start": _TIME,
    "end": st.integers(400, 600),
    "deviceId": st.integers(0, 1),
    "contextId": st.just(1),
    "streamId": st.integers(7, 8),
    "correlationId": st.integers(0, 12),
    "globalPid": st.sampled_from([number << 24 for number in PROCESSES]),
}
_THREAD = st.sampled_from([(process << 24) + 1 for process in PROCESSES])
_NODES = {"graphNodeId": st.integers(11, 13), "originalGraphNodeId": st.none() | st.integers(11, 13)}
_MORE: Mapping[str, st.SearchStrategy[Row]] = {
    "CUPTI_ACTIVITY_KIND_MEMCPY": _row(
        **_WORK, bytes=st.integers(0, 10**12), copyKind=st.integers(0, 3), srcKind=st.integers(0, 3)
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": _row(**_WORK, bytes=st.integers(0, 100), memKind=st.integers(0, 3)),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": _row(**_WORK, graphId=st.just(1), graphExecId=st.integers(1, 2)),
    "CUPTI_ACTIVITY_KIND_OVERHEAD": _row(start=_TIME, end=st.integers(400, 600), globalTid=_THREAD),
    "PROFILER_OVERHEAD": _row(start=_TIME, end=st.integers(400, 600), globalTid=_THREAD),
    "CUDA_GRAPH_EVENTS": _row(
        start=_TIME,
        globalTid=_THREAD,
        graphId=st.integers(1, 3),
        originalGraphId=st.none() | st.integers(1, 3),
        graphExecId=st.none() | st.integers(1, 2),
    ),
    "CUDA_GRAPH_NODE_EVENTS": _row(start=_TIME, globalTid=_THREAD, **_NODES),
    "PROCESSES": _row(
        globalPid=st.sampled_from([number << 24 for number in range(1, 5)]), pid=st.integers(1, 5)
    ),
    "TARGET_INFO_GPU": _row(
        id=st.integers(0, 1), name=st.just("GPU"), uuid=st.just("0123"), smCount=st.integers(1, 200)
    ),
    "DIAGNOSTIC_EVENT": _row(
        timestamp=_TIME, text=st.sampled_from(["Buffers full: events lost", "hello", None])
    ),
    "ENUM_CUDA_MEMCPY_OPER": _row(id=st.integers(0, 3), label=st.sampled_from(["Host-to-Device", None])),
    "ENUM_CUDA_MEM_KIND": _row(id=st.integers(0, 3), label=st.just("Pinned")),
}


_COLUMNS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "start end correlationId globalPid demangledName shortName graphNodeId",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end globalTid correlationId nameId",
    "NVTX_EVENTS": "start end eventType text globalTid textId domainId int64Value endGlobalTid",
    "StringIds": "value",
    "META_DATA_EXPORT": "value",
}
_WRONG = ["'oops'", "x'00ff'", "NULL", "1.5", "-1", "9223372036854775807", "-9223372036854775808", "''", "'9'"]


@st.composite
def odd_statements(draw: st.DrawFn) -> str:
    """SQL that makes something of an export odd."""
    table = draw(st.sampled_from(list(_COLUMNS)))
    column = draw(st.sampled_from(_COLUMNS[table].split()))
    some = draw(st.sampled_from(["true", "rowid % 2 = 0", "rowid = 1"]))
    return draw(
        st.sampled_from(
            [
                f'UPDATE {table} SET "{column}" = {draw(st.sampled_from(_WRONG))} WHERE {some}',
                f'UPDATE {table} SET "{column}" = {draw(st.sampled_from(_WRONG))} WHERE {some}',
                f'ALTER TABLE {table} DROP COLUMN "{column}"',
                f"DROP TABLE {table}",
                f"DELETE FROM {table} WHERE {some}",
                f"ALTER TABLE {table} RENAME TO {table}_V3",
                f"INSERT INTO {table} SELECT * FROM {table}",
                f"ALTER TABLE {table} ADD COLUMN more TEXT",
            ]
        )
    )


@st.composite
def odd_exports(draw: st.DrawFn, most: int = 12) -> RandomExport:
    """An export of which some tables, columns and cells are not as they should be."""
    whole = draw(exports(most))
    return RandomExport(
        whole.api,
        draw(st.sampled_from([whole.kernels, whole.kernels, None])),
        draw(st.sampled_from([whole.nvtx, whole.nvtx, None])),
        whole.more,
        draw(st.sampled_from([MODE, {}, {"A:CUDA_GRAPH_TRACE_OPTIONS:MODE": "Graph"}])),
        draw(
            st.sampled_from(
                [VERSION, None, {"EXPORT_SCHEMA_VERSION": "garbage"}, {"EXPORT_SCHEMA_VERSION": "9.9"}]
            )
        ),
        tuple(draw(st.lists(odd_statements(), max_size=4))),
    )
