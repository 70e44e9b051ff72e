"""Reading tables of an nsys SQLite export, whatever its version, without ever writing to it.

Columns come and go with the version of nsys: they are probed, and one that is missing becomes NULL of its type.
DuckDB's own SQLite extension must be downloaded, so rows come through Apache Arrow's driver for SQLite.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nsight_suite.errors import BadReport, first_line
from nsight_suite.evidence.store import Connection, DatabaseError

_MAGIC = b"SQLite format 3\x00"
_BATCH_ROWS = 65536


def check(path: Path) -> None:
    """Raise BadReport unless the file is a whole SQLite database."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
        size = path.stat().st_size
    except OSError as error:
        raise BadReport(f"{path.name} cannot be read: {error.strerror}.") from error
    if not header:
        raise BadReport(f"{path.name} is empty.", "Export the report again with nsys export.")
    if not header.startswith(_MAGIC):
        raise BadReport(
            f"{path.name} is not an SQLite database.",
            "If it is an .nsys-rep, run: nsys export --type sqlite --output NAME.sqlite NAME.nsys-rep",
        )
    page = int.from_bytes(header[16:18], "big")
    page_size = 65536 if page == 1 else page
    pages = int.from_bytes(header[28:32], "big")
    # The page count is valid only when it was written with the change counter (SQLite file format, 1.3.7).
    if header[24:28] == header[92:96] and size < pages * page_size:
        raise BadReport(
            f"{path.name} is truncated: it holds {size} of {pages * page_size} bytes.",
            "Copy it again, or export the report again with nsys export.",
        )


@dataclass(frozen=True)
class Export:
    """An export that is open for reading."""

    path: Path
    connection: sqlite3.Connection

    def columns_of(self, table: str) -> frozenset[str]:
        """The names of a table's columns; empty when there is no such table."""
        found = self.connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return frozenset(row[0] for row in found)

    def metadata(self, table: str) -> dict[str, list[str]]:
        """The name/value rows of META_DATA_EXPORT or META_DATA_CAPTURE. Names repeat, so each has a list."""
        found: dict[str, list[str]] = {}
        if {"name", "value"} <= self.columns_of(table):
            for name, value in self.connection.execute(f'SELECT name, value FROM "{table}" ORDER BY rowid'):
                found.setdefault(str(name), []).append(str(value))
        return found

    def strings(self, ids: Iterable[int]) -> list[tuple[int, str]]:
        """The strings of these ids, in order. No others are read: StringIds can hold the environment."""
        if not {"id", "value"} <= self.columns_of("StringIds"):
            return []
        return self.connection.execute(
            "SELECT id, value FROM StringIds WHERE id IN (SELECT value FROM json_each(?)) "
            "AND typeof(value) = 'text' ORDER BY id",
            (json.dumps(sorted(set(ids))),),
        ).fetchall()


@contextmanager
def opened(path: Path) -> Iterator[Export]:
    """The export, opened for reading only. SQLite's errors inside the block become BadReport."""
    check(path)
    try:
        with closing(sqlite3.connect(_uri(path), uri=True)) as connection:
            # Names of kernels and ranges are text of foreign programs, not always UTF-8.
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield Export(path, connection)
    except sqlite3.Error as error:
        raise _damaged(path, str(error)) from error


def stage(connection: Connection, export: Export, table: str, into: str, columns: Mapping[str, str]) -> bool:
    """Copy columns of an export's table, with its rowid as `row`, to the new table `into`.

    `columns` maps each wanted column to BIGINT or VARCHAR. Returns whether every cell had its column's type:
    a cell of another type becomes NULL.
    """
    present = export.columns_of(table)
    found = {name: kind for name, kind in columns.items() if name in present}
    select = ", ".join(
        f'"{name}"' if name in found else f'CAST(NULL AS {kind}) AS "{name}"' for name, kind in columns.items()
    )
    if not present:
        connection.execute(f"CREATE TABLE {into} AS SELECT CAST(NULL AS BIGINT) AS row, {select} WHERE false")
        return True
    try:
        with _arrow_stream(export.path, _typed_rows(table, found, guarded=False)) as stream:
            _keep(connection, stream, into, select)
        if _types(connection, into).items() >= found.items():
            return True
    except DatabaseError:
        pass  # some cell is not of its column's type: SQLite allows that, Arrow does not
    connection.execute(f"DROP TABLE IF EXISTS {into}")
    try:
        with _arrow_stream(export.path, _typed_rows(table, found, guarded=True)) as stream:
            _keep(connection, stream, into, select)
    except DatabaseError as error:
        raise _damaged(export.path, f"table {table}: {first_line(error)}") from error
    return False


def _keep(connection: Connection, stream: Any, into: str, select: str) -> None:
    assert stream is not None  # DuckDB finds the stream by its variable's name
    connection.execute(f'CREATE TABLE {into} AS SELECT "row", {select} FROM stream OFFSET 1')


def _types(connection: Connection, table: str) -> dict[str, str]:
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE {table}").fetchall()}


def _typed_rows(table: str, columns: Mapping[str, str], *, guarded: bool) -> str:
    """SQL whose first row holds a sample of each type, to be dropped again.

    The driver takes the type of a column from the first rows, which may all be NULL.
    """
    samples = "".join(f', {_SAMPLE[kind]} AS "{name}"' for name, kind in columns.items())
    cells = "".join(
        f', CASE WHEN typeof("{name}") = \'{_STORAGE[kind]}\' THEN "{name}" END' if guarded else f', "{name}"'
        for name, kind in columns.items()
    )
    return f'SELECT -1 AS "row"{samples} UNION ALL SELECT rowid{cells} FROM "{table}"'


_SAMPLE = {"BIGINT": "0", "VARCHAR": "''"}
_STORAGE = {"BIGINT": "integer", "VARCHAR": "text"}


@contextmanager
def _arrow_stream(path: Path, sql: str) -> Iterator[Any]:
    import adbc_driver_manager
    import adbc_driver_sqlite

    try:
        with (
            adbc_driver_sqlite.connect(_uri(path)) as database,
            adbc_driver_manager.AdbcConnection(database) as connection,
            adbc_driver_manager.AdbcStatement(connection) as statement,
        ):
            statement.set_options(**{adbc_driver_sqlite.StatementOptions.BATCH_ROWS.value: str(_BATCH_ROWS)})
            statement.set_sql_query(sql)
            stream, _ = statement.execute_query()
            yield stream
            del stream
    except adbc_driver_manager.Error as error:
        raise _damaged(path, first_line(error)) from error


def _damaged(path: Path, reason: str) -> BadReport:
    return BadReport(
        f"{path.name} is damaged: {reason}.", "Copy it again, or export the report again with nsys export."
    )


def _uri(path: Path) -> str:
    # Without a journal beside it nothing else writes to the file and SQLite needs no lock, so that a folder
    # without permission to write will do.
    busy = any(path.with_name(path.name + suffix).exists() for suffix in ("-wal", "-journal"))
    return f"file:{quote(str(path.resolve()))}?mode=ro" + ("" if busy else "&immutable=1")
