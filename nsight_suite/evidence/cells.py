"""The texts in tables of any make and schema, SQLite or Parquet, read in bounded memory.

For who looks for something in files that nobody knows: each database has its tables, answers SQL, and gives the
texts of a table cell by cell.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import duckdb

from nsight_suite.errors import BadReport, first_line
from nsight_suite.evidence.journals import opened_apart
from nsight_suite.evidence.sqltext import not_a_pattern, quoted
from nsight_suite.evidence.store import bare_connection

_BATCH = 4096
# SQLite opens no file by a longer path (SQLITE_MAX_PATHLEN); some bytes are for -wal and -journal.
_LONGEST_PATH = 500
_STEPS = 200_000
_MEMORY = "400MB"

# Column, text, in how many rows.
Cell = tuple[str, str, int]


class Database(Protocol):
    """An open database. `tables` maps each table to its columns."""

    tables: Mapping[str, Sequence[str]]

    def texts(self, table: str, without: Sequence[str] = ()) -> Iterator[Cell]:
        """Every text in the table, but for those of the columns `without`."""

    def rows(self, sql: str) -> Iterator[tuple[Any, ...]]: ...


@contextmanager
def sqlite_cells(path: Path) -> Iterator[Database]:
    """An SQLite database, read only. SQLite's errors inside the block become BadReport."""
    try:
        with opened_apart(path) as (_, connection):
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            # SQLite's own loops hear Ctrl-C only here.
            connection.set_progress_handler(lambda: 0, _STEPS)
            yield _Sqlite(connection)
    except (
        UnicodeDecodeError
    ) as error:  # SQLite quotes the damaged schema in its message, and Python reads that
        raise BadReport(f"{path.name} is damaged: its schema is not text.") from error
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
            raise KeyboardInterrupt from error
        raise refusal(path, error) from error


def refusal(path: Path, error: sqlite3.Error) -> BadReport:
    """What SQLite's error over a file means."""
    if len(os.fsencode(path.resolve())) > _LONGEST_PATH:
        return BadReport(
            f"{path.name} cannot be opened: its path is longer than SQLite can take.",
            "Move it to a folder nearer to the root.",
        )
    return BadReport(
        f"{path.name} is damaged: {error}.", "Copy it again, or export the report again with nsys export."
    )


@contextmanager
def parquet_cells(files: Sequence[Path]) -> Iterator[Database]:
    """Parquet files, each a table named after it. DuckDB's errors inside the block become BadReport."""
    try:
        with bare_connection() as connection:
            connection.execute(f"SET memory_limit = '{_MEMORY}'; SET threads = 1")
            for file in files:
                connection.read_parquet(not_a_pattern(file)).create_view(file.stem)
            yield _Parquet(connection, [file.stem for file in files])
    except duckdb.Error as error:
        raise BadReport(f"{files[0].parent.name} cannot be read: {first_line(error)}") from error


class _Sqlite:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        ).fetchall()
        self.tables: Mapping[str, Sequence[str]] = {
            name: [row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (name,))]
            for (name,) in names
        }

    def texts(self, table: str, without: Sequence[str] = ()) -> Iterator[Cell]:
        columns = [column for column in self.tables[table] if column not in without]
        if not columns:
            return
        # Any column can hold text, whatever type it declares.
        cells = [
            f"CASE WHEN typeof({name}) IN ('text', 'blob') THEN {name} END" for name in map(quoted, columns)
        ]
        any_text = " OR ".join(f"typeof({name}) IN ('text', 'blob')" for name in map(quoted, columns))
        for row in self.rows(f"SELECT {', '.join(cells)} FROM {quoted(table)} WHERE {any_text}"):
            yield from ((column, _text(cell), 1) for column, cell in zip(columns, row, strict=True) if cell)

    def rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        yield from self._connection.execute(sql)


class _Parquet:
    def __init__(self, connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
        self._connection = connection
        described = {
            name: connection.execute(f"DESCRIBE SELECT * FROM {quoted(name)}").fetchall() for name in names
        }
        self.tables: Mapping[str, Sequence[str]] = {
            name: [row[0] for row in rows] for name, rows in described.items()
        }
        self._texts = {
            name: [row[0] for row in rows if row[1] not in _NO_TEXT] for name, rows in described.items()
        }

    def texts(self, table: str, without: Sequence[str] = ()) -> Iterator[Cell]:
        for column in self._texts[table]:
            if column not in without:
                name = quoted(column)
                sql = f"SELECT {name}, count(*) FROM {quoted(table)} WHERE {name} IS NOT NULL GROUP BY 1"
                yield from ((column, _text(cell), count) for cell, count in self.rows(sql))

    def rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            while batch := cursor.fetchmany(_BATCH):
                yield from batch


_NO_TEXT = frozenset(
    {
        *(
            "TINYINT",
            "SMALLINT",
            "INTEGER",
            "BIGINT",
            "HUGEINT",
            "UTINYINT",
            "USMALLINT",
            "UINTEGER",
            "UBIGINT",
        ),
        *("UHUGEINT", "FLOAT", "DOUBLE", "BOOLEAN", "TIMESTAMP", "DATE", "TIME"),
    }
)


def _text(cell: object) -> str:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
