"""An nsys SQLite export → ranges, launches, kernels, memory operations, waits.

The columns at hand are staged in a schema `nsys`; plain SQL files beside this module turn them into evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.errors import BadReport, first_line
from nsight_suite.evidence.notes import Doubt, note_doubts, note_report
from nsight_suite.evidence.readers.nsys_export import Export, opened, stage
from nsight_suite.evidence.store import Connection, DatabaseError, append, insert_rows

# staging name: (table of the export, columns without which nothing can be said, further columns)
_BIG, _TEXT = "BIGINT", "VARCHAR"
_DEVICE = ("start", "end", "correlationId", "globalPid")
TABLES: Mapping[str, tuple[str, tuple[str, ...], Mapping[str, str]]] = {
    "kernel": (
        "CUPTI_ACTIVITY_KIND_KERNEL",
        _DEVICE,
        dict.fromkeys(
            (
                *("demangledName", "shortName", "deviceId", "contextId", "streamId", "graphNodeId"),
                *("registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread"),
                *("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"),
            ),
            _BIG,
        ),
    ),
    "memcpy": (
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        _DEVICE,
        dict.fromkeys(("bytes", "streamId", "graphNodeId"), _BIG),
    ),
    "memset": (
        "CUPTI_ACTIVITY_KIND_MEMSET",
        _DEVICE,
        dict.fromkeys(("bytes", "streamId", "graphNodeId"), _BIG),
    ),
    "graph_trace": ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", _DEVICE, {}),
    "api": ("CUPTI_ACTIVITY_KIND_RUNTIME", ("start", "end", "globalTid", "correlationId", "nameId"), {}),
    "nvtx": (
        "NVTX_EVENTS",
        ("start", "end", "eventType", "globalTid"),
        {
            "text": _TEXT,
            **dict.fromkeys(("textId", "domainId"), _BIG),
            **dict.fromkeys(("int64Value", "uint64Value", "int32Value", "uint32Value"), _BIG),
        },
    ),
}

_STEPS = ("identity", "ranges", "calls", "device", "doubts")


_USED_STRINGS = """
SELECT demangledName AS id FROM nsys.kernel UNION SELECT shortName FROM nsys.kernel
UNION SELECT nameId FROM nsys.api
UNION SELECT textId FROM nsys.nvtx
ORDER BY id
"""


@dataclass(frozen=True)
class Origin:
    """What an export says of itself. None: it does not say."""

    tool_version: str | None
    schema_version: str | None
    graph_trace: str | None
    cuda_traced: bool | None


def read(connection: Connection, path: Path, pass_name: str) -> None:
    """Insert the rows of one nsys SQLite export.

    Raises BadReport for a file that is empty, cut off, damaged or no SQLite database; then nothing is inserted.
    """
    connection.execute("CREATE SCHEMA nsys")
    try:
        with opened(path) as export:
            origin = _origin(export)
            present = {table: export.columns_of(table) for table, _, _ in TABLES.values()}
            doubts = [*_stage(connection, export), *_doubts_of_shape(origin, present)]
            used = (row[0] for row in connection.execute(_USED_STRINGS).fetchall() if row[0] is not None)
            named = export.strings(used)
        connection.execute("CREATE TABLE nsys.string (id BIGINT, value VARCHAR)")
        append(
            connection,
            "nsys.string",
            {"id": _BIG, "value": _TEXT},
            ({"id": number, "value": text} for number, text in named),
        )
        connection.execute("SET VARIABLE pass_name = $name", {"name": pass_name})
        _project(connection, path)
        (kernels,) = connection.execute("SELECT count(*) FROM nsys.kernel").fetchall()[0]
    finally:
        connection.execute("DROP SCHEMA nsys CASCADE")
    note_report(
        connection,
        pass_name,
        path,
        "nsys-sqlite",
        rows=kernels if present["CUPTI_ACTIVITY_KIND_KERNEL"] else None,
        complete=True,
        tool_version=origin.tool_version,
        schema_version=origin.schema_version,
        graph_trace=origin.graph_trace,
    )
    if origin.tool_version:
        insert_rows(connection, "tool", [{"pass": pass_name, "name": "nsys", "version": origin.tool_version}])
    note_doubts(connection, pass_name, doubts)


def _project(connection: Connection, path: Path) -> None:
    """Turn the staged tables into rows of evidence: all of them, or none."""
    connection.begin()
    try:
        for step in _STEPS:
            connection.execute(Path(__file__).with_name(f"nsys_{step}.sql").read_text(encoding="utf-8"))
    except DatabaseError as error:
        connection.rollback()
        reason = first_line(error)
        raise BadReport(f"{path.name} holds values that make no sense: {reason}.") from error
    connection.commit()


def _stage(connection: Connection, export: Export) -> Iterator[Doubt]:
    for into, (table, needed, further) in TABLES.items():
        columns = {**dict.fromkeys(needed, _BIG), **further}
        if not stage(connection, export, table, f"nsys.{into}", columns):
            yield (
                "odd-cells",
                table,
                f"{table} holds cells of another type than their column; they are read as NULL.",
            )


def _doubts_of_shape(origin: Origin, present: Mapping[str, frozenset[str]]) -> Iterator[Doubt]:
    for table, needed, _ in TABLES.values():
        if missing := [f"{table}.{name}" for name in needed if present[table] and name not in present[table]]:
            yield (
                "missing-column",
                ", ".join(missing),
                "The export lacks columns that attribution needs. Export the report again with another nsys.",
            )
    if not present["CUPTI_ACTIVITY_KIND_KERNEL"]:
        if origin.cuda_traced is False:
            reason = "CUDA was not traced. Capture again with nsys profile -t cuda,nvtx."
        else:
            reason = (
                "The export has no table of kernels: none was recorded while it was captured. "
                "The number of kernels is unknown, not zero. Check that the program ran on a GPU to its end."
            )
        yield "no-kernel-table", "CUPTI_ACTIVITY_KIND_KERNEL", reason
    if not present["NVTX_EVENTS"]:
        yield (
            "no-range-table",
            "NVTX_EVENTS",
            "The export has no NVTX events, so no kernel belongs to a case. Capture with -t cuda,nvtx.",
        )


def _origin(export: Export) -> Origin:
    told = export.metadata("META_DATA_EXPORT")
    capture = export.metadata("META_DATA_CAPTURE")
    modes = {
        mode.lower()
        for name, values in capture.items()
        if name.upper().endswith("CUDA_GRAPH_TRACE_OPTIONS:MODE")
        for mode in values
    }
    events = capture.get("CAPTURE_EVENT_TYPE")
    return Origin(
        tool_version=told.get("EXPORT_PRODUCT_VERSION", [None])[0],
        schema_version=told.get("EXPORT_SCHEMA_VERSION", [None])[0],
        graph_trace=modes.pop() if len(modes) == 1 else None,
        cuda_traced=None if events is None else any(event.lower() == "cuda" for event in events),
    )
