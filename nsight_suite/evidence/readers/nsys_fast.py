"""An nsys export in SQLite → its ranges with what ran inside them, by compiled loops: the extra [fast].

The same rows as nsys_projection's, several times faster. Cells go from the file's pages through small buffers
straight into the arrays that are asked; device records and calls are never kept as they are. Whatever is not
plain, down to a single odd cell, is left to nsys_projection.
"""

from __future__ import annotations

from collections.abc import Collection

from nsight_suite.evidence.readers.nsys_export import Export, SqliteExport, find
from nsight_suite.evidence.readers.nsys_projection import process_of
from nsight_suite.evidence.readers.sqlite_pages import Unusual
from nsight_suite.evidence.store import Connection

# Below so many API calls and NVTX events numba takes longer to start than it saves.
LEAST_ROWS = 300_000
_COUNTED = frozenset({"kernels", "operations", "device_ns"})
# Columns of range that are told here.
GIVEN = _COUNTED | {
    *("pass", "process", "thread", "domain", "name", "payload", "style", "closed", "start_ns", "end_ns"),
    *("launches", "projected_start_ns", "projected_end_ns"),
}


def read_ranges(
    connection: Connection, export: Export, needed: Collection[str], least_rows: int = LEAST_ROWS
) -> bool:
    """The table range, as far as these columns of it are needed; returns whether it could be read in this way.

    If not, nothing has been done: numba is missing, the export is small, or something in it is not plain.
    """
    if not isinstance(export, SqliteExport) or not GIVEN.issuperset(needed) or _rows(export) < least_rows:
        return False
    try:
        from nsight_suite.evidence.readers import compiled
    except (ImportError, RuntimeError):  # not installed, or no folder that numba could keep its cache in
        return False
    from nsight_suite.evidence.readers.fast_calls import read_calls, read_records
    from nsight_suite.evidence.readers.fast_pages import opened
    from nsight_suite.evidence.readers.fast_ranges import Ranges

    try:
        with opened(export, compiled) as reader:
            records = read_records(reader, wide=not _COUNTED.isdisjoint(needed))
            seen, rounds = read_calls(reader, records)
            ranges = Ranges(reader, rounds, wide=not _COUNTED.isdisjoint(needed), paid="payload" in needed)
    except Unusual:
        return False
    threads = sorted(seen | ranges.threads())
    listed = {row[0] for row in export.rows(find(export, "PROCESSES") or "", ("globalPid",))} - {None}
    processes = sorted({process_of(thread) for thread in threads} | records.keys() | listed)
    ranges.show(connection, threads, processes)
    return True


def _rows(export: SqliteExport) -> int:
    tables = (find(export, name) for name in ("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"))
    return sum(export.size(table) for table in tables if table)
