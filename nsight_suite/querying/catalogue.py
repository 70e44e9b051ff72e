"""The named queries: where they are, and what their headers say.

-- One row per case: what a row is, over as many lines as it takes.
--
-- column  meaning and unit
--         which may go on, indented
--
-- Anything else that a reader should know.
SELECT …
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.errors import UsageError
from nsight_suite.sources import data_root

_COLUMN = re.compile(r"([a-z_][a-z0-9_]*) +(\S.*)")
# Declares what the cases of an experiment must show; a view of every store, not a query.
_NOT_QUERIES = ("expected",)


@dataclass(frozen=True)
class Query:
    """A named query. `about` says what one row is, `columns` what each column means; `notes` may be empty."""

    name: str
    path: Path
    about: str
    columns: Mapping[str, str]
    notes: str
    sql: str

    @property
    def description(self) -> str:
        """Name, what a row is, columns and notes as plain text."""
        width = max(map(len, self.columns), default=0)
        lines = [f"{self.name}: {self.about}", ""]
        lines += [f"  {name:<{width}}  {meaning}" for name, meaning in self.columns.items()]
        return "\n".join([*lines, "", self.notes] if self.notes else lines)


def find_queries(experiment: str = "") -> list[Query]:
    """Every query that a run of `experiment` can be asked, by name; its own hide common ones of that name."""
    found = _paths(experiment)
    return [_read(found[name]) for name in sorted(found)]


def find_query(name: str, experiment: str = "") -> Query:
    """The query of that name. Raises UsageError, with the names that come close, when there is none."""
    queries = _paths(experiment)
    if name in queries:
        return _read(queries[name])
    close = difflib.get_close_matches(name, queries, n=3, cutoff=0.5)
    way_out = f"Did you mean {' or '.join(close)}? " if close else ""
    raise UsageError(
        f"There is no query '{name}'.", f"{way_out}`python -m nsight_suite.query --list` names them all."
    )


def query_text(name: str, experiment: str = "") -> str:
    """The SQL of a named query."""
    return find_query(name, experiment).sql


def _paths(experiment: str) -> dict[str, Path]:
    root = data_root() / "queries"
    found: dict[str, Path] = {}
    # A run of reports that were brought has no experiment; another's may bear any name.
    own = [root / experiment] if experiment and (root / experiment).parent == root else []
    for folder in [*own, root / "common"]:
        for path in folder.glob("*.sql"):
            if path.stem not in _NOT_QUERIES:
                found.setdefault(path.stem, path)
    return found


def _read(path: Path) -> Query:
    text = path.read_text(encoding="utf-8")
    header = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        header.append(line[2:].removeprefix(" "))
    about, columns, notes = (_part(header, number) for number in range(3))
    return Query(path.stem, path, " ".join(about), _columns(columns), "\n".join(notes), text)


def _part(lines: list[str], number: int) -> list[str]:
    """The lines of one part of a header. Empty comment lines part them; the last part holds all the rest."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if not line.strip() and len(parts) < 3:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts[number] if number < len(parts) else []


def _columns(lines: list[str]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for line in lines:
        if match := _COLUMN.fullmatch(line):
            columns[match[1]] = match[2]
        elif columns:
            name = next(reversed(columns))
            columns[name] = f"{columns[name]} {line.strip()}"
    return columns
