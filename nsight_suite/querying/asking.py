"""Running queries over an open store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nsight_suite.errors import CannotAnswer, UsageError, first_line
from nsight_suite.evidence.aside import Aside
from nsight_suite.evidence.store import DatabaseError, OutOfMemory, Store, not_one_query, open_store
from nsight_suite.evidence.versions import of_one_version
from nsight_suite.querying.catalogue import find_query
from nsight_suite.runfolder import RunFolder

if TYPE_CHECKING:
    import pandas as pd

_READING = ("SELECT", "EXPLAIN")
# Rows that are held at a time where an answer goes on to a file or a pipe.
_BATCH = 10_000
_SMALLER = (
    "Ask for less: a condition, fewer columns or no sort of all rows; or make room in the temporary folder."
)

_T = TypeVar("_T")


@dataclass(frozen=True)
class Result:
    """The answer to a query: column names, their SQL types, and rows of Python values; NULL is None."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def frame(self) -> pd.DataFrame:
        """The rows as a pandas frame. Whole numbers keep an integer type; NULL stays missing (pandas.NA)."""
        import pandas as pd

        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        series = [
            pd.Series(list(values), dtype=_frameplain_type(kind))
            for values, kind in zip(columns, self.types, strict=True)
        ]
        frame = pd.concat(series, axis=1) if series else pd.DataFrame()
        frame.columns = pd.Index(self.columns)
        return frame

    def arrow(self) -> Any:
        """The rows as a pyarrow table. Raises UsageError where pyarrow is not installed."""
        try:
            import pyarrow as pa  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ModuleNotFoundError as error:
            raise UsageError(
                "pyarrow is not installed.", "pip install pyarrow, or ask for rows or a frame."
            ) from error
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        return pa.Table.from_arrays([pa.array(list(values)) for values in columns], names=list(self.columns))


@dataclass(frozen=True)
class Answer:
    """An answer on its way: column names, their SQL types, and rows in batches, each fetched when it is asked
    for, once. The store answers nothing else meanwhile. Each batch is of the evidence that the store was opened
    on; where that was replaced meanwhile, EvidenceReplaced is raised.

    The first batch is there already, so most SQL that fails has failed before anything is written. What a later
    one meets is raised like what the first meets.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    batches: Iterator[list[tuple[Any, ...]]]

    def whole(self) -> Result:
        """All rows at once."""
        return Result(self.columns, self.types, tuple(chain.from_iterable(self.batches)))


def open_evidence(
    run: RunFolder,
    *,
    missing_as_empty: bool = False,
    sql: str | None = None,
    also: Collection[str] = (),
    writes: Path | None = None,
) -> Store:
    """Open the evidence of a run for reading; see `open_store`. Raises CannotAnswer when it has none."""
    if not of_one_version(run.evidence, lambda: any(run.evidence.glob("*.parquet"))):
        raise CannotAnswer(
            f"The run {run.path} holds no evidence.",
            f"Build it from its reports: python -m nsight_suite.evidence {run.path}",
        )
    try:
        return open_store(run, missing_as_empty=missing_as_empty, sql=sql, also=also, writes=writes)
    except DatabaseError as error:
        raise CannotAnswer(
            f"The evidence of {run.path} cannot be opened: {first_line(error)}",
            f"Rebuild it: python -m nsight_suite.evidence {run.path}",
        ) from error


def run_named(store: Store, name: str, experiment: str = "") -> Result:
    """The rows of a named query; the experiment's own queries come before common ones of that name.

    Raises UsageError for an unknown name and CannotAnswer when a table that it reads is missing or damaged.
    """
    return ask_named(store, name, experiment).whole()


def ask_named(store: Store, name: str, experiment: str = "") -> Answer:
    """Like `run_named`, batch by batch."""
    return _ask(store, find_query(name, experiment).sql, lambda: failing_query(store, name))


def run_sql(store: Store, text: str) -> Result:
    """The rows of one SELECT (or EXPLAIN) over the evidence.

    Raises UsageError for anything that is not exactly one statement that reads, and for SQL that does not run;
    CannotAnswer when a table that it reads is missing. Ctrl-C ends a long query.
    """
    return ask_sql(store, text).whole()


def ask_sql(store: Store, text: str) -> Answer:
    """Like `run_sql`, batch by batch."""
    with failing_text(store):
        if other := not_one_query(store.connection, text, _READING):
            raise UsageError(
                f"The SQL text holds {other}.",
                "Evidence is read only: give exactly one plain SELECT, no PIVOT.",
            )
    return _ask(store, text, lambda: failing_text(store))


@contextmanager
def failing_query(store: Store, name: str) -> Iterator[None]:
    """What DuckDB raises inside, as the CannotAnswer of a named query."""
    try:
        yield
    except DatabaseError as error:
        store.check()
        raise CannotAnswer(
            f"The query '{name}' has no answer: {store.refusal(error) or first_line(error)}.",
            _SMALLER if isinstance(error, OutOfMemory) else store.remedy,
        ) from error


@contextmanager
def failing_text(store: Store) -> Iterator[None]:
    """What DuckDB raises inside, as the UsageError or CannotAnswer of SQL text."""
    try:
        yield
    except DatabaseError as error:
        store.check()
        if refusal := store.refusal(error):
            raise CannotAnswer(f"The SQL has no answer: {refusal}.", store.remedy) from error
        if isinstance(error, OutOfMemory):
            raise CannotAnswer(f"The SQL has no answer: {first_line(error)}", _SMALLER) from error
        raise UsageError(
            f"The SQL does not run: {str(error).strip()}",
            "Tables and columns: SELECT table_name, column_name, comment FROM duckdb_columns()",
        ) from error


def _ask(store: Store, sql: str, told: Callable[[], AbstractContextManager[None]]) -> Answer:
    with told():
        described, first = interruptible(store, lambda: _first(store, sql))

    def batches() -> Iterator[list[tuple[Any, ...]]]:
        batch = first
        while batch:
            yield batch
            with told():
                batch = interruptible(store, lambda: store.connection.fetchmany(_BATCH))
            store.check()

    names = told_apart(column[0] for column in described)
    return Answer(names, tuple(plain_type(column[1]) for column in described), batches())


def _first(store: Store, sql: str) -> tuple[list[Any], list[tuple[Any, ...]]]:
    answer = store.connection.execute(sql)
    described, first = answer.description or [], answer.fetchmany(_BATCH)
    store.check()
    return described, first


def interruptible(store: Store, work: Callable[[], _T]) -> _T:
    """What `work` with the store's connection gives. Ctrl-C ends it."""
    # DuckDB hears Ctrl-C only while the thread that called it happens to work; this one only waits.
    asked = Aside(work)
    try:
        return asked.result()
    except KeyboardInterrupt:
        store.connection.interrupt()
        asked.wait()
        raise


def told_apart(names: Iterable[str]) -> tuple[str, ...]:
    """Column names without two that are the same; a second `name` becomes `name_1`, as DuckDB does it."""
    found: dict[str, str] = {}
    for name in names:
        unique, number = name, 0
        while unique.casefold() in found:
            number += 1
            unique = f"{name}_{number}"
        found[unique.casefold()] = unique
    return tuple(found.values())


def plain_type(kind: object) -> str:
    """An SQL type that a table can have: a column of bare NULLs has none of its own."""
    text = str(kind)
    return "VARCHAR" if text.strip('"') == "NULL" else text


def _frameplain_type(kind: str) -> Any:
    match kind:
        case "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT":
            return "Int64"
        case "UTINYINT" | "USMALLINT" | "UINTEGER" | "UBIGINT":
            return "UInt64"
        case "FLOAT" | "DOUBLE":
            return "Float64"
        case "BOOLEAN":
            return "boolean"
        case "VARCHAR":
            return "string"
    return "object"
