"""An nsys export → ranges, launches, kernels, memory operations, waits, other API calls, and what they leave in
doubt.

The columns at hand are staged in a schema `nsys`; plain SQL files beside this module turn them into evidence,
and `lanes` finds which ranges enclose which calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.errors import BadReport, first_line
from nsight_suite.evidence.needs import Needs
from nsight_suite.evidence.notes import Doubt, note_doubts, note_report
from nsight_suite.evidence.readers import nsys_fast, nsys_projection
from nsight_suite.evidence.readers.nsys_calls import read_calls, sql_of
from nsight_suite.evidence.readers.nsys_diagnosis import Origin, doubts_of_export, origin_of
from nsight_suite.evidence.readers.nsys_export import BIGINT, VARCHAR, Export, Turn, find, open_export, stage
from nsight_suite.evidence.readers.nsys_processes import listed_processes
from nsight_suite.evidence.store import Connection, DatabaseError, append, insert_rows

# Hears how far the reading of a report has come: rows done, rows in all, and what is read.
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Staged:
    """A table of the export: columns without which little can be said, and further ones, by type."""

    table: str
    needed: tuple[str, ...]
    further: Mapping[str, str]

    @property
    def columns(self) -> dict[str, str]:
        return {**dict.fromkeys(self.needed, BIGINT), **self.further}


def _integers(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, BIGINT)


_DEVICE = ("start", "end", "correlationId", "globalPid")
_PLACE = _integers("deviceId", "contextId", "streamId", "graphNodeId")
KERNELS = Staged(
    "CUPTI_ACTIVITY_KIND_KERNEL",
    _DEVICE,
    _integers("demangledName", "shortName")
    | _PLACE
    | _integers("registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread")
    | _integers("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"),
)
# By the name that they are staged under. Kernels go their own way, since there may be very many.
STAGED: Mapping[str, Staged] = {
    "api": Staged("CUPTI_ACTIVITY_KIND_RUNTIME", ("start", "end", "globalTid", "correlationId", "nameId"), {}),
    "nvtx": Staged(
        "NVTX_EVENTS",
        ("start", "end", "eventType", "globalTid"),
        {"text": VARCHAR}
        | _integers("textId", "domainId", "endGlobalTid")
        | _integers("int64Value", "uint64Value", "int32Value", "uint32Value"),
    ),
    "memcpy": Staged(
        "CUPTI_ACTIVITY_KIND_MEMCPY", _DEVICE, _PLACE | _integers("bytes", "copyKind", "srcKind", "dstKind")
    ),
    "memset": Staged("CUPTI_ACTIVITY_KIND_MEMSET", _DEVICE, _PLACE | _integers("bytes", "memKind")),
    "graph_trace": Staged(
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        _DEVICE,
        _integers("deviceId", "contextId", "streamId", "graphId", "graphExecId"),
    ),
    "graph_event": Staged(
        "CUDA_GRAPH_EVENTS",
        ("start", "globalTid"),
        _integers("graphNodeId", "originalGraphNodeId", "graphId", "originalGraphId", "graphExecId"),
    ),
    "graph_node_event": Staged(
        "CUDA_GRAPH_NODE_EVENTS", ("start", "globalTid"), _integers("graphNodeId", "originalGraphNodeId")
    ),
    "overhead": Staged("PROFILER_OVERHEAD", ("start", "end", "globalTid"), _integers("overheadType")),
    "cupti_overhead": Staged(
        "CUPTI_ACTIVITY_KIND_OVERHEAD",
        ("start", "end"),
        _integers("globalTid", "globalPid", "overheadType", "overheadKind", "correlationId"),
    ),
    "gpu": Staged(
        "TARGET_INFO_GPU",
        ("id",),
        {"name": VARCHAR, "uuid": VARCHAR}
        | _integers("cuDevice", "smCount", "totalMemory", "l2CacheSize", "memoryBandwidth")
        | _integers("computeMajor", "computeMinor"),
    ),
    "memcpy_kind": Staged("ENUM_CUDA_MEMCPY_OPER", ("id",), {"label": VARCHAR}),
    "memory_kind": Staged("ENUM_CUDA_MEM_KIND", ("id",), {"label": VARCHAR}),
}
# What each column of kernel is made of, where it does not matter what started a kernel.
_KERNELS_ALONE: Mapping[str, tuple[str, ...]] = {
    "pass": (),
    "kernel_id": (),
    "name": ("demangledName", "shortName"),
    "device": ("deviceId",),
    "context": ("contextId",),
    "stream": ("streamId",),
    "correlation_id": ("correlationId",),
    "graph_node_id": ("graphNodeId",),
    "start_ns": ("start", "end"),
    "end_ns": ("start", "end"),
    "registers_per_thread": ("registersPerThread",),
    "static_shared_bytes": ("staticSharedMemory",),
    "dynamic_shared_bytes": ("dynamicSharedMemory",),
    "local_bytes_per_thread": ("localMemoryPerThread",),
    **{f"{part}_{axis}": (f"{part}{axis.upper()}",) for part in ("grid", "block") for axis in "xyz"},
}

_USED_STRINGS = """
SELECT demangledName AS id FROM nsys.kernel_name UNION SELECT shortName FROM nsys.kernel_name
UNION SELECT nameId FROM nsys.api
-- Of NVTX the names of ranges and of domains; a mark's text may be anything.
UNION SELECT textId FROM nsys.nvtx WHERE eventType IN (59, 60, 70, 71, 75)
ORDER BY id
"""
_ACTIVE_PROCESSES = """
SELECT globalPid FROM nsys.record UNION SELECT globalPid FROM nsys.graph_trace
UNION SELECT globalTid & -16777216 FROM nsys.api UNION SELECT globalTid & -16777216 FROM nsys.nvtx
"""
_RECORDS = """
INSERT INTO nsys.record
SELECT
    {kind},
    CASE WHEN timed("start", "end") THEN "start" END,
    CASE WHEN timed("start", "end") THEN "end" END,
    "end" < "start",
    globalPid, correlationId, graphNodeId
FROM {table}
"""
# CUPTI writes start = end = 0 when it has counted an operation but not timed it.
_TIMED = """
CREATE OR REPLACE TEMP MACRO timed(first, last) AS
    last >= first AND NOT (first = 0 AND last = 0)
"""
_ROWS_AT_ONCE = 200_000
_RANGE_TABLES = frozenset({"range", "path"})
# The tables that are read alone when a question reads nothing else.
ALONE = _RANGE_TABLES | {"kernel"}
_NOT_PROJECTED = frozenset({"parent_range_id", "first_launch_id", "last_launch_id"})


def read(
    connection: Connection,
    path: Path,
    pass_name: str,
    progress: Progress | None = None,
    needs: Needs | None = None,
) -> None:
    """Insert the rows of one nsys export, an SQLite file or a folder of Parquet files.

    With `needs` only what these name is read; other tables may stay empty, other columns NULL. Raises BadReport
    for an export that is empty, cut off, damaged or foreign; then nothing is inserted.
    """
    connection.execute("CREATE SCHEMA nsys")
    connection.execute(_TIMED)
    connection.execute("SET VARIABLE pass_name = $name", {"name": pass_name})
    try:
        with open_export(path) as export:
            _refuse_foreign(export)
            alone = _read_for(connection, export, needs) if needs else False
            if not alone:
                _read_all(connection, export, path, pass_name, _Telling(export, progress))
    except DatabaseError as error:
        _forget(connection, pass_name)
        raise BadReport(f"{path.name} holds values that make no sense: {first_line(error)}.") from error
    except BaseException:
        _forget(connection, pass_name)
        raise
    if not alone:
        connection.execute("DROP SCHEMA nsys CASCADE")


def suffices_alone(needs: Needs) -> bool:
    """Whether kernels alone or ranges alone are needed, so that the other tables need not be there."""
    return _kernels_suffice(needs) or _ranges_suffice(needs)


def _kernels_suffice(needs: Needs) -> bool:
    return needs.stored <= {"kernel"} and not needs.columns_of("kernel") - _KERNELS_ALONE.keys()


def _ranges_suffice(needs: Needs) -> bool:
    # Paths are made with their ranges, so a question about paths alone is no shorter.
    return {"range"} <= needs.stored <= _RANGE_TABLES and not needs.columns_of("range") & _NOT_PROJECTED


def _read_for(connection: Connection, export: Export, needs: Needs) -> bool:
    """Read no more than is needed, where that is kernels or ranges alone; returns whether it is."""
    if _kernels_suffice(needs):
        _read_kernels_alone(connection, export, needs)
        return True
    if _ranges_suffice(needs):
        needed = needs.columns_of("range")
        if "path" in needs.tables or not nsys_fast.read_ranges(connection, export, needed):
            nsys_projection.read_ranges(connection, export, needed)
        return True
    return False


def _read_all(connection: Connection, export: Export, path: Path, pass_name: str, tell: _Telling) -> None:
    origin = origin_of(export)
    odd = _stage(connection, export, tell)
    read_calls(connection, tell.calls)
    odd |= _read_kernels(connection, export, tell)
    ambiguous = export.ambiguous(_used_strings(connection))
    _run(connection, "device")
    if _untraced_replays(connection):
        _run(connection, "untraced")
    counted = _rows_of_tables(connection, export)
    for name, rows in counted.items():
        connection.execute(f"SET VARIABLE {name} = {'NULL' if rows is None else rows}")
    _run(connection, "doubts")
    doubts = [*doubts_of_export(export, origin, {**STAGED, "kernel": KERNELS}), *_doubts_of_cells(odd)]
    if ambiguous:
        told = f"{ambiguous} numbers of names stand for several names each: the first in the alphabet is told."
        doubts.append(("ambiguous-names", "StringIds", told))
    _note(connection, path, pass_name, origin, counted)
    note_doubts(connection, pass_name, doubts)


def _untraced_replays(connection: Connection) -> bool:
    """Whether any graph was replayed of which no node has a record."""
    found = "SELECT count(*) FROM launch WHERE pass = getvariable('pass_name') AND kind = 'graph'"
    return bool(connection.execute(f"{found} AND NOT captured AND operations = 0").fetchall()[0][0])


def _rows_of_tables(connection: Connection, export: Export) -> dict[str, int | None]:
    """Rows of the three tables that most depends on, as columns of `report`; None for one that is not there."""
    found: dict[str, int | None] = {}
    for name, table, staged in (
        ("kernel_rows", KERNELS.table, "record WHERE kind = 0"),
        ("call_rows", STAGED["api"].table, "api"),
        ("range_rows", STAGED["nvtx"].table, "nvtx"),
    ):
        (rows,) = connection.execute(f"SELECT count(*) FROM nsys.{staged}").fetchall()[0]
        found[name] = rows if find(export, table) else None
    return found


def _read_kernels_alone(connection: Connection, export: Export, needs: Needs) -> None:
    """Kernels as a view over the decoded cells: what a question about kernels alone needs, at the least
    cost."""
    table = find(export, KERNELS.table)
    if table is None:
        return
    columns = needs.columns_of("kernel")
    needed = {source for column in columns for source in _KERNELS_ALONE[column]}
    # The full name is nearly always there, and then nobody needs the short one.
    _keep_kernels(connection, export, table, needed - {"shortName"}, named="name" in columns)
    if "name" in columns and _unnamed(connection):
        _keep_kernels(connection, export, table, needed, named=True)
    _run(connection, "kernel_cells")
    _run(connection, "kernels_alone")


def _keep_kernels(
    connection: Connection, export: Export, table: str, needed: Collection[str], *, named: bool
) -> None:
    export.keep(connection, table, KERNELS.columns, needed)
    connection.execute("CREATE OR REPLACE TABLE nsys.string (id BIGINT, value VARCHAR)")
    connection.execute(
        "CREATE OR REPLACE TABLE nsys.kernel_name AS SELECT DISTINCT demangledName, shortName FROM batch"
    )
    if named:
        used = connection.execute(
            "SELECT demangledName FROM nsys.kernel_name UNION SELECT shortName FROM nsys.kernel_name"
        )
        _insert_strings(connection, export, [row[0] for row in used.fetchall() if row[0] is not None])
    _run(connection, "kernel_names")


def _unnamed(connection: Connection) -> bool:
    """Whether a kernel has no full name."""
    found = "SELECT count(*) FROM nsys.kernel_name ANTI JOIN nsys.string ON id = demangledName"
    return bool(connection.execute(found).fetchall()[0][0])


def _refuse_foreign(export: Export) -> None:
    known = (*(staged.table for staged in STAGED.values()), KERNELS.table, "StringIds", "META_DATA_EXPORT")
    if not any(find(export, table) for table in known):
        seen = ", ".join(sorted(export.tables())[:8]) or "none"
        raise BadReport(
            f"{export.path.name} is no export of Nsight Systems: it has none of its tables, but {seen}.",
            "Export a report with nsys export --type sqlite.",
        )


def _stage(connection: Connection, export: Export, tell: _Telling) -> dict[str, int]:
    """Stage all tables; returns the cells that are no value of their column, by table but for kernels."""
    connection.execute(
        'CREATE TABLE nsys.record (kind BIGINT, "start" BIGINT, "end" BIGINT, impossible BOOLEAN, '
        "globalPid BIGINT, correlationId BIGINT, graphNodeId BIGINT)"
    )
    odd = {}
    for name, staged in STAGED.items():
        table = find(export, staged.table) or staged.table
        odd[table] = stage(connection, export, table, f"nsys.{name}", staged.columns, told=tell.rows)
    for name, kind in (("memcpy", 2), ("memset", 3)):
        connection.execute(_RECORDS.format(kind=kind, table=f"nsys.{name}"))
    connection.execute("CREATE TABLE nsys.kernel_name (demangledName BIGINT, shortName BIGINT)")
    kernels = find(export, KERNELS.table) or KERNELS.table
    turn = Turn(
        f"{_RECORDS.format(kind=0, table='batch')}; "
        "INSERT INTO nsys.kernel_name SELECT DISTINCT demangledName, shortName FROM batch",
        "DELETE FROM nsys.record WHERE kind = 0; DELETE FROM nsys.kernel_name",
        _ROWS_AT_ONCE,
        tell.rows,
    )
    columns = _integers(*_DEVICE, "graphNodeId", "demangledName", "shortName")
    export.each(connection, kernels, columns, turn)
    connection.execute("CREATE TABLE nsys.string (id BIGINT, value VARCHAR)")
    _insert_strings(connection, export, _used_strings(connection))
    connection.execute("CREATE TABLE nsys.listed (globalPid BIGINT, pid BIGINT)")
    active = {row[0] for row in connection.execute(_ACTIVE_PROCESSES).fetchall()}
    listed = ({"globalPid": process, "pid": pid} for process, pid in listed_processes(export, active))
    append(connection, "nsys.listed", _integers("globalPid", "pid"), listed)
    _run(connection, "identity")
    return odd


def _used_strings(connection: Connection) -> list[int]:
    return [row[0] for row in connection.execute(_USED_STRINGS).fetchall() if row[0] is not None]


def _insert_strings(connection: Connection, export: Export, used: list[int]) -> None:
    strings = ({"id": number, "value": text} for number, text in export.strings(used))
    append(connection, "nsys.string", {"id": BIGINT, "value": VARCHAR}, strings)


def _read_kernels(connection: Connection, export: Export, tell: _Telling) -> dict[str, int]:
    """Fill kernel; returns the cells that are no value of their column."""
    table = find(export, KERNELS.table)
    if table is None:
        return {}
    undo = "DELETE FROM kernel WHERE pass = getvariable('pass_name')"
    _run(connection, "kernel_names")
    turn = Turn(sql_of("kernel_cells") + sql_of("kernels"), undo, _ROWS_AT_ONCE, tell.rows)
    return {table: export.each(connection, table, KERNELS.columns, turn)}


def _doubts_of_cells(odd: Mapping[str, int]) -> Iterator[Doubt]:
    for table, cells in odd.items():
        if cells:
            told = f"{table} holds {cells} cells that are no value of their column; they are read as NULL."
            yield "odd-cells", table, told


def _note(
    connection: Connection, path: Path, pass_name: str, origin: Origin, counted: Mapping[str, int | None]
) -> None:
    form = "nsys-parquet" if path.is_dir() else "nsys-sqlite"
    told = {**origin.columns(), **counted}
    note_report(connection, pass_name, path, form, rows=counted["kernel_rows"], complete=True, **told)
    if origin.tool_version:
        insert_rows(connection, "tool", [{"pass": pass_name, "name": "nsys", "version": origin.tool_version}])


def _forget(connection: Connection, pass_name: str) -> None:
    """A report that could not be read leaves no rows. Its findings come last, so there are none yet."""
    connection.execute("DROP SCHEMA nsys CASCADE")
    there = {row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    filled = (
        *("range", "launch", "kernel", "memory_operation", "sync", "api_call", "path", "mark", "graph_run"),
        *("graph_origin", "process", "gpu", "overhead"),
    )
    for table in filled:
        if table in there:  # a store for one question has no others
            connection.execute(f'DELETE FROM "{table}" WHERE pass = $pass', {"pass": pass_name})


def _run(connection: Connection, step: str) -> None:
    connection.execute(sql_of(step))


class _Telling:
    """How far it has come, in rows: every table is read once, kernels twice, calls and ranges are placed as
    well."""

    def __init__(self, export: Export, progress: Progress | None) -> None:
        self._progress = progress
        self._done = self._total = 0
        if progress:
            sizes = {
                name: export.size(table) if (table := find(export, staged.table)) else 0
                for name, staged in {**STAGED, "kernel": KERNELS}.items()
            }
            self._total = sum(sizes.values()) + sizes["kernel"] + sizes["api"] + sizes["nvtx"]

    def rows(self, count: int) -> None:
        self._tell(count, "reading")

    def calls(self, count: int) -> None:
        self._tell(count, "placing calls in ranges")

    def _tell(self, count: int, what: str) -> None:
        self._done += count
        if self._progress:
            self._progress(min(self._done, self._total), self._total, what)
