"""Cells decoded from a database's pages are those of SQLite; damaged files are read alike or refused."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nsight_suite.errors import BadReport
from nsight_suite.evidence.readers import sqlite_pages
from nsight_suite.evidence.readers.nsys_export import BIGINT, VARCHAR, SqliteExport, opened
from nsight_suite.evidence.readers.sqlite_pages import Batch

DATA = Path(__file__).parent / "data"
# Widths of an integer on disk, each with its edges.
EDGES = [
    0,
    1,
    -1,
    *(sign * (2**bits + step) for bits in (7, 15, 23, 31, 47) for sign in (1, -1) for step in (-1, 0)),
]
INTEGERS = st.sampled_from([*EDGES, 2**63 - 1, -(2**63)]) | st.integers(-(2**63), 2**63 - 1)
# Lengths around those at which a text's header grows, and some that do not fit any page.
TEXTS = st.text(max_size=20) | st.sampled_from([0, 1, 7, 8, 9, 16, 57, 58, 113, 114, 300, 9000]).map(
    "é".__mul__
)
ODD = st.floats(allow_nan=False).filter(lambda value: not value.is_integer()) | st.binary(max_size=12)
CELLS = {
    "INTEGER": st.none() | INTEGERS | st.integers(0, 300),
    "TEXT": st.none() | TEXTS,
    "odd INTEGER": INTEGERS | ODD | st.just("oops"),
    "odd TEXT": TEXTS | st.binary(max_size=12),
}
PAGE_SIZES = [512, 1024, 4096, 65536]


@dataclass(frozen=True)
class Table:
    """A table `t`: its database's pages, its columns by name and type, and its rows by their rowids."""

    page_size: int
    vacuum: int
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[int, tuple[Any, ...]], ...]
    added: str
    deleted: int

    def write(self, path: Path, rest: str = "") -> None:
        names = ", ".join(f'"{name}" {kind.removeprefix("odd ")}' for name, kind in self.columns)
        with closing(sqlite3.connect(path)) as database:
            database.execute(f"PRAGMA page_size = {self.page_size}")
            database.execute(f"PRAGMA auto_vacuum = {self.vacuum}")
            database.execute("CREATE TABLE other (a INTEGER, b TEXT)")
            database.execute(f"CREATE TABLE t ({names}) {rest}")
            marks = ", ".join("?" * (len(self.columns) + (not rest)))
            into = ", ".join([*(() if rest else ("rowid",)), *(f'"{name}"' for name, _ in self.columns)])
            for rowid, cells in self.rows:
                database.execute(
                    f"INSERT OR REPLACE INTO t ({into}) VALUES ({marks})", cells if rest else (rowid, *cells)
                )
                # Pages of another table lie between.
                database.execute("INSERT INTO other VALUES (?, ?)", (rowid, "x" * 100))
            if self.added:
                database.execute(f"ALTER TABLE t ADD COLUMN added {self.added}")
            if self.deleted:
                database.execute(
                    f"DELETE FROM t WHERE rowid % {self.deleted} = 0" if not rest else "DELETE FROM other"
                )
            database.commit()


@st.composite
def plain_tables(draw: st.DrawFn, most_rows: int = 60) -> Table:
    kinds = draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=5))
    columns = tuple((f"c{number}", kind) for number, kind in enumerate(kinds))
    rows = st.tuples(*(CELLS[kind] for kind in kinds))
    few = draw(st.lists(rows, max_size=8))
    rowids = draw(
        st.sampled_from([range(1, 10**9), range(-30, 10**9), range(0, 10**9, 1000), range(2**62, 2**63 - 9)])
    )
    again = draw(st.integers(1, most_rows))
    return Table(
        page_size=draw(st.sampled_from(PAGE_SIZES)),
        vacuum=draw(st.sampled_from([0, 1, 2])),
        columns=columns,
        rows=tuple(zip(rowids, few * again, strict=False)),
        added=draw(st.sampled_from(["", "INTEGER", "TEXT", "INTEGER DEFAULT 7"])),
        deleted=draw(st.sampled_from([0, 2, 3])),
    )


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def told_by_sqlite(path: Path, columns: dict[str, str]) -> list[tuple[Any, ...]]:
    """Rows as SQLite gives them; None where a cell has another type than its column."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        names = ", ".join(f'"{name}"' for name in columns)
        rows = database.execute(f"SELECT {names} FROM t").fetchall()
    fits = [int if kind == BIGINT else str for kind in columns.values()]
    return [tuple(c if isinstance(c, fit) else None for c, fit in zip(row, fits, strict=True)) for row in rows]


def told(batch: Batch, columns: dict[str, str]) -> list[tuple[Any, ...]]:
    listed = []
    for name, kind in columns.items():
        cells = batch[name]
        valid = np.ones(len(cells.values), np.bool_) if cells.valid is None else cells.valid
        texts = [text.decode("utf-8", "replace") for text in cells.texts]
        listed.append(
            [
                None if not there else texts[value] if kind == VARCHAR else value
                for value, there in zip(cells.values.tolist(), valid.tolist(), strict=True)
            ]
        )
    return list(zip(*listed, strict=True))


def columns_of(export: SqliteExport) -> dict[str, str]:
    """The columns of `t`, in an order of its own, with the type to read each as."""
    with closing(sqlite3.connect(export.path)) as database:
        info = database.execute("SELECT name, type FROM pragma_table_info('t')").fetchall()
    return {name: VARCHAR if kind == "TEXT" else BIGINT for name, kind in reversed(info)}


def read_rows(export: SqliteExport, columns: dict[str, str]) -> list[tuple[Any, ...]]:
    batches = export.mapped("t", columns, lambda batch, first: told(batch, columns))
    return [row for rows in batches for row in rows]


def by_pages(export: SqliteExport, columns: dict[str, str]) -> list[tuple[Any, ...]]:
    return [row for batch in export._pages("t", columns) for row in told(batch, columns)]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(plain_tables())
@example(Table(512, 0, (("a", "INTEGER"),), (), "", 0))
@example(Table(512, 0, tuple((f"c{n}", "TEXT") for n in range(140)), ((1, ("x",) * 140),), "", 0))
def test_plain_tables_come_from_their_pages_as_sqlite_gives_them(table: Table) -> None:
    with folder() as here:
        table.write(here / "t.sqlite")
        with opened(here / "t.sqlite") as export:
            columns = columns_of(export)
            right = told_by_sqlite(export.path, columns)
            if table.added != "INTEGER DEFAULT 7":  # which rows do not hold
                assert by_pages(export, columns) == right
            assert read_rows(export, columns) == right


@settings(max_examples=8, deadline=None, derandomize=True)
@given(plain_tables(most_rows=2000), st.sampled_from([3, 7, 1000]))
def test_batches_of_any_number_of_pages_give_the_same(table: Table, pages: int) -> None:
    with folder() as here, pytest.MonkeyPatch.context() as patched:
        patched.setattr(sqlite_pages, "_PAGES_AT_ONCE", pages)
        table.write(here / "t.sqlite")
        with opened(here / "t.sqlite") as export:
            columns = columns_of(export)
            assert read_rows(export, columns) == told_by_sqlite(export.path, columns)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(plain_tables(), st.data())
def test_cells_of_another_type_are_counted(table: Table, data: st.DataObject) -> None:
    with folder() as here:
        table.write(here / "t.sqlite")
        with opened(here / "t.sqlite") as export, closing(sqlite3.connect(export.path)) as database:
            columns = columns_of(export)
            batches = export.mapped("t", columns, lambda batch, first: batch)
            for name, kind in columns.items():
                wanted = "text" if kind == VARCHAR else "integer"
                sql = f"SELECT count(*) FROM t WHERE typeof({name}) NOT IN ('null', '{wanted}')"
                assert sum(batch[name].odd for batch in batches) == database.execute(sql).fetchone()[0]


# What is not plain: SQLite is asked, and whoever reads does not notice.
UNUSUAL: dict[str, Callable[[Path], None]] = {}


def unusual(write: Callable[[Path], None]) -> Callable[[Path], None]:
    UNUSUAL[write.__name__.strip("_")] = write
    return write


def _run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.executemany("INSERT INTO t (a, b) VALUES (?, ?)", [(n, f"text {n}") for n in range(500)])
        database.commit()


@unusual
def _integer_primary_key(path: Path) -> None:
    _run(path, "CREATE TABLE t (b TEXT, a INTEGER PRIMARY KEY)")


@unusual
def _without_rowid(path: Path) -> None:
    _run(path, "CREATE TABLE t (b TEXT, a INT PRIMARY KEY) WITHOUT ROWID")


@unusual
def _write_ahead_log(path: Path) -> None:
    _run(path, "PRAGMA journal_mode = wal", "CREATE TABLE t (a INTEGER, b TEXT)")


@unusual
def _utf_16(path: Path) -> None:
    _run(path, "PRAGMA encoding = 'UTF-16'", "CREATE TABLE t (a INTEGER, b TEXT)")


@unusual
def _generated_column(path: Path) -> None:
    _run(path, "CREATE TABLE t (a INTEGER, twice INTEGER AS (a * 2), b TEXT)")


@unusual
def _default(path: Path) -> None:
    _run(path, "CREATE TABLE t (a INTEGER, b TEXT)")
    _run(path, "ALTER TABLE t ADD COLUMN more INTEGER DEFAULT 5")


@unusual
def _view(path: Path) -> None:
    _run(path, "CREATE TABLE t (a INTEGER, b TEXT)")
    with closing(sqlite3.connect(path)) as database:
        database.execute("ALTER TABLE t RENAME TO u")
        database.execute("CREATE VIEW t AS SELECT a + 1 AS a, b FROM u")


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_not_plain_is_read_through_sqlite(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t.sqlite"
    UNUSUAL[name](path)
    with opened(path) as export:
        columns = {"a": BIGINT, "b": VARCHAR}
        assert read_rows(export, columns) == told_by_sqlite(path, columns)


def test_a_column_that_stores_whole_numbers_as_floats_holds_numbers_all_the_same(tmp_path: Path) -> None:
    """SQLite keeps 5.0 of a REAL column as the integer 5; text that is a number is one too."""
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (a REAL, b TEXT, c, d INTEGER)")
        database.execute("INSERT INTO t VALUES (5.0, '9', '10', '100'), (5.5, 'oops', x'00ff', 7)")
        database.commit()
    with opened(path) as export:
        columns = dict.fromkeys("abcd", BIGINT)
        (batch,) = export.mapped("t", columns, lambda batch, first: batch)
    assert told(batch, columns) == [(5, 9, 10, 100), (None, None, None, 7)]
    assert [batch[name].odd for name in "abcd"] == [1, 1, 1, 0]


def test_texts_that_share_a_fingerprint_stay_apart(tmp_path: Path) -> None:
    """Of texts of 16 bytes the fingerprint is first * odd ^ second, so twins can be made."""
    odd, mask = 7046029254386353131, 2**64 - 1
    first, second, other = (int.from_bytes(text) for text in (b"kernel_a", b"<float2>", b"kernel_b"))
    twin = (-first * odd ^ second ^ -other * odd) & mask
    texts = [first.to_bytes(8) + second.to_bytes(8), other.to_bytes(8) + twin.to_bytes(8)]
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as database:
        database.execute("CREATE TABLE t (a TEXT)")
        database.executemany("INSERT INTO t VALUES (CAST(? AS TEXT))", [(text,) for text in texts * 3])
        database.commit()
    with opened(tmp_path / "t.sqlite") as export:
        (batch,) = export._pages("t", {"a": VARCHAR})
    assert [batch["a"].texts[value] for value in batch["a"].values] == texts * 3


# -- damage ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    rows: list[tuple[Any, ...]] | None
    refused: str = ""


def read(path: Path, columns: dict[str, str]) -> Outcome:
    try:
        with opened(path) as export:
            if set(columns) <= export.columns_of("t"):
                return Outcome(read_rows(export, columns))
            return Outcome(None, "no columns")
    except BadReport as error:
        assert path.name in str(error)  # noqa: PT017 - a refusal is as fine as rows, a traceback is not
        return Outcome(None, str(error))


def read_by_sqlite(path: Path, columns: dict[str, str]) -> Outcome:
    try:
        return Outcome(told_by_sqlite(path, columns))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return Outcome(None, str(error))


COLUMNS = {"a": BIGINT, "b": VARCHAR, "c": BIGINT}


def _database(page_size: int, rows: int, wide: bool = False) -> bytes:
    with folder() as here:
        with closing(sqlite3.connect(here / "t.sqlite")) as database:
            database.execute(f"PRAGMA page_size = {page_size}")
            database.execute("CREATE TABLE t (a INTEGER, b TEXT, c INTEGER)")
            database.executemany(
                "INSERT INTO t VALUES (?, ?, ?)",
                [
                    (n % 2, None if n % 7 == 0 else f"kernel {n % 5}" * (1 + wide * (n % 9) ** 2), n**5 - 2**40)
                    for n in range(rows)
                ],
            )
            database.commit()
        return (here / "t.sqlite").read_bytes()


DATABASES = [_database(512, 400), _database(1024, 300, wide=True), _database(4096, 20)]


def same_or_refused(raw: bytes) -> None:
    """Never other rows than those of SQLite: the same, or a refusal; and a refusal where SQLite gives none."""
    with folder() as here:
        path = here / "t.sqlite"
        path.write_bytes(raw)
        found, right = read(path, COLUMNS), read_by_sqlite(path, COLUMNS)
        assert found.refused or found.rows == right.rows


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.sampled_from(range(3)),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=3),
)
def test_flipped_bits_are_refused_or_read_as_sqlite_reads_them(
    which: int, flips: Sequence[tuple[float, int]]
) -> None:
    damaged = bytearray(DATABASES[which])
    for place, bit in flips:
        damaged[int(place * len(damaged))] ^= 1 << bit
    same_or_refused(bytes(damaged))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.sampled_from(range(3)),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 15),
    st.integers(0, 255),
)
def test_damaged_heads_of_pages_are_refused_or_read_as_sqlite_reads_them(
    which: int, page: float, byte: int, value: int
) -> None:
    """The first bytes of a page steer all of it: its kind, how many cells it has, and where they lie."""
    raw = DATABASES[which]
    size = int.from_bytes(raw[16:18])
    first = int(page * (len(raw) // size)) * size + (100 if page * len(raw) < size else 0)
    damaged = bytearray(raw)
    damaged[first + byte] = value
    same_or_refused(bytes(damaged))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.sampled_from(range(3)), st.floats(0, 1), st.binary(max_size=50))
def test_cut_files_and_files_with_a_tail(which: int, place: float, tail: bytes) -> None:
    raw = DATABASES[which]
    same_or_refused(raw[: int(place * len(raw))] + tail)
    same_or_refused(raw + tail)
