"""The tables of the evidence, as declared in tables.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# In a driver's record, the key of the columns of many rows: {"stage": ["A", "B"], "job": [0, 0]}.
BLOCK = "_rows"


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    doc: str


@dataclass(frozen=True)
class Table:
    name: str
    doc: str
    columns: tuple[Column, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


@cache
def tables() -> Mapping[str, Table]:
    """Every table of the evidence by name, in the order of tables.toml."""
    data = tomllib.loads((Path(__file__).parent / "tables.toml").read_text(encoding="utf-8"))
    return {
        name: Table(
            name,
            entry["doc"],
            tuple(Column(column, kind, doc) for column, (kind, doc) in entry["columns"].items()),
        )
        for name, entry in data.items()
    }
