"""The evidence of a run with nothing in its files but rows.

A Parquet file also tells the smallest and largest values of its parts, and has filters that say what is not in
them. DuckDB passes over parts by what these tell. Rows could be right and be hidden from every query that has a
condition, so queries are asked of files that hold the same rows and whose other parts were made here.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from nsight_suite.evidence.sqltext import escaped, not_a_pattern
from nsight_suite.evidence.store import Connection, DatabaseError, bare_connection
from nsight_suite.evidence.tables import tables
from nsight_suite.runfolder import RunFolder

# A file may claim any number of rows; one that has more is left as it is, for the checks to tell of.
_MOST_ROWS = 50_000_000


def with_plain_evidence(run: RunFolder, folder: Path) -> RunFolder:
    """The run in the new folder `folder`: its evidence written again row by row, all else by links.

    A file that cannot be read, or that claims more rows than any run has, is taken as it is.
    """
    folder.mkdir()
    for entry in run.path.iterdir():
        if entry != run.evidence:
            (folder / entry.name).symlink_to(entry.resolve())
    plain = RunFolder(folder)
    if run.evidence.is_dir():
        plain.evidence.mkdir()
        with bare_connection() as connection:
            for name in tables():
                path = run.evidence / f"{name}.parquet"
                if path.is_file():
                    _write_again(connection, path, plain.evidence / path.name)
    return plain


def _write_again(connection: Connection, path: Path, target: Path) -> None:
    file = f"read_parquet('{escaped(not_a_pattern(path.resolve()))}')"
    try:
        (rows,) = connection.execute(f"SELECT count(*) FROM {file}").fetchall()[0]
        if rows <= _MOST_ROWS:
            connection.execute(f"COPY (SELECT * FROM {file}) TO '{escaped(target)}' (FORMAT parquet)")
            return
    except DatabaseError:
        target.unlink(missing_ok=True)
    shutil.copyfile(path, target)
