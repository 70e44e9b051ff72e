"""Answers as Parquet files, which DuckDB writes itself while it asks: no row of them is held in Python."""

from __future__ import annotations

from pathlib import Path

from nsight_suite.errors import SuiteError, UsageError, first_line
from nsight_suite.evidence.sqltext import escaped, quoted
from nsight_suite.evidence.store import Connection, DatabaseError, Store, not_one_query
from nsight_suite.querying.asking import failing_query, failing_text, interruptible, plain_type, told_apart
from nsight_suite.querying.catalogue import find_query


def copy_named(store: Store, name: str, path: Path, experiment: str = "") -> int:
    """Write the rows of a named query to a new Parquet file, `path`, which the store was opened with as
    `writes`; returns how many. Raises like `run_named`, and SuiteError when the file cannot be written."""
    with failing_query(store, name):
        return _copy(store, find_query(name, experiment).sql, path)


def copy_sql(store: Store, text: str, path: Path) -> int:
    """Write the rows of one SELECT to a new Parquet file; see `copy_named`. Raises like `run_sql`."""
    with failing_text(store):
        if other := not_one_query(store.connection, text):
            raise UsageError(f"The SQL text holds {other}.", "Parquet takes the rows of one plain SELECT.")
        return _copy(store, text, path)


def _copy(store: Store, sql: str, path: Path) -> int:
    query = _bare(store.connection, sql)
    relation = store.connection.sql(query)
    names = told_apart(relation.columns)
    columns = ", ".join(
        f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}" if str(kind) != plain_type(kind) else quoted(name)
        for name, kind in zip(names, relation.types, strict=True)
    )
    target, named = escaped(path), ", ".join(quoted(name) for name in names)
    copy = (
        f"COPY (SELECT {columns} FROM (\n{query}\n) AS answer({named})) TO '{target}' "
        "(FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
    )
    try:
        ((rows,),) = interruptible(store, lambda: store.connection.execute(copy).fetchall())
    except DatabaseError as error:
        if str(path) in str(error):
            raise SuiteError(f"The answer cannot be written: {first_line(error)}") from error
        raise
    store.check()
    return int(rows)


def _bare(connection: Connection, sql: str) -> str:
    """One statement without the semicolon and the comment that it may end in, which none within another may."""
    for cut in reversed([place for place, char in enumerate(sql) if char == ";"]):
        try:
            if connection.extract_statements(sql[:cut]) and not connection.extract_statements(sql[cut:]):
                sql = sql[:cut]
        except DatabaseError:  # this semicolon is within a text or a name, or a comment goes on after it
            continue
    return sql
