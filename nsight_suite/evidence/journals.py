"""Databases of others, opened without writing beside them.

SQLite makes an `-shm` file beside a database that has a write-ahead log, and rolls a hot journal back where it
lies, even for who only reads. Such a database is read from a copy of it and its journal, which goes afterwards.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from nsight_suite.errors import BadReport

JOURNALS = ("-wal", "-journal")
MOST_BYTES = 1 << 30


@contextmanager
def opened_apart(path: Path) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """The database, opened for reading only, and the file that is read: the database itself, or a copy.

    Raises BadReport for one with a journal that is too large to be copied, or that is being written.
    """
    journals = journals_of(path)
    if not journals:
        with closing(_immutable(path)) as connection:
            yield path, connection
        return
    with tempfile.TemporaryDirectory(prefix="nsight-suite-") as folder:
        copy = _copied(path, journals, Path(folder))
        # What the journal holds goes into the copy.
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        with closing(_immutable(copy)) as connection:
            yield copy, connection


def journals_of(path: Path) -> list[Path]:
    """The journals beside a database that hold something, wherever a link to it lies."""
    there = path.resolve()
    beside = (there.with_name(there.name + suffix) for suffix in JOURNALS)
    return [journal for journal in beside if journal.is_file() and journal.stat().st_size]


def _copied(path: Path, journals: list[Path], folder: Path) -> Path:
    sources = [path.resolve(), *journals]
    if sum(source.stat().st_size for source in sources) > MOST_BYTES:
        raise BadReport(
            f"{path.name} has a journal beside it ({journals[0].name}), and is too large to be copied.",
            f"Put the journal into it: sqlite3 {path.name} 'PRAGMA journal_mode = DELETE'\n"
            "  or export the report again with nsys export.",
        )
    try:
        before = [_state(source) for source in sources]
        for source in sources:
            shutil.copyfile(source, folder / (path.name + source.name.removeprefix(sources[0].name)))
        changed = [_state(source) for source in sources] != before or journals_of(path) != journals
    except FileNotFoundError:
        changed = True
    except OSError as error:
        raise BadReport(f"{path.name} cannot be copied for reading: {error.strerror}.") from error
    if changed:
        raise BadReport(f"{path.name} is being written just now.", "Wait until that has ended.")
    return folder / path.name


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _immutable(path: Path) -> sqlite3.Connection:
    # Nothing else writes to it and SQLite needs no lock, so that a folder without permission to write will do.
    return sqlite3.connect(f"file:{quote(os.fsencode(path.resolve()))}?mode=ro&immutable=1", uri=True)
