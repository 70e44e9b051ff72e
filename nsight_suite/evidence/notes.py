"""What every reader says of its file: that it was read, and what it left in doubt."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nsight_suite.evidence.fingerprint import content_hash
from nsight_suite.evidence.store import Connection, insert_rows

# Code, subject and reason of a row of `finding`.
Doubt = tuple[str, str, str]


def note_report(
    connection: Connection,
    pass_name: str,
    path: Path,
    form: str,
    *,
    rows: int | None,
    complete: bool | None,
    **origin: object,
) -> None:
    """Insert the row of `report`. `origin` holds what the file tells of its tool, by column."""
    row = {"pass": pass_name, "file": path.name, "format": form, "rows": rows, "complete": complete, **origin}
    insert_rows(connection, "report", [{**row, "sha256": content_hash(path)}])


def note_doubts(connection: Connection, pass_name: str, doubts: Iterable[Doubt]) -> None:
    """Insert one row of `finding` per doubt."""
    insert_rows(
        connection,
        "finding",
        (
            {"code": code, "pass": pass_name, "subject": subject, "reason": reason}
            for code, subject, reason in doubts
        ),
    )
