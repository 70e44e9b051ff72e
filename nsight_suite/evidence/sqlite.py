"""evidence.sqlite: every table in one file, and a table `_columns` with each column's meaning and unit."""

from __future__ import annotations

from nsight_suite.evidence.store import Connection
from nsight_suite.evidence.tables import tables
from nsight_suite.runfolder import RunFolder, replacing

_PYTHON_TYPES: dict[str, type] = {"BIGINT": int, "DOUBLE": float, "VARCHAR": str, "BOOLEAN": int}


def write_sqlite(connection: Connection, run: RunFolder) -> None:
    """Write the tables of an open store to evidence.sqlite, for Datasette and sqlite3."""
    from sqlite_utils import Database

    with replacing(run.sqlite) as temporary:
        database = Database(temporary)
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
