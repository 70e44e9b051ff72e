"""Reading tables of an nsys export, whatever its version, without ever writing to it.

An export is an SQLite file or a folder of Parquet files. Tables and columns come and go with the version of
nsys, so they are looked for, never assumed; one that is missing becomes NULL of its type. DuckDB's own SQLite
extension must be downloaded, so cells come from the file's pages (sqlite_pages), or through SQLite where those
are unusual.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from nsight_suite.errors import BadReport, first_line
from nsight_suite.evidence.cells import refusal
from nsight_suite.evidence.journals import opened_apart
from nsight_suite.evidence.readers.sqlite_pages import Batch, Cells, Column, PageFile, Unusual
from nsight_suite.evidence.readers.whole import poured_as_read
from nsight_suite.evidence.sqltext import escaped, not_a_pattern, quoted
from nsight_suite.evidence.store import Connection, DatabaseError

_MAGIC = b"SQLite format 3\x00"
_VERSIONED = re.compile(r"(.*)_V([0-9]+)", re.IGNORECASE)
# What can be, where that is not all integers of 64 bits. Moments end at 146 years in ns, so that no difference
# of two overflows. What is unsigned and larger than all signed integers stands in SQLite as a negative one.
_MOMENT = (-(1 << 62), 1 << 62)
_BOUNDS: Mapping[str, tuple[int, int]] = {"start": _MOMENT, "end": _MOMENT, "uint64Value": (0, (1 << 63) - 1)}
# Types of Parquet columns whose every value is an integer of 64 bits.
_FITTING = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "UINTEGER", "USMALLINT", "UTINYINT")
# The types of columns that are read: INTEGER and TEXT of SQLite.
BIGINT, VARCHAR = "BIGINT", "VARCHAR"
Part = TypeVar("Part")
Columns = Mapping[str, str]


class Export(Protocol):
    """An nsys export that is open for reading."""

    @property
    def path(self) -> Path:
        """The file or folder."""

    def tables(self) -> Sequence[str]:
        """The names of all tables."""

    def columns_of(self, table: str) -> frozenset[str]:
        """The names of a table's columns; empty when there is no such table."""

    def rows(self, table: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """The rows of a small table, in their order; NULL for columns that it lacks."""

    def metadata(self, table: str) -> dict[str, list[str]]:
        """META_DATA_EXPORT or META_DATA_CAPTURE by name, in capitals. Names repeat, so each has a list."""

    def strings(self, ids: Iterable[int]) -> list[tuple[int, str]]:
        """The strings of these ids, in order; of an id that stands there twice, the first in the alphabet.

        No others are read: StringIds can hold the environment.
        """

    def ambiguous(self, ids: Iterable[int]) -> int:
        """How many of these ids stand for more than one string."""

    def size(self, table: str) -> int:
        """How many rows a table holds, or a little more."""

    def each(self, connection: Connection, table: str, columns: Columns, turn: Turn) -> int:
        """Run `turn.sql` over some hundred thousand rows of a table after the other, which it finds as `batch`.

        `batch` has the column `row`, the position in the table from 0, and all `columns`: NULL where the table
        lacks one or where a cell has another type. Returns how many such cells there are.
        """

    def mapped(
        self,
        table: str,
        columns: Columns,
        of: Callable[[Batch, int], Part],
        again: Callable[[], None] = lambda: None,
    ) -> list[Part]:
        """What `of` makes of each batch of a table, in their order. A batch has all columns; NULL is not valid.

        `again` is called where all of the table must be read once more, in another way.
        """

    def keep(self, connection: Connection, table: str, columns: Columns, needed: Collection[str]) -> None:
        """A table as the view `batch`, as long as the connection lasts. Columns that are not needed may be
        NULL."""


@dataclass(frozen=True)
class Turn:
    """What is done with each batch: `sql`, and `undo` for all of it when the table must be read another way.

    A batch holds at least `rows` rows, but for the last; `told` hears how many rows were read.
    """

    sql: str
    undo: str
    rows: int = 1
    told: Callable[[int], None] = lambda rows: None


def find(export: Export, table: str) -> str | None:
    """The export's name of a table: itself, else its highest version (TABLE_V2), whatever the letters' case."""
    names = {name.casefold(): name for name in export.tables()}
    if exact := names.get(table.casefold()):
        return exact
    versions = [
        (int(match[2]), name)
        for name in names.values()
        if (match := _VERSIONED.fullmatch(name)) and match[1].casefold() == table.casefold()
    ]
    return max(versions)[1] if versions else None


def strings_table(export: Export) -> str | None:
    """The export's name of StringIds, if it has the columns that matter."""
    table = find(export, "StringIds")
    return table if table and {"id", "value"} <= export.columns_of(table) else None


def _metadata(export: Export, table: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    there = find(export, table)
    if there and {"name", "value"} <= export.columns_of(there):
        for name, value in export.rows(there, ("name", "value")):
            found.setdefault(str(name).upper(), []).append(str(value))
    return found


def stage(
    connection: Connection,
    export: Export,
    table: str,
    into: str,
    columns: Columns,
    *,
    told: Callable[[int], None] = lambda rows: None,
) -> int:
    """Copy columns of an export's table, with its position as `row`, to the new table `into`.

    Returns how many cells had another type than their column: they are NULL.
    """
    declared = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
    connection.execute(f"CREATE TABLE {into} (row BIGINT, {declared})")
    names = ", ".join(f'"{name}"' for name in columns)
    turn = Turn(f"INSERT INTO {into} SELECT row, {names} FROM batch", f"DELETE FROM {into}", told=told)
    return export.each(connection, table, columns, turn)


@contextmanager
def open_export(path: Path) -> Iterator[Export]:
    """The export, an SQLite file or a folder of Parquet files, opened for reading only. Raises BadReport."""
    if path.is_dir():
        yield ParquetExport(path)
    else:
        with opened(path) as export:
            yield export


@contextmanager
def opened(path: Path) -> Iterator[SqliteExport]:
    """An export in SQLite, opened for reading only. SQLite's errors inside the block become BadReport."""
    check(path)
    try:
        with opened_apart(path) as (file, connection):
            # Names of kernels and ranges are text of foreign programs, not always UTF-8.
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield SqliteExport(file, connection)
    except (
        UnicodeDecodeError
    ) as error:  # SQLite quotes the damaged schema in its message, and Python reads that
        raise _damaged(path, "its schema is not text") from error
    except sqlite3.Error as error:
        raise refusal(path, error) from error


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
    if len(header) < 100:
        raise BadReport(
            f"{path.name} is truncated: it ends within its first 100 bytes.",
            "Copy it again, or export the report again with nsys export.",
        )
    page = int.from_bytes(header[16:18], "big")
    page_size = 65536 if page == 1 else page
    pages = int.from_bytes(header[28:32], "big")
    # The page count is valid only when it was written with the change counter (SQLite file format, 1.3.7).
    counted = header[24:28] == header[92:96]
    if page_size < 512 or (counted and size < pages * page_size):
        raise BadReport(
            f"{path.name} is truncated: it holds {size} of {pages * page_size} bytes.",
            "Copy it again, or export the report again with nsys export.",
        )


@dataclass
class SqliteExport:
    """An export in SQLite."""

    path: Path
    connection: sqlite3.Connection
    _unusual: set[str] = field(default_factory=set)

    def tables(self) -> Sequence[str]:
        found = self.connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        return [row[0] for row in found]

    def columns_of(self, table: str) -> frozenset[str]:
        found = self.connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return frozenset(row[0] for row in found)

    def rows(self, table: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        present = self.columns_of(table)
        if not present:
            return []
        names = ", ".join(quoted(name) if name in present else "NULL" for name in columns)
        return self.connection.execute(f"SELECT {names} FROM {quoted(table)}").fetchall()

    def metadata(self, table: str) -> dict[str, list[str]]:
        return _metadata(self, table)

    def strings(self, ids: Iterable[int]) -> list[tuple[int, str]]:
        if (table := strings_table(self)) is None:
            return []
        found = f"SELECT CAST(id AS INTEGER), min(value) {self._used(table)} GROUP BY id ORDER BY 1"
        return self.connection.execute(found, (json.dumps(sorted(set(ids))),)).fetchall()

    def ambiguous(self, ids: Iterable[int]) -> int:
        if (table := strings_table(self)) is None:
            return 0
        twice = f"SELECT 1 {self._used(table)} GROUP BY id HAVING count(DISTINCT value) > 1"
        found = self.connection.execute(f"SELECT count(*) FROM ({twice})", (json.dumps(sorted(set(ids))),))
        return int(found.fetchone()[0])

    def _used(self, table: str) -> str:
        wanted = "id IN (SELECT value FROM json_each(?))"
        return f"FROM {quoted(table)} WHERE {wanted} AND typeof(value) = 'text'"

    def size(self, table: str) -> int:
        try:
            found = self.connection.execute(f"SELECT max(rowid) FROM {quoted(table)}").fetchone()[0] or 0
            # A row takes six bytes of the file at least, whatever the highest rowid says.
            return max(0, min(found, self.path.stat().st_size // 6))
        except sqlite3.OperationalError:  # a view, or a table without rowids
            return int(self.connection.execute(f"SELECT count(*) FROM {quoted(table)}").fetchone()[0])

    def each(self, connection: Connection, table: str, columns: Columns, turn: Turn) -> int:
        present = self.columns_of(table)
        if not present:
            return 0
        # A table that has none of the columns still has its rows.
        found = {name: kind for name, kind in columns.items() if name in present} or {min(present): BIGINT}
        if table not in self._unusual:
            try:
                return _run(connection, self._pages(table, found), columns, turn)
            except Unusual:
                connection.execute(turn.undo)
                self._unusual.add(table)
        return _run(connection, self._cursor(table, found), columns, turn)

    def keep(self, connection: Connection, table: str, columns: Columns, needed: Collection[str]) -> None:
        present = self.columns_of(table)
        read = {name: kind for name, kind in columns.items() if name in present and name in needed}
        _keep(connection, self._whole(table, read or {min(present): BIGINT}), columns)

    def mapped(
        self,
        table: str,
        columns: Columns,
        of: Callable[[Batch, int], Part],
        again: Callable[[], None] = lambda: None,
    ) -> list[Part]:
        present = self.columns_of(table)
        if not present:
            return []
        read = {name: kind for name, kind in columns.items() if name in present} or {min(present): BIGINT}
        with suppress(Unusual):
            return list(_mapped(self._pages(table, read), columns, of))
        again()
        return list(_mapped(self._cursor(table, read), columns, of))

    def _whole(self, table: str, columns: Columns) -> Batch:
        """Columns of whole numbers from end to end."""
        rows = self.size(table)
        with suppress(Unusual):
            return poured_as_read(self._pages(table, columns), columns, rows)
        return poured_as_read(self._cursor(table, columns), columns, rows)

    def _pages(self, table: str, columns: Columns) -> Iterator[Batch]:
        # Generated columns hold no cell of their own, and an integer primary key lies in the row's number.
        info = self.connection.execute(
            "SELECT name, hidden, pk > 0 AND upper(type) = 'INTEGER', dflt_value, upper(type) LIKE '%INT%' "
            "FROM pragma_table_xinfo(?)",
            (table,),
        ).fetchall()
        root = self.connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone()
        names = [row[0] for row in info]
        if not root or not root[0] or any(row[1] or (row[2] and row[0] in columns) or row[3] for row in info):
            raise Unusual("not a plain table")
        # Only in columns that are declared so does SQLite keep every number as an integer.
        if any(columns.get(row[0]) == BIGINT and not row[4] for row in info):
            raise Unusual("numbers in a column of another type")
        wanted = [Column(name, names.index(name), kind == VARCHAR) for name, kind in columns.items()]
        select = f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(table)} WHERE rowid = ?"

        def fetch(rowid: int) -> Sequence[object]:
            row = self.connection.execute(select, (rowid,)).fetchone()
            if row is None:
                raise Unusual("a row that SQLite does not find")
            return tuple(row)

        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            yield from map(_possible, PageFile.opened(descriptor).batches(root[0], wanted, fetch))
        finally:
            os.close(descriptor)

    def _cursor(self, table: str, columns: Columns) -> Iterator[Batch]:
        if not columns:
            return
        cursor = self.connection.execute(f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(table)}")
        while rows := cursor.fetchmany(50_000):
            yield _possible(
                {
                    name: _cells(values, kind)
                    for (name, kind), values in zip(columns.items(), zip(*rows, strict=True), strict=True)
                }
            )


@dataclass(frozen=True)
class ParquetExport:
    """An export as a folder of Parquet files, one per table: `nsys export --type parquetdir`."""

    path: Path

    def tables(self) -> Sequence[str]:
        return sorted(file.stem for file in self.path.glob("*.parquet"))

    def columns_of(self, table: str) -> frozenset[str]:
        return frozenset(self._types(table))

    def rows(self, table: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        types = self._types(table)
        names = ", ".join(quoted(name) if name in types else "NULL" for name in columns)
        return self._ask(f"SELECT {names} FROM {self._source(table)}") if types else []

    def metadata(self, table: str) -> dict[str, list[str]]:
        return _metadata(self, table)

    def strings(self, ids: Iterable[int]) -> list[tuple[int, str]]:
        if (table := strings_table(self)) is None:
            return []
        first = "min(CAST(s.value AS VARCHAR))"
        return self._ask(f"SELECT wanted.id, {first} {self._used(table, ids)} GROUP BY 1 ORDER BY 1")

    def ambiguous(self, ids: Iterable[int]) -> int:
        if (table := strings_table(self)) is None:
            return 0
        twice = f"SELECT 1 {self._used(table, ids)} GROUP BY wanted.id HAVING count(DISTINCT s.value) > 1"
        return int(self._ask(f"SELECT count(*) FROM ({twice})")[0][0])

    def _used(self, table: str, ids: Iterable[int]) -> str:
        wanted = f"SELECT unnest(from_json('{json.dumps(sorted(set(ids)))}', '[\"BIGINT\"]')) AS id"
        matching = "wanted.id = TRY_CAST(s.id AS BIGINT) WHERE s.value IS NOT NULL"
        return f"FROM {self._source(table)} AS s JOIN ({wanted}) AS wanted ON {matching}"

    def size(self, table: str) -> int:
        (count,) = self._ask(f"SELECT count(*) FROM {self._source(table)}")[0]
        return int(count)

    def each(self, connection: Connection, table: str, columns: Columns, turn: Turn) -> int:
        if not self._types(table):
            return 0
        self._view(connection, table, columns)
        try:
            connection.execute(turn.sql)
        except DatabaseError as error:
            raise _damaged(self.path, f"table {table}: {first_line(error)}") from error
        finally:
            connection.execute("DROP VIEW batch")
        turn.told(self.size(table))
        return self._odd(table, columns)

    def keep(self, connection: Connection, table: str, columns: Columns, needed: Collection[str]) -> None:
        # Read now: once a question is asked, no file can be.
        read = {name: kind for name, kind in columns.items() if name in needed}
        try:
            connection.execute(f"CREATE OR REPLACE TEMP TABLE batch_cells AS {self._select(table, read)}")
        except DatabaseError as error:
            raise _damaged(self.path, f"table {table}: {first_line(error)}") from error
        _show(connection, read, columns, "batch_cells")

    def mapped(
        self,
        table: str,
        columns: Columns,
        of: Callable[[Batch, int], Part],
        again: Callable[[], None] = lambda: None,
    ) -> list[Part]:
        from nsight_suite.evidence.store import bare_connection

        if not self._types(table):
            return []
        try:
            with bare_connection() as connection:
                self._view(connection, table, columns)
                names = ", ".join(f'"{name}"' for name in columns)
                found = connection.execute(f"SELECT {names} FROM batch ORDER BY row").fetchnumpy()
        except DatabaseError as error:
            raise _damaged(self.path, f"table {table}: {first_line(error)}") from error
        return [of({name: _cells_of_array(found[name], kind) for name, kind in columns.items()}, 0)]

    def _view(self, connection: Connection, table: str, columns: Columns) -> None:
        connection.execute(f"CREATE OR REPLACE TEMP VIEW batch AS {self._select(table, columns)}")

    def _select(self, table: str, columns: Columns) -> str:
        types = self._types(table)
        cells = [
            f'{_cast(name, types[name], kind)} AS "{name}"'
            if name in types
            else f'CAST(NULL AS {kind}) AS "{name}"'
            for name, kind in columns.items()
        ]
        source = self._source(table, "file_row_number = true")
        return f"SELECT {', '.join(['file_row_number AS row', *cells])} FROM {source}"

    def _odd(self, table: str, columns: Columns) -> int:
        """How many cells are no value of their column's type; columns of a type that always fits are not
        looked at."""
        types = self._types(table)
        doubtful = [
            f"""count("{name}") - count({_cast(name, types[name], kind)})"""
            for name, kind in columns.items()
            if name in types
            and (name in _BOUNDS or types[name] not in (_FITTING if kind == BIGINT else ("VARCHAR",)))
        ]
        if not doubtful:
            return 0
        return int(self._ask(f"SELECT {' + '.join(doubtful)} FROM {self._source(table)}")[0][0])

    def _types(self, table: str) -> Mapping[str, str]:
        file = self.path / f"{table}.parquet"
        if not file.is_file():
            if os.path.lexists(file):
                raise _damaged(self.path, f"{file.name} is no file")
            return {}
        return {row[0]: row[1] for row in self._ask(f"DESCRIBE FROM {self._source(table)}")}

    def _source(self, table: str, *options: str) -> str:
        pattern = escaped(not_a_pattern(self.path / f"{table}.parquet"))
        # Not every writer says of its strings that they are text; and a folder's name (a=1) is no column.
        plain = ("binary_as_string = true", "hive_partitioning = false")
        return "read_parquet(" + ", ".join([f"'{pattern}'", *plain, *options]) + ")"

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        from nsight_suite.evidence.store import bare_connection

        try:
            with bare_connection() as connection:
                return connection.execute(sql).fetchall()
        except DatabaseError as error:
            raise _damaged(self.path, first_line(error)) from error


def _cast(name: str, found: str, kind: str) -> str:
    """SQL for a column of the type `found` as `kind`: NULL for what is none. A cast alone would round
    fractions."""
    cast = f'TRY_CAST("{name}" AS {kind})'
    if kind == BIGINT and found.startswith("TIMESTAMP"):
        # Counted from 1970, which other programs make of 0 when they give moments a type of their own.
        cast = f'TRY(epoch_ns("{name}"))'
    elif kind == BIGINT and found == "BOOLEAN":
        cast = f"CAST(NULL AS {kind})"
    if kind == BIGINT and found.startswith(("DOUBLE", "FLOAT", "DECIMAL")):
        cast = f'CASE WHEN "{name}" = floor("{name}") THEN {cast} END'
    if name in _BOUNDS:
        first, last = _BOUNDS[name]
        return f"CASE WHEN {cast} BETWEEN {first} AND {last} THEN {cast} END"
    return cast


def _run(connection: Connection, batches: Iterator[Batch], columns: Columns, turn: Turn) -> int:
    first = odd = 0
    with closing(batches):  # type: ignore[type-var]
        for batch in _gathered(batches, turn.rows):
            count = len(next(iter(batch.values())).values)
            names = _register(connection, batch, columns, first, count)
            try:
                connection.execute(turn.sql)
            finally:
                connection.execute("DROP VIEW batch")
                for name in names:
                    connection.unregister(name)
            first += count
            odd += sum(cells.odd for cells in batch.values())
            turn.told(count)
    return odd


def _keep(connection: Connection, batch: Batch, columns: Columns) -> None:
    """A batch of whole numbers as the view `batch`."""
    connection.register("batch_cells", {name: _array(cells) for name, cells in batch.items()})
    _show(connection, batch, columns, "batch_cells", "row_number() OVER () - 1 AS row")


def _show(
    connection: Connection, read: Collection[str], columns: Columns, source: str, row: str = "row"
) -> None:
    """The view `batch` of all columns, of which `source` has those that were read."""
    cells = [
        quoted(name) if name in read else f"CAST(NULL AS {kind}) AS {quoted(name)}"
        for name, kind in columns.items()
    ]
    connection.execute(f"CREATE OR REPLACE TEMP VIEW batch AS SELECT {', '.join([row, *cells])} FROM {source}")


def _array(cells: Cells) -> Any:
    return cells.values if cells.valid is None else np.ma.MaskedArray(cells.values, ~cells.valid)


def _register(connection: Connection, batch: Batch, columns: Columns, first: int, count: int) -> list[str]:
    """The batch as the view `batch`; returns the names of what it stands on, to be unregistered behind it."""
    arrays: dict[str, Any] = {"row": np.arange(first, first + count, dtype=np.int64)}
    select, joins, names = ["row"], [], ["batch_cells"]
    for number, (name, kind) in enumerate(columns.items()):
        if (cells := batch.get(name)) is None or (kind == VARCHAR and not cells.texts):
            select.append(f'CAST(NULL AS {kind}) AS "{name}"')
            continue
        arrays[name] = _array(cells)
        if kind == BIGINT:
            select.append(f'batch_cells."{name}"')
            continue
        texts = f"batch_texts_{number}"
        decoded = np.array([text.decode("utf-8", "replace") for text in cells.texts], dtype=object)
        connection.register(texts, {"code": np.arange(len(decoded), dtype=np.int64), "text": decoded})
        names.append(texts)
        select.append(f'{texts}.text AS "{name}"')
        joins.append(f'LEFT JOIN {texts} ON {texts}.code = batch_cells."{name}"')
    connection.register("batch_cells", arrays)
    connection.execute(
        f"CREATE TEMP VIEW batch AS SELECT {', '.join(select)} FROM batch_cells {' '.join(joins)}"
    )
    return names


def _mapped(batches: Iterator[Batch], columns: Columns, of: Callable[[Batch, int], Part]) -> Iterator[Part]:
    first = 0
    for batch in batches:
        yield of(_completed(batch, columns), first)
        first += len(next(iter(batch.values())).values)


def _completed(batch: Batch, columns: Columns) -> Batch:
    """The batch with all columns; those that the table lacks hold no value."""
    rows = len(next(iter(batch.values())).values)
    if not columns.keys() - batch.keys():
        return batch
    nothing = Cells(np.zeros(rows, np.int64), np.zeros(rows, np.bool_))
    return {name: batch.get(name, nothing) for name in columns}


def _gathered(batches: Iterator[Batch], rows: int) -> Iterator[Batch]:
    """Batches put together until each holds at least so many rows; only integers are put together."""
    waiting: list[Batch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += len(next(iter(batch.values())).values)
        if count >= rows:
            yield _together(waiting)
            waiting, count = [], 0
    if waiting:
        yield _together(waiting)


def _together(batches: Sequence[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    return {name: _joined([batch[name] for batch in batches]) for name in batches[0]}


def _joined(parts: Sequence[Cells]) -> Cells:
    offsets = np.cumsum([0, *(len(part.texts) for part in parts)])
    values = np.concatenate([part.values + offset for part, offset in zip(parts, offsets, strict=False)])
    valid = None
    if any(part.valid is not None for part in parts):
        ones: Callable[[Cells], Any] = lambda part: np.ones(len(part.values), np.bool_)  # noqa: E731
        valid = np.concatenate([ones(part) if part.valid is None else part.valid for part in parts])
    return Cells(values, valid, tuple(text for part in parts for text in part.texts), sum(p.odd for p in parts))


def _cells(values: Sequence[object], kind: str) -> Cells:
    """Cells as SQLite gives them. A number is one also where its column made a float or a text of it."""
    if kind == BIGINT:
        values = [_whole_number(value) if isinstance(value, float | str) else value for value in values]
    fits = [isinstance(value, int if kind == BIGINT else str) for value in values]
    odd = sum(value is not None and not fit for value, fit in zip(values, fits, strict=True))
    valid = None if all(fits) else np.array(fits, np.bool_)
    if kind == BIGINT:
        numbers = [value if fit else 0 for value, fit in zip(values, fits, strict=True)]
        return Cells(np.array(numbers, np.int64), valid, odd=odd)
    codes: dict[str, int] = {}
    found = [
        codes.setdefault(str(value), len(codes)) if fit else 0 for value, fit in zip(values, fits, strict=True)
    ]
    texts = tuple(text.encode("utf-8", "surrogateescape") for text in codes)
    return Cells(np.array(found, np.int64), valid, texts, odd)


def _possible(batch: Batch) -> Batch:
    """The batch without numbers that cannot be: these are cells of no value."""
    found = dict(batch)
    for name, (first, last) in _BOUNDS.items():
        cells = batch.get(name)
        if cells is None or not len(cells.values):
            continue
        if cells.values.min() >= first and cells.values.max() <= last:
            continue
        there = np.ones(len(cells.values), np.bool_) if cells.valid is None else cells.valid
        fits = (cells.values >= first) & (cells.values <= last)
        odd = cells.odd + int(np.count_nonzero(there & ~fits))
        found[name] = Cells(np.where(fits, cells.values, 0), there & fits, odd=odd)
    return found


def _whole_number(value: float | str) -> object:
    """The integer of 64 bits that a float or a text is; else the value itself."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2.0**63 else value
    if re.fullmatch(r"-?[0-9]{1,19}", value) and -(2**63) <= (number := int(value)) < 2**63:
        return number
    return value


def _cells_of_array(values: Any, kind: str) -> Cells:
    """Cells as DuckDB gives them."""
    missing = np.ma.getmaskarray(values)
    if kind == VARCHAR:
        return _cells([None if gone else text for text, gone in zip(values, missing, strict=True)], kind)
    numbers = np.ma.filled(values, 0).astype(np.int64)
    return Cells(numbers, ~missing if missing.any() else None)


def _damaged(path: Path, reason: str) -> BadReport:
    return BadReport(
        f"{path.name} is damaged: {reason}.", "Copy it again, or export the report again with nsys export."
    )
