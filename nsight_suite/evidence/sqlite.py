"""evidence.sqlite: every table in one file, and a table `_columns` with each column's meaning and unit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nsight_suite.evidence.store import Connection
from nsight_suite.evidence.tables import tables
from nsight_suite.runfolder import RunFolder, replacing
from nsight_suite.writing import cannot_write, sync

_PYTHON_TYPES: dict[str, type] = {"BIGINT": int, "DOUBLE": float, "VARCHAR": str, "BOOLEAN": int}


def write_sqlite(connection: Connection, run: RunFolder) -> None:
    """Write the tables of an open store to evidence.sqlite, for Datasette and sqlite3.

    Raises SuiteError when it cannot be written.
    """
    with replacing_sqlite(connection, run):
        pass


@contextmanager
def replacing_sqlite(connection: Connection, run: RunFolder) -> Iterator[None]:
    """Write evidence.sqlite like `write_sqlite`; it takes its place when the block has ended well."""
    with replacing(run.sqlite) as temporary:
        try:
            _fill(connection, temporary)
        except sqlite3.Error as error:
            raise cannot_write(run.sqlite, error) from error
        sync(temporary)
        yield


def _fill(connection: Connection, path: Path) -> None:
    from sqlite_utils import Database

    database = Database(path)
    try:
        for table in tables().values():
            created = database.create_table(
                table.name, {column.name: _PYTHON_TYPES[column.type] for column in table.columns}
            )
            rows = connection.execute(f'SELECT * FROM "{table.name}" ORDER BY ALL').fetchall()
            created.insert_all(dict(zip(table.column_names, row, strict=True)) for row in rows)
        database["_columns"].insert_all(
            {
                "table": table.name,
                "column": column.name,
                "type": column.type,
                "meaning": column.doc,
                "row": table.doc,
            }
            for table in tables().values()
            for column in table.columns
        )
    finally:
        database.close()
