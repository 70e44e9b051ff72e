"""Which tables and columns of the evidence an SQL text reads, so that no others need to be opened or built."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from nsight_suite.evidence.tables import tables
from nsight_suite.sources import data_root

_VIEW = re.compile(r"\s*CREATE\s+VIEW\s+\"?(\w+)\"?\s+AS\s+(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Needs:
    """Tables and views of the evidence that are read; names of columns too, or None where all may be read."""

    tables: frozenset[str]
    columns: frozenset[str] | None

    def columns_of(self, table: str) -> frozenset[str]:
        """The columns of a table of the evidence that are read, or that may be."""
        all_of_it = frozenset(tables()[table].column_names)
        return all_of_it if self.columns is None else all_of_it & self.columns


def needs_of(connection: Any, sql: str) -> Needs | None:
    """What one SELECT reads, through views as well; None when that cannot be told, so that all may be
    needed."""
    seen: set[str] = set()
    columns: set[str] | None = set()
    waiting = [sql]
    while waiting:
        found = _parts(connection, waiting.pop())
        if found is None:
            return None
        for name in found.tables - seen:
            if name in _views():
                waiting.append(_views()[name])
            seen.add(name)
        columns = None if columns is None or found.columns is None else columns | found.columns
    known = {*tables(), *_views(), "expected"}
    return Needs(frozenset(seen & known), None if columns is None else frozenset(columns))


def _parts(connection: Any, sql: str) -> Needs | None:
    (text,) = connection.execute("SELECT json_serialize_sql(CAST($sql AS VARCHAR))", {"sql": sql}).fetchone()
    tree = json.loads(text)
    if tree.get("error"):
        return None
    names: set[str] = set()
    columns: set[str] | None = set()
    for node in _nodes(tree):
        kind = node.get("type")
        if kind == "BASE_TABLE":
            names.add(node["table_name"].lower())
        elif kind == "COLUMN_REF" and columns is not None:
            columns.add(node["column_names"][-1].lower())
        elif node.get("join_type") == "NATURAL" or (kind == "SELECT_NODE" and _takes_all(node)):
            columns = None
        elif node.get("using_columns") and columns is not None:
            columns |= {name.lower() for name in node["using_columns"]}
    return Needs(frozenset(names), None if columns is None else frozenset(columns))


def _takes_all(select: Mapping[str, Any]) -> bool:
    """Whether a SELECT takes all columns of a table of the evidence; those of a WITH table are told by its
    own."""
    if not any(node.get("type") == "STAR" for node in _nodes(select.get("select_list"))):
        return False
    sources = [select.get("from_table")]
    while sources:
        source = sources.pop() or {}
        if source.get("type") == "BASE_TABLE" and source["table_name"].lower() in {*tables(), *_views()}:
            return True
        sources += [source[side] for side in ("left", "right") if side in source]
    return False


def _nodes(tree: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)


@cache
def _views() -> Mapping[str, str]:
    """The SELECT of each shared view, by its name."""
    found = {}
    for path in sorted((data_root() / "queries" / "views").glob("*.sql")):
        text = re.sub(r"--[^\n]*", "", path.read_text(encoding="utf-8"))
        for statement in text.split(";"):
            if match := _VIEW.match(statement):
                found[match[1].lower()] = match[2]
    return found
