"""Names and paths as DuckDB and SQLite write them in SQL."""

from __future__ import annotations

import re
from pathlib import Path


def quoted(name: str) -> str:
    """A name of a table or column, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def escaped(text: object) -> str:
    """A text as it stands between the single quotes of a literal."""
    return str(text).replace("'", "''")


def not_a_pattern(path: Path) -> str:
    """read_parquet takes a pattern: its special characters stand for themselves in brackets."""
    return re.sub(r"([*?[])", r"[\1]", str(path))
