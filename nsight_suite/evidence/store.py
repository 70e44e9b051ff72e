"""Opening the evidence of a run with DuckDB, and writing it.

Parquet files are the record. Everything reads them through views that name each column, so a damaged or foreign
file is found when the store is opened, and becomes an empty table with a reason instead of a traceback later.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

import duckdb

from nsight_suite.errors import SuiteError, UsageError, first_line
from nsight_suite.evidence.aside import Aside
from nsight_suite.evidence.keeping import keep, kept_files, over
from nsight_suite.evidence.needs import Needs, needs_of
from nsight_suite.evidence.sqltext import escaped, not_a_pattern, quoted
from nsight_suite.evidence.tables import Table, tables
from nsight_suite.evidence.versions import Version, of_one_version
from nsight_suite.evidence.views import in_order, shared_views
from nsight_suite.runfolder import RunFolder, replacing
from nsight_suite.writing import cannot_write, replacing_folder

Connection = duckdb.DuckDBPyConnection
DatabaseError = duckdb.Error
OutOfMemory = duckdb.OutOfMemoryException

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
# A DuckDB shell of any version from 1.0 on opens the file.
_SHELL_CONFIG = {**_CONFIG, "storage_compatibility_version": "v1.0.0"}

# Version 2 packs times as their differences: half the bytes, and quicker to read.
_PARQUET = "FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2"

_LINES = 10_000
_CHECKED_BYTES = 1 << 20
_SORTED_ROWS = 100_000

# Whatever stands between its words: spaces and comments.
_BETWEEN = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_EXPLAIN = re.compile(
    rf"^{_BETWEEN}EXPLAIN\b{_BETWEEN}(?:ANALYZE\b{_BETWEEN})?(?:\([^()]*\){_BETWEEN})?",
    re.IGNORECASE | re.DOTALL,
)

# What a query is told that reads a missing table.
_REFUSAL = "the table '{table}' is not empty but missing: {reason}"

# What an experiment declares of each case, in its expected.sql.
_DECLARED = {
    "case_id": "VARCHAR",
    "kernels": "BIGINT",
    "graph_nodes": "BIGINT",
    "kernel_names": "VARCHAR[]",
    "logical_read_bytes": "BIGINT",
    "logical_write_bytes": "BIGINT",
    "memset_nodes": "BIGINT",
    "reread_bytes": "BIGINT",
}
# What it may leave out, and what that says.
_UNDECLARED = {"memset_nodes": "0", "reread_bytes": "0"}

_CORRECT = "Correct it: one row for each case, whole numbers from 0 on; see docs/adding-an-experiment.md."


@dataclass(frozen=True)
class Store:
    """An open store: an in-memory DuckDB with a view per table, and why any table could not be read.

    `remedy` is the way out when a query that should have an answer has none, `version` the evidence that the
    store was opened on, `needs` what the SQL reads that it was opened for: None where that cannot be told.
    """

    connection: duckdb.DuckDBPyConnection
    missing: Mapping[str, str]
    remedy: str = ""
    version: Version | None = None
    needs: Needs | None = None

    def refusal(self, error: DatabaseError) -> str:
        """What a failed query says of the missing table that it read; empty when it failed otherwise."""
        told = (_REFUSAL.format(table=table, reason=reason) for table, reason in self.missing.items())
        return next((text for text in told if text in str(error)), "")

    def check(self) -> None:
        """Raise EvidenceReplaced when what was read since the store was opened may be of two versions."""
        if self.version:
            self.version.check()

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The rows of a query as dictionaries. Raises EvidenceReplaced."""
        result = self.connection.execute(sql)
        names = [column[0] for column in result.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
        self.check()
        return rows


def _connect(path: str | Path, config: Mapping[str, Any]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(path, config=dict(config))
    # DuckDB would print it among the rows of an answer, into files and pipes as well. In a notebook that has
    # nothing to draw it with, DuckDB refuses to hear of it, and draws none.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")
    return connection


def bare_connection() -> duckdb.DuckDBPyConnection:
    """An in-memory DuckDB without any table, which downloads nothing."""
    return _connect(":memory:", _CONFIG)


# Begun, and not taken by anybody yet.
_starting: list[Aside[Connection]] = []


def start_answering() -> None:
    """Begin to start DuckDB for the next `answering_connection`, where there is something else to do first."""
    if not _starting:
        _starting.append(_start())


def _start() -> Aside[Connection]:
    """DuckDB takes a good 30 ms to start, and leaves Python alone meanwhile."""
    config = {**_CONFIG, **_limits()}
    at_work = threading.Event()

    def connect() -> Connection:
        at_work.set()
        return _connect(":memory:", config)

    starting = Aside(connect)
    # Else Python would go on here for some ms before the other thread has its first turn.
    at_work.wait()
    return starting


def answering_connection() -> duckdb.DuckDBPyConnection:
    """The same for a question, which takes half of the machine's memory at most, and no more than 4 GB."""
    try:
        starting = _starting.pop()
    except IndexError:
        starting = _start()
    tables()  # any store needs these
    shared_views()
    return starting.result()


def empty_store(folder: Path | None = None, memory_limit: str | None = None) -> duckdb.DuckDBPyConnection:
    """A DuckDB with every table of the evidence, empty: what the readers fill.

    It lies in memory, or in a file inside `folder`; then it takes no more memory than `memory_limit` ('250MB').
    """
    config = dict(_CONFIG)
    if folder is not None:
        config["temp_directory"] = str(folder / "spilled")
        # Rows go through in few threads, each of which holds some; their order is that of the report.
        config |= {"memory_limit": memory_limit or "180MB", "threads": 2}
    connection = _connect(":memory:" if folder is None else folder / "store.duckdb", config)
    create_tables(connection)
    return connection


def create_tables(connection: Connection, only: Collection[str] | None = None) -> None:
    """Every table of the evidence, or `only` some, empty."""
    for table in tables().values():
        if only is None or table.name in only:
            connection.execute(_create_table(table))


def insert_rows(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Iterable[Mapping[str, object]]
) -> None:
    """Append rows to a table of the evidence; columns that a row lacks become NULL.

    Raises ValueError for a column that the table does not have, and for a number that is not finite.
    """
    columns = {column.name: column.type for column in tables()[table].columns}

    def checked() -> Iterator[Mapping[str, object]]:
        for row in rows:
            if unknown := set(row) - set(columns):
                raise ValueError(f"table '{table}' has no column {', '.join(sorted(unknown))}")
            yield row

    append(connection, quoted(table), columns, checked())


def append(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    columns: Mapping[str, str],
    rows: Iterable[Mapping[str, object]],
) -> None:
    """Append rows to any table, given as SQL names it; `columns` maps each column to its type.

    Rows travel as JSON lines with the declared types, so integers stay exact and NULL stays NULL. Raises
    SuiteError when there is no room for them in the temporary folder.
    """
    lines = (json.dumps(row, allow_nan=False) + "\n" for row in rows)
    with _temporary_file() as file:
        count = 0
        while some := list(islice(lines, _LINES)):
            count += len(some)
            _write(file, "".join(some).encode())
        if count:
            types = ", ".join(f"{quoted(name)}: '{kind}'" for name, kind in columns.items())
            connection.execute(
                f"INSERT INTO {table} BY NAME SELECT * FROM "
                f"read_json($path, columns = {{{types}}}, format = 'newline_delimited')",
                {"path": file.name},
            )


def _temporary_file() -> IO[bytes]:
    # Without a buffer a full disk is told while the file is written, and not when it is closed.
    try:
        return tempfile.NamedTemporaryFile(suffix=".jsonl", buffering=0)
    except OSError as error:
        raise SuiteError(
            f"No temporary file can be made: {error.strerror}.",
            "Name a folder that can be written to: TMPDIR=FOLDER before the command.",
        ) from error


def _write(file: IO[bytes], data: bytes) -> None:
    try:
        while data:
            data = data[file.write(data) :]
    except OSError as error:
        raise cannot_write(Path(file.name), error) from error


def write_parquet(connection: Connection, folder: Path, *, keeping: bool = True) -> None:
    """Write every table to `folder`/NAME.parquet. All files take the place of earlier ones at once, or none.

    Rows are sorted by their columns from left to right, so that the same evidence gives the same files; those
    of large tables keep the order in which they were read, and when `keeping` the rows of the views that are
    kept lie beside them. Raises SuiteError when they cannot be written.
    """
    with replacing_folder(folder) as made:
        large = set()
        try:
            for table in tables().values():
                columns = ", ".join(quoted(name) for name in table.column_names)
                (rows,) = connection.execute(f"SELECT count(*) FROM {quoted(table.name)}").fetchall()[0]
                order = "ORDER BY ALL" if rows <= _SORTED_ROWS else ""
                select = f"SELECT {columns} FROM {quoted(table.name)} {order}"
                path = escaped(made / f"{table.name}.parquet")
                connection.execute(f"COPY ({select}) TO '{path}' ({_PARQUET})")
                if not order:
                    large.add(table.name)
            if keeping:
                keep(connection, made, large, _PARQUET)
        except duckdb.IOException as error:
            raise cannot_write(folder, error) from error


def open_store(
    run: RunFolder,
    *,
    missing_as_empty: bool = False,
    sql: str | None = None,
    also: Collection[str] = (),
    writes: Path | None = None,
) -> Store:
    """Open the evidence of a run for reading, in memory; nothing is written anywhere, but for the one file
    `writes`, to which an answer may be copied.

    A query that reads a missing table fails with the table's reason. With `missing_as_empty` such a table is
    empty instead: only for who looks at `Store.missing` before believing that something is not there. With
    `sql`, one SELECT, only the tables and views that it reads, and the tables `also`, are opened, which is
    quicker. Raises UsageError when the run's expected.sql declares something else than it should.
    """
    return of_one_version(run.evidence, lambda: _opened(run, missing_as_empty, sql, also, writes))


def _opened(
    run: RunFolder, missing_as_empty: bool, sql: str | None, also: Collection[str], writes: Path | None
) -> Store:
    version = Version(run.evidence)
    connection = answering_connection()
    kept = {view.name: (view, file) for view, file in kept_files(run.evidence, sql)}
    needs = needs_of(connection, sql, kept) if sql is not None else None
    if needs:
        kept = {name: one for name, one in kept.items() if name in needs.tables}
    # expected.sql may read any table; a question that reads none may be about the tables themselves.
    only = needs.tables.union(also) if needs and needs.tables and "expected" not in needs.tables else None
    missing = {}
    for table in tables().values():
        if only is not None and table.name not in only:
            continue
        reason = _try_view(connection, table, (run.evidence / f"{table.name}.parquet").resolve())
        if reason:
            missing[table.name] = reason
            connection.execute(_create_table(table) if missing_as_empty else _refusing_view(table, reason))
        elif only is None:
            _comment(connection, table)  # for who looks at the tables themselves
    files = [*_files(only), *(file.name for _, file in kept.values())]
    _allow_only(connection, files, [run.evidence.resolve()], writes)
    if only is None:
        _create_derived_views(connection, run)
        _check_expected(connection, run.expected)
    for view, file in kept.values():
        bare = f"CREATE VIEW {quoted(view.name)} AS {over(file)}"
        connection.execute(view.over(over(file)) if only is None else bare)
    if only is not None:
        create_shared_views(connection, only=only - kept.keys())
    if needs:
        needs = replace(needs, tables=needs.tables.union(*(view.tables for view, _ in kept.values())))
    lost = f"A file in {run.evidence} is lost or damaged."
    remedy = f"{lost} Rebuild it: python -m nsight_suite.evidence {run.path}"
    return Store(connection, missing, remedy, version, needs)


def write_duckdb(run: RunFolder) -> None:
    """Write evidence.duckdb: commented views with paths relative to the run folder, for the DuckDB shell."""
    try:
        with replacing(run.duckdb) as temporary, _connect(temporary, _SHELL_CONFIG) as connection:
            connection.execute(f"SET file_search_path = '{escaped(run.path.resolve())}'")
            unreadable = _unreadable_tables(run)
            connection.begin()  # else every view and comment is written on its own
            for table in tables().values():
                if table.name in unreadable:
                    connection.execute(_create_table(table))
                else:
                    _create_view(connection, table, Path("evidence") / f"{table.name}.parquet")
                    _comment(connection, table)
            _allow_only(connection, _files(), [run.evidence.resolve(), Path("evidence")])
            _create_derived_views(connection, run)
            connection.commit()
            _check_expected(connection, run.expected)
            # What closing cannot bring into the file, it would leave beside it without a word.
            connection.execute("FORCE CHECKPOINT")
    except duckdb.IOException as error:
        raise cannot_write(run.duckdb, error) from error
    except duckdb.Error as error:
        raise SuiteError(
            f"DuckDB cannot write {run.duckdb}: {first_line(error)}",
            "Move the run to a folder whose path has no unusual characters in it.",
        ) from error


def _unreadable_tables(run: RunFolder) -> set[str]:
    """Tried elsewhere, since a statement that fails ends the transaction that it stands in."""
    with bare_connection() as trial:
        return {
            table.name
            for table in tables().values()
            if _try_view(trial, table, (run.evidence / f"{table.name}.parquet").resolve())
        }


def not_one_query(connection: Connection, text: str, kinds: Collection[str] = ("SELECT",)) -> str:
    """What SQL text holds instead of one statement of these kinds; empty when it holds just that.

    Raises UsageError for text that is not Unicode, DatabaseError for a statement that cannot be parsed.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"The SQL text is not valid UTF-8: {error.reason}.") from error
    found = [_kind(statement) for statement in connection.extract_statements(text)]
    if found == ["EXPLAIN"] and "EXPLAIN" in kinds:
        # What is explained by its run is run: it must read as well.
        inner = _EXPLAIN.sub("", text, count=1)
        return not_one_query(connection, inner) if inner != text else "an EXPLAIN of an unknown form"
    if len(found) == 1 and found[0] in kinds:
        return ""
    # DuckDB carries a PIVOT out as several statements, which make and drop a type.
    return " and ".join("PIVOT" if kind == "MULTI" else kind for kind in found) or "no statement"


def _kind(statement: duckdb.Statement) -> str:
    try:
        return statement.type.name
    except ValueError:  # one that DuckDB's own list for Python lacks
        return "a statement that is no query"


def ensure_duckdb(run: RunFolder) -> None:
    """Write evidence.duckdb when it is missing, if that can be done. Its views follow the files.

    A run with a manifest stays as that tells it.
    """
    sealed = run.manifest.exists()
    if run.evidence.is_dir() and not (sealed or run.duckdb.exists()) and os.access(run.path, os.W_OK):
        with suppress(SuiteError):  # whoever asks for an answer does not depend on it
            write_duckdb(run)


def _create_view(connection: Connection, table: Table, path: Path) -> None:
    columns = ", ".join(f"CAST({quoted(c.name)} AS {c.type}) AS {quoted(c.name)}" for c in table.columns)
    file = escaped(not_a_pattern(path))
    connection.execute(f"CREATE VIEW {quoted(table.name)} AS SELECT {columns} FROM read_parquet('{file}')")


def _try_view(connection: Connection, table: Table, path: Path) -> str | None:
    """Create the view of a table; returns why that is impossible, or None."""
    name = quoted(table.name)
    try:
        _create_view(connection, table, path)
        # Counting cells reads them all. Past some size that costs too much: only the frame was checked.
        if path.stat().st_size <= _CHECKED_BYTES:
            connection.execute(f"SELECT count(COLUMNS(*)) FROM {name}").fetchall()
    except duckdb.Error as error:
        connection.execute(f"DROP VIEW IF EXISTS {name}")
        if isinstance(error, duckdb.IOException) and os.path.lexists(path):
            return f"{path.name} cannot be read"
        if isinstance(error, duckdb.IOException):
            return f"{path.name} is missing"
        return f"{path.name} is damaged: {first_line(error).replace(str(path), path.name)}"
    except OSError as error:
        return f"{path.name} cannot be read: {error.strerror}"
    return None


def _limits() -> dict[str, str]:
    """Memory for a question: half of the machine's, at most 4 GB. What does not fit goes to a temporary
    folder."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = min(memory // 2, 4 * 1000**3)
    try:
        folder = str(Path(tempfile.gettempdir()) / f"nsight-suite-{os.getpid()}")
    except FileNotFoundError:  # nothing can be written anywhere: then an answer must fit
        folder = ""
    return {"memory_limit": f"{limit // 1000**2}MB", "temp_directory": folder}


def _files(only: Collection[str] | None = None) -> list[str]:
    """The files of the tables, or of `only` some of them."""
    return [f"{name}.parquet" for name in tables() if only is None or name in only]


def _allow_only(
    connection: Connection, files: Iterable[str], folders: Iterable[Path], writes: Path | None = None
) -> None:
    """From here on SQL reads none but these files in these folders, and writes none but `writes`."""
    paths = [folder / file for folder in folders for file in files]
    allowed = [form for path in paths for form in sorted({str(path), not_a_pattern(path)})]
    lock(connection, [*allowed, str(writes)] if writes else allowed)


def lock(connection: Connection, allowed: Iterable[str] = ()) -> None:
    """From here on SQL reads and writes no file but `allowed` ones, and changes no setting."""
    paths = ", ".join(f"'{escaped(path)}'" for path in allowed)
    connection.execute(f"SET allowed_paths = [{paths}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _create_derived_views(connection: Connection, run: RunFolder) -> None:
    """`expected` from the run's own expected.sql, then the shared views."""
    create_shared_views(connection, run.expected if os.path.lexists(run.expected) else None)


def create_shared_views(
    connection: Connection, expected: Path | None = None, only: Collection[str] | None = None
) -> None:
    """`expected` from an SQL file, empty without one, and the shared views, or `only` some of them."""
    if expected:
        _create_expected(connection, expected)
    elif only is None or "expected" in only:
        columns = ", ".join(f"NULL::{kind} AS {name}" for name, kind in _DECLARED.items())
        connection.execute(f"CREATE VIEW expected AS SELECT {columns} WHERE false")
    wanted = shared_views().keys() if only is None else only & shared_views().keys()
    for view in in_order(wanted):
        # A view that is named as a column or a WITH table is, and that nothing here reads, may lack its tables.
        if view.name in wanted:
            connection.execute(view.statements)


def _create_expected(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """The view `expected` with its columns in their types, whatever integers the SQL counts in."""
    names = ", ".join(name for name in _DECLARED if name not in _UNDECLARED)
    way_out = f"It must be one SELECT over variant_case that gives {names}; see docs/adding-an-experiment.md."
    try:
        text = path.read_text(encoding="utf-8").strip().rstrip(";")
        if other := not_one_query(connection, text):
            raise UsageError(f"{path} holds {other}.", way_out)
        found = [row[0] for row in connection.execute(f"DESCRIBE {text}").fetchall()]
        if lacking := [name for name in _DECLARED if name not in {*found, *_UNDECLARED}]:
            raise UsageError(f"{path} lacks the column {', '.join(lacking)}.", way_out)
        columns = ", ".join(
            f"CAST({name if name in found else _UNDECLARED[name]} AS {kind}) AS {name}"
            for name, kind in _DECLARED.items()
        )
        connection.execute(f"CREATE VIEW expected AS SELECT {columns} FROM ({text}\n)")
    except OSError as error:
        raise SuiteError(f"{path} cannot be read: {error.strerror}.") from error
    except (duckdb.Error, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no query that DuckDB can answer: {first_line(error)}", way_out) from error


def _check_expected(connection: Connection, path: Path) -> None:
    """What expected.sql declares must be numbers, once for each case. A missing table is no fault of it."""
    if not os.path.lexists(path):
        return
    sql = f"SELECT {', '.join(_DECLARED)} FROM expected"
    try:
        rows = [dict(zip(_DECLARED, row, strict=True)) for row in connection.execute(sql).fetchall()]
    except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
        raise UsageError(f"{path} declares what is no whole number: {first_line(error)}", _CORRECT) from error
    except duckdb.Error:
        return
    seen: set[str] = set()
    for row in rows:
        case_id = row["case_id"]
        if case_id in seen:
            raise UsageError(f"{path} has more than one row for {case_id}.", _CORRECT)
        seen.add(case_id)
        for name, kind in _DECLARED.items():
            if row[name] is None and name in _UNDECLARED:
                raise UsageError(f"{path} declares no {name} for {case_id}.", _CORRECT)
            if kind == "BIGINT" and row[name] is not None and row[name] < 0:
                raise UsageError(f"{path} declares {row[name]} {name} for {case_id}.", _CORRECT)


def _refusing_view(table: Table, reason: str) -> str:
    """A view that nobody can read, in place of a table whose emptiness would be taken for an answer."""
    # Each column is another text that only a run can tell: of constants, or of columns that are all alike, the
    # optimizer may find that no row can pass a condition, and then reads nothing.
    columns = ", ".join(
        f"CAST(concat(never, '{column.name}') AS {column.type}) AS {quoted(column.name)}"
        for column in table.columns
    )
    refusal = escaped(_REFUSAL.format(table=table.name, reason=reason))
    return (
        f"CREATE VIEW {quoted(table.name)} AS SELECT {columns} FROM "
        f"(SELECT CASE WHEN random() >= 0 THEN error('{refusal}') ELSE '' END AS never) WHERE never IS NULL"
    )


def _create_table(table: Table) -> str:
    columns = ", ".join(f"{quoted(column.name)} {column.type}" for column in table.columns)
    return f"CREATE TABLE {quoted(table.name)} ({columns})"


def _comment(connection: Connection, table: Table) -> None:
    """Say of the view of a table, and of its columns, what they are."""
    statements = [f"COMMENT ON VIEW {quoted(table.name)} IS '{escaped(table.doc)}'"]
    for column in table.columns:
        name = f"{quoted(table.name)}.{quoted(column.name)}"
        statements.append(f"COMMENT ON COLUMN {name} IS '{escaped(column.doc)}'")
    connection.execute("; ".join(statements))
