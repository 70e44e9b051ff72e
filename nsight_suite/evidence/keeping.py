"""Rows of views that a large run keeps beside its tables, so that they need not be made for each question.

They are no evidence: without them the same answer takes longer. The name of their file tells the view's SELECT
and the tables that they were made of, so none are taken for those of another question, or of other tables.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from nsight_suite.evidence.sqltext import escaped, not_a_pattern
from nsight_suite.evidence.views import View, kept_views

# What a Parquet file says at its end of all of its parts: where they lie, and their extremes.
_FOOTER_BYTES = 1 << 16


def kept_file(view: View, folder: Path) -> Path:
    """Where the rows of a view lie, if they are kept, that was made of the tables in `folder`."""
    told = hashlib.sha256(view.select.encode())
    for table in sorted(view.tables):
        told.update(_end(folder / f"{table}.parquet"))
    return folder / f"{view.name}-{told.hexdigest()[:12]}.parquet"


def _end(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _FOOTER_BYTES))
            return size.to_bytes(8, "big") + file.read()
    except OSError:  # then the view has no rows to begin with
        return b""


@dataclass(frozen=True)
class Kept:
    """The file with the rows of a view, the statements that put the view over it, and the tables behind it."""

    file: str
    statements: str
    tables: frozenset[str]


def keep(connection: duckdb.DuckDBPyConnection, folder: Path, large: Collection[str], form: str) -> None:
    """Write the rows of the views that read a `large` table beside its file, in its `form`.

    Where they take more memory than may be taken, as those of more than some ten million kernels do, there are
    none.
    """
    for view in kept_views().values():
        if view.tables & set(large):
            path = kept_file(view, folder)
            try:
                connection.execute(f"COPY ({view.select} ORDER BY ALL) TO '{escaped(path)}' ({form})")
            except duckdb.OutOfMemoryException:
                path.unlink(missing_ok=True)


def kept_files(folder: Path) -> Iterator[tuple[View, Path]]:
    """The views whose rows are kept in the folder, each with its file."""
    for view in kept_views().values():
        if (file := kept_file(view, folder)).is_file():
            yield view, file


def kept_rows(connection: duckdb.DuckDBPyConnection, folder: Path, sql: str | None) -> dict[str, Kept]:
    """The kept rows that can be read, of the views that `sql` names; of all without it."""
    found = {}
    for view, file in kept_files(folder):
        if sql is None or view.name in sql.lower():
            source = f"SELECT * FROM read_parquet('{escaped(not_a_pattern(file.resolve()))}')"
            try:
                connection.execute(f"SELECT count(COLUMNS(*)) FROM ({source})").fetchall()
            except duckdb.Error:  # they are made anew
                continue
            found[view.name] = Kept(file.name, view.over(source), view.tables)
    return found
