"""Reading the driver's record file while it grows, and how it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TAIL_BYTES = 1 << 16


@dataclass(frozen=True)
class Progress:
    """How far a driver is: `done` of `total` units, now busy with `what`."""

    done: int
    total: int
    what: str


class RecordsFollower:
    """Gives the newest progress line of a file that another process appends to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""

    def latest(self) -> Progress | None:
        """The newest progress among the lines that were added since the last call."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                added = file.read()
        except FileNotFoundError:
            return None
        self._offset += len(added)
        *lines, self._rest = (self._rest + added).split(b"\n")
        for line in reversed(lines):
            # Parsing only these keeps the suite off the machine's back while the driver measures.
            if b'"_progress"' in line and (progress := _progress(line)):
                return progress
        return None


def end_of_records(path: Path) -> dict[str, Any] | None:
    """The `_end` line of a record file; None when there is no such file or it was cut off."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read()
    except FileNotFoundError:
        return None
    if not text.endswith(b"\n"):
        return None
    last = _object(text.rstrip(b"\n").rpartition(b"\n")[2])
    return last if last and last.get("table") == "_end" else None


def _progress(line: bytes) -> Progress | None:
    data = _object(line)
    if data is None or data.get("table") != "_progress":
        return None
    try:
        return Progress(int(data["done"]), int(data["total"]), str(data["what"]))
    except (KeyError, TypeError, ValueError):
        return None


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
