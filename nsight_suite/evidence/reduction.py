"""Reports cut down to what the readers read, so that they can be published: each function copies one kind.

Everything is built from lists of what may pass. A reduced report gives the same rows of evidence as the whole.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from nsight_suite.errors import BadReport
from nsight_suite.evidence.paths import without_paths
from nsight_suite.evidence.readers import driver_records, ncu_csv, sanitizer_log
from nsight_suite.evidence.readers.ncu_page import Kind, texts_of
from nsight_suite.evidence.readers.nsys import KERNELS, STAGED
from nsight_suite.evidence.readers.nsys_diagnosis import telling_words
from nsight_suite.evidence.readers.nsys_export import VARCHAR, Columns, SqliteExport, find, opened
from nsight_suite.evidence.readers.nsys_processes import listed_processes
from nsight_suite.evidence.readers.workloads import wanted
from nsight_suite.evidence.tables import BLOCK, tables
from nsight_suite.writing import cannot_write, takes_no_more

# Beside its metrics, what tells a workload apart. Process Name and Host Name stay behind.
_NCU_COLUMNS = frozenset(
    {
        *("ID", "Process ID", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"),
        *("Section Name", "Body Item Label", "Metric Name", "Metric Unit", "Metric Value"),
    }
)
_NCU_METRIC = frozenset({"Section Name", "Body Item Label", "Metric Name", "Metric Unit", "Metric Value"})
_METADATA = {
    "META_DATA_EXPORT": (
        *("EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION"),
        *("EXPORT_PARAM_TIME_NORMALIZE", "EXPORT_PARAM_TIME_SHIFT"),
    ),
    "META_DATA_CAPTURE": (
        *("CUDA_GRAPH_TRACE_OPTIONS:MODE", "CAPTURE_EVENT_TYPE"),
        *(":COLLECT_CUDA_TRACE", ":COLLECT_NVTX_TRACE"),
    ),
}
# Where the header of an SQLite file tells which SQLite wrote it.
_VERSION = slice(96, 100)
# NVTX events that the readers ask for by name: ranges, and the names of domains.
_NAMED_EVENTS = (59, 60, 70, 71, 75)


def reduce_records(source: Path, target: Path) -> None:
    """Copy a driver's records: the values of known columns only, and no path of the machine in a text.

    Line by line, so that records that were cut off, or have strange lines, stay such.
    """
    texts = source.read_text(encoding="utf-8", errors="replace").split("\n")
    target.write_text("\n".join(_reduced_record(text) if text else "" for text in texts), encoding="utf-8")


def _reduced_record(text: str) -> str:
    try:
        record = json.loads(text)
    except json.JSONDecodeError:
        record = None
    if not isinstance(record, dict):
        return "?"
    table = str(record.pop("table", None))
    if table in driver_records.TABLES:
        known: Collection[str] = tables()[table].column_names
    else:
        known = ("state", "reason") if table == "_end" else ()
    reduced: dict[str, object] = {"table": without_paths(table)}
    for name, value in record.items():
        if name == BLOCK:
            reduced[BLOCK] = _reduced_block(value, known)
        else:
            reduced[without_paths(name)] = _without_paths(value) if name in known else None
    return json.dumps(reduced)


def _reduced_block(block: object, known: Collection[str]) -> object:
    """The known columns of a block; one that is none stays none."""
    if not driver_records.is_block(block):
        return None
    return {
        without_paths(name): [_without_paths(value) if name in known else None for value in values]
        for name, values in cast(dict[str, list[object]], block).items()
    }


def _without_paths(value: object) -> object:
    return without_paths(value) if isinstance(value, str) else value


def reduce_nsys(source: Path, target: Path) -> None:
    """Rebuild an nsys export with the tables and columns that are read, and only the strings that these name.

    Environment, command lines, process lists, paths, hosts and users are in none of them.
    """
    with opened(source) as export, _database(target) as copy:
        for staged in (*STAGED.values(), KERNELS):
            table = find(export, staged.table)
            if table and (columns := [name for name in staged.columns if name in export.columns_of(table)]):
                _copy_table(export, copy, table, {name: staged.columns[name] for name in columns})
        _copy_processes(export, copy)
        _copy_session(export, copy)
        for table, suffixes in _METADATA.items():
            if export.columns_of(table):
                copy.execute(f'CREATE TABLE "{table}" (name TEXT, value TEXT)')
                copy.executemany(
                    f'INSERT INTO "{table}" VALUES (?, ?)',
                    (
                        (name, value)
                        for name, values in export.metadata(table).items()
                        if name.endswith(suffixes)
                        for value in values
                    ),
                )
        if find(export, "StringIds"):
            copy.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
            copy.executemany("INSERT INTO StringIds VALUES (?, ?)", export.strings(_used_strings(copy)))
        copy.commit()
    _forget_version(target)


@contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    """A new database. Raises SuiteError when it cannot be written: nothing is wrong with the report then."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            yield connection
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        if name in ("SQLITE_FULL", "SQLITE_CANTOPEN") or (
            name.startswith("SQLITE_IOERR") and "READ" not in name
        ):
            raise cannot_write(path, error) from error
        raise


def _forget_version(database: Path) -> None:
    """Clear the field of the header that tells which SQLite wrote the file: nothing reads it, and two versions
    shall write the same bytes."""
    with database.open("r+b") as file:
        file.seek(_VERSION.start)
        file.write(bytes(4))


def _copy_processes(export: SqliteExport, copy: sqlite3.Connection) -> None:
    """The program's own processes, by number: no names, and none of the other processes of the machine."""
    reduced = SqliteExport(Path(), copy)
    active: set[int] = set()
    for table in reduced.tables():
        for column, mask in (("globalPid", -1), ("globalTid", -(1 << 24))):
            if column in reduced.columns_of(table):
                found = copy.execute(f'SELECT DISTINCT "{column}" & ? FROM "{table}"', (mask,))
                active.update(row[0] for row in found if row[0] is not None)
    if find(export, "PROCESSES"):
        copy.execute("CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER)")
        copy.executemany("INSERT INTO PROCESSES VALUES (?, ?)", listed_processes(export, active))


def _copy_session(export: SqliteExport, copy: sqlite3.Connection) -> None:
    """When the capture began, and of nsys' own messages the words that tell of drops and early ends."""
    if start := find(export, "TARGET_INFO_SESSION_START_TIME"):
        copy.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)")
        copy.executemany(
            "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)", export.rows(start, ("utcEpochNs",))
        )
    if words := telling_words(export):
        copy.execute("CREATE TABLE DIAGNOSTIC_EVENT (text TEXT)")
        copy.executemany("INSERT INTO DIAGNOSTIC_EVENT VALUES (?)", [(word,) for word in words])


def _copy_table(export: SqliteExport, copy: sqlite3.Connection, table: str, types: Columns) -> None:
    columns = list(types)
    declared = ", ".join(f'"{name}" {"TEXT" if types[name] == VARCHAR else "INTEGER"}' for name in columns)
    copy.execute(f'CREATE TABLE "{table}" ({declared})')
    # Never copied and then cleared: a cleared text can stay in the file's unused bytes.
    cells = (
        f'CASE WHEN "eventType" IN {_NAMED_EVENTS} THEN "{name}" END'
        if name in ("text", "textId") and "eventType" in columns
        else f'"{name}"'
        for name in columns
    )
    rows = export.connection.execute(f'SELECT rowid, {", ".join(cells)} FROM "{table}"')
    marks = ", ".join("?" * (len(columns) + 1))
    quoted = ", ".join(f'"{name}"' for name in columns)
    copy.executemany(f'INSERT INTO "{table}" (rowid, {quoted}) VALUES ({marks})', rows)


def _used_strings(copy: sqlite3.Connection) -> set[int]:
    used: set[int] = set()
    for table, column in (
        ("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "shortName"),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"),
        ("NVTX_EVENTS", "textId"),
    ):
        reduced = SqliteExport(Path(), copy)
        there = find(reduced, table)
        if there and column in reduced.columns_of(there):
            rows = copy.execute(f'SELECT DISTINCT "{column}" FROM "{there}" WHERE "{column}" IS NOT NULL')
            used.update(row[0] for row in rows)
    return used


def reduce_ncu_csv(source: Path, target: Path, requested: Sequence[str]) -> None:
    """Rewrite an ncu page with the columns that tell workloads apart and the metrics that enter the evidence.

    Line by line, so that a page that was cut off, or has foreign lines in it, stays one that is or has.
    """
    page = ncu_csv.parse("".join(texts_of(source)), source.name)
    header = page.header
    kept = _kept_columns(header, requested)
    texts = []
    for line in page.lines:
        match line.kind:
            case Kind.HEADER:
                header, kept = line.cells, _kept_columns(line.cells, requested)
                texts.append(_csv_line([header[index] for index in kept]))
            case Kind.UNITS | Kind.ROW:
                cells = _without_foreign_metric(dict(enumerate(line.cells)), header, requested)
                texts.append(_csv_line([cells[index] for index in kept]))
            case Kind.FOREIGN:
                # One that is like a row but does not fit its header stays such.
                texts.append(_csv_line(["0"] + [""] * len(kept)) if line.cells else "?")
            case Kind.SKIPPED:
                texts.append(without_paths(line.text) if line.text.startswith("==ERROR==") else "")
            case Kind.CUT:
                texts.append('"')
    target.write_text("\n".join(texts) + ("\n" if page.ended else ""), encoding="utf-8")


def _kept_columns(header: Sequence[str], requested: Sequence[str]) -> list[int]:
    return [
        index
        for index, name in enumerate(header)
        if name in _NCU_COLUMNS or "_Range:PL_Type" in name or wanted(name, requested)
    ]


def _without_foreign_metric(
    cells: dict[int, str], header: Sequence[str], requested: Sequence[str]
) -> dict[int, str]:
    """A row of a details page without a metric that is not wanted; its workload stays."""
    if "Metric Name" in header and not wanted(cells[header.index("Metric Name")].strip(), requested):
        return {index: "" if header[index] in _NCU_METRIC else text for index, text in cells.items()}
    return cells


def _csv_line(row: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="").writerow(row)
    return text.getvalue()


def reduce_sanitizer_log(source: Path, target: Path) -> None:
    """Keep a log's summary lines alone: the others tell paths, addresses and the host's call stacks."""
    lines = source.read_text(encoding="utf-8", errors="replace").splitlines()
    kept = (line.rstrip() for line in lines if sanitizer_log.SUMMARY.match(line.rstrip()))
    target.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")


def reduce_report(source: Path, target: Path, requested: Sequence[str]) -> bool:
    """Copy one file of reports/ in its reduced form; False for a kind that is not shared.

    `requested` are the protocol's metrics. Raises BadReport for a file that cannot be read, SuiteError for one
    that cannot be written.
    """
    try:
        if source.suffix == ".jsonl":
            reduce_records(source, target)
        elif source.suffix == ".sqlite":
            reduce_nsys(source, target)
        elif source.suffix == ".csv":
            reduce_ncu_csv(source, target, requested)
        elif source.suffix == ".log":
            reduce_sanitizer_log(source, target)
        else:
            return False
    except (OSError, ValueError) as error:
        if takes_no_more(error):
            raise cannot_write(target, error) from error
        raise BadReport(f"{source.name} cannot be read: {error}.") from error
    return True


def same_report(one: Path, other: Path) -> bool:
    """Whether two files are the same, but for the SQLite that wrote them."""
    if one.stat().st_size != other.stat().st_size:
        return False
    contents = [bytearray(path.read_bytes()) for path in (one, other)]
    if one.suffix == ".sqlite":
        for content in contents:
            content[_VERSION] = bytes(4)
    return contents[0] == contents[1]
