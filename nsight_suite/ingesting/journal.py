"""A database that was copied without its journal: it opens, and may lack the rows that were written last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nsight_suite.evidence.notes import Doubt
from nsight_suite.ingesting.recognising import Form

_WAL = b"\x02\x02"  # file format versions for writing and reading, at byte 18: 1 rollback journal, 2 WAL


def journal_doubts(path: Path, form: Form) -> Iterator[Doubt]:
    """What the header of an SQLite export gives reason to doubt."""
    if form is not Form.NSYS_SQLITE:
        return
    with path.open("rb") as file:
        header = file.read(20)
    there = path.resolve()  # the journal of a linked database lies beside the database itself
    if header[18:20] == _WAL and not there.with_name(f"{there.name}-wal").exists():
        yield (
            "journal-missing",
            path.name,
            f"{path.name} is a database in WAL mode without {path.name}-wal beside it. If it was copied while "
            "it was open, its last rows are missing here. Copy both files, or export the report again.",
        )
