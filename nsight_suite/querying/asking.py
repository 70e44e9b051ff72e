"""Running queries over an open store."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nsight_suite.errors import CannotAnswer, UsageError, first_line
from nsight_suite.evidence.store import DatabaseError, Store, not_one_query, open_store
from nsight_suite.querying.catalogue import find_query
from nsight_suite.runfolder import RunFolder

if TYPE_CHECKING:
    import pandas as pd

_READING = ("SELECT", "EXPLAIN")
_REBUILD = "A file in evidence/ is lost or damaged. Rebuild it: python -m nsight_suite.evidence RUN"


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
            pd.Series(list(values), dtype=_frame_type(kind))
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


def open_evidence(run: RunFolder, *, missing_as_empty: bool = False, sql: str | None = None) -> Store:
    """Open the evidence of a run for reading; see `open_store`. Raises CannotAnswer when it has none."""
    if not any(run.evidence.glob("*.parquet")):
        raise CannotAnswer(
            f"The run {run.path} holds no evidence.",
            f"Build it from its reports: python -m nsight_suite.evidence {run.path}",
        )
    try:
        return open_store(run, missing_as_empty=missing_as_empty, sql=sql)
    except DatabaseError as error:
        raise CannotAnswer(
            f"The evidence of {run.path} cannot be opened: {first_line(error)}",
            f"Rebuild it: python -m nsight_suite.evidence {run.path}",
        ) from error


def run_named(store: Store, name: str, experiment: str = "") -> Result:
    """The rows of a named query; the experiment's own queries come before common ones of that name.

    Raises UsageError for an unknown name and CannotAnswer when a table that it reads is missing or damaged.
    """
    query = find_query(name, experiment)
    try:
        return _execute(store, query.sql)
    except DatabaseError as error:
        raise CannotAnswer(
            f"The query '{name}' has no answer: {store.refusal(error) or first_line(error)}.", _REBUILD
        ) from error


def run_sql(store: Store, text: str) -> Result:
    """The rows of one SELECT (or EXPLAIN) over the evidence.

    Raises UsageError for anything that is not exactly one statement that reads, and for SQL that does not run;
    CannotAnswer when a table that it reads is missing. Ctrl-C ends a long query.
    """
    try:
        if other := not_one_query(store.connection, text, _READING):
            raise UsageError(
                f"The SQL text holds {other}.",
                "Evidence is read only: give exactly one plain SELECT, no PIVOT.",
            )
        return _execute(store, text)
    except DatabaseError as error:
        if refusal := store.refusal(error):
            raise CannotAnswer(f"The SQL has no answer: {refusal}.", _REBUILD) from error
        raise UsageError(
            f"The SQL does not run: {str(error).strip()}",
            "Tables and columns: SELECT table_name, column_name, comment FROM duckdb_columns()",
        ) from error


def _execute(store: Store, sql: str) -> Result:
    # DuckDB hears Ctrl-C only while the thread that called it happens to work; this one only waits.
    with ThreadPoolExecutor(1) as worker:
        asked = worker.submit(_fetch, store, sql)
        try:
            described, rows = asked.result()
        except KeyboardInterrupt:
            store.connection.interrupt()
            raise
    return Result(
        _told_apart([column[0] for column in described]),
        tuple(_type(column[1]) for column in described),
        tuple(rows),
    )


def _fetch(store: Store, sql: str) -> tuple[list[Any], list[tuple[Any, ...]]]:
    answer = store.connection.execute(sql)
    return answer.description or [], answer.fetchall()


def _told_apart(names: Iterable[str]) -> tuple[str, ...]:
    """Column names without two that are the same; a second `name` becomes `name_1`, as DuckDB does it."""
    found: dict[str, str] = {}
    for name in names:
        unique, number = name, 0
        while unique.casefold() in found:
            number += 1
            unique = f"{name}_{number}"
        found[unique.casefold()] = unique
    return tuple(found.values())


def _type(kind: object) -> str:
    """An SQL type that a table can have: a column of bare NULLs has none of its own."""
    text = str(kind)
    return "VARCHAR" if text.strip('"') == "NULL" else text


def _frame_type(kind: str) -> Any:
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
