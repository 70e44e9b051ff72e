"""An nsys export in SQLite → its ranges with what ran inside them, by compiled loops: the extra [fast].

The same rows as nsys_projection's, several times faster. Cells go from the file's pages through small buffers
straight into the arrays that are asked; device records and calls are never kept as they are. Whatever is not
plain, down to a single odd cell, is left to nsys_projection.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from nsight_suite.evidence.readers.fast_calls import read_calls, read_records
from nsight_suite.evidence.readers.fast_pages import opened
from nsight_suite.evidence.readers.fast_ranges import Ranges
from nsight_suite.evidence.readers.machine import Unavailable, machine
from nsight_suite.evidence.readers.nsys_export import Export, SqliteExport, find
from nsight_suite.evidence.readers.nsys_projection import in_order
from nsight_suite.evidence.readers.sqlite_pages import Unusual
from nsight_suite.evidence.store import Connection

# Below so many API calls and NVTX events the loops take longer to load than they save, and to compile.
LEAST_ROWS, COMPILED_FOR = 50_000, 1_000_000
_COUNTED = frozenset({"kernels", "operations", "device_ns"})
# Columns of range that are told here.
GIVEN = _COUNTED | {
    *(
        "pass",
        "range_id",
        "process",
        "thread",
        "domain",
        "name",
        "payload",
        "style",
        "closed",
        "start_ns",
        "end_ns",
    ),
    *("launches", "projected_start_ns", "projected_end_ns"),
}


def read_ranges(
    connection: Connection, export: Export, needed: Collection[str], least_rows: int = LEAST_ROWS
) -> bool:
    """The table range, as far as these columns of it are needed; returns whether it could be read in this way.

    If not, nothing has been done: numba is missing or the export small, or something in it is not plain.
    """
    if not isinstance(export, SqliteExport) or not GIVEN.issuperset(needed):
        return False
    try:
        rows = _rows(export)
        if rows < least_rows:
            return False
        with opened(export, machine(compile_now=rows >= COMPILED_FOR)) as reader:
            wide = not _COUNTED.isdisjoint(needed)
            records, working = read_records(reader, wide)
            calling, rounds = read_calls(reader, records)
            ranges = Ranges(reader, rounds, wide, paid="payload" in needed, numbered="range_id" in needed)
    except (Unavailable, Unusual, sqlite3.Error):
        return False
    ranges.show(connection, *in_order(export, calling | ranges.seen, working))
    return True


def _rows(export: SqliteExport) -> int:
    tables = (find(export, name) for name in ("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"))
    return sum(export.size(table) for table in tables if table)
