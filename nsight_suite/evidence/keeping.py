"""Rows of views that a large run keeps beside its tables, so that they need not be made for each question.

They are no evidence: without them the same answer takes longer. The name of their file tells the view's SELECT,
the tables that they were made of, and what the file holds, so none are taken for those of another question or
of other tables, and none that are damaged.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

import duckdb

from nsight_suite.evidence.sqltext import escaped, not_a_pattern
from nsight_suite.evidence.views import View, kept_views
from nsight_suite.runfolder import sha256

# A Parquet file ends in its footer, which says of all of its parts where they lie, and their extremes; and in
# the footer's length and a mark of four bytes each.
_LARGEST_FOOTER = 16 << 20
_DIGITS = 12


def keep(connection: duckdb.DuckDBPyConnection, folder: Path, large: Collection[str], form: str) -> None:
    """Write the rows of the views that read a `large` table beside its file, in its `form`.

    Where they cannot be made there are none: for want of memory, as of more than some ten million kernels, or
    for times that no sum can hold.
    """
    for view in kept_views().values():
        if view.tables & set(large):
            path = folder / f"{_stem(view, folder)}.parquet"
            try:
                connection.execute(f"COPY ({view.select} ORDER BY ALL) TO '{escaped(path)}' ({form})")
            except duckdb.IOException:
                raise
            except duckdb.Error:  # a question will tell
                path.unlink(missing_ok=True)
            else:
                path.rename(path.with_stem(f"{path.stem}-{_content(path)}"))


def kept_files(folder: Path, sql: str | None = None) -> Iterator[tuple[View, Path]]:
    """The views whose rows are kept in the folder, or those of them that `sql` names, each with its file."""
    for view in kept_views().values():
        if sql is None or view.name in sql.lower():
            for file in folder.glob(f"{_stem(view, folder)}-*.parquet"):
                if file.stem.endswith(f"-{_content(file)}"):
                    yield view, file


def over(file: Path) -> str:
    """The SELECT of the rows that were kept."""
    return f"SELECT * FROM read_parquet('{escaped(not_a_pattern(file.resolve()))}')"


def _content(file: Path) -> str:
    try:
        return sha256(file)[:_DIGITS]
    except OSError:
        return "unreadable"


def _stem(view: View, folder: Path) -> str:
    told = hashlib.sha256(view.select.encode())
    for table in sorted(view.tables):
        told.update(_end(folder / f"{table}.parquet"))
    return f"{view.name}-{told.hexdigest()[:_DIGITS]}"


def _end(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 8))
            footer = int.from_bytes(file.read(4), "little") + 8
            file.seek(max(0, size - min(footer, _LARGEST_FOOTER)))
            return size.to_bytes(8, "big") + file.read()
    except OSError:  # then the view has no rows to begin with
        return b""
