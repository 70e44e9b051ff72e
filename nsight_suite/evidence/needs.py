"""Which tables and columns of the evidence an SQL text reads, so that no others need to be opened or built."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nsight_suite.evidence.tables import tables
from nsight_suite.evidence.views import shared_views


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
            if name in shared_views():
                waiting.append(shared_views()[name].select)
            seen.add(name)
        columns = None if columns is None or found.columns is None else columns | found.columns
    return Needs(frozenset(seen), None if columns is None else frozenset(columns))


def _parts(connection: Any, sql: str) -> Needs | None:
    (text,) = connection.execute("SELECT json_serialize_sql(CAST($sql AS VARCHAR))", {"sql": sql}).fetchone()
    tree = json.loads(text)
    if tree.get("error"):
        return None
    names: set[str] = set()
    own: set[str] = set()
    columns: set[str] | None = set()
    for node in _nodes(tree):
        kind = node.get("type")
        if node.get("cte_map"):
            own |= {entry["key"].lower() for entry in node["cte_map"]["map"]}
        if kind == "BASE_TABLE":
            names.add(node["table_name"].lower())
        elif kind == "COLUMN_REF" and columns is not None:
            columns.add(node["column_names"][-1].lower())
        elif node.get("join_type") == "NATURAL" or (kind == "SELECT_NODE" and _takes_all(node)):
            columns = None
        elif node.get("using_columns") and columns is not None:
            columns |= {name.lower() for name in node["using_columns"]}
    known = {*tables(), *shared_views(), "expected"}
    if names - own - known:
        return None
    return Needs(frozenset(names & known), None if columns is None else frozenset(columns))


def _takes_all(select: Mapping[str, Any]) -> bool:
    """Whether a SELECT takes all columns of a table of the evidence; those of a WITH table are told by its
    own."""
    if not any(node.get("type") == "STAR" for node in _nodes(select.get("select_list"))):
        return False
    sources = [select.get("from_table")]
    while sources:
        source = sources.pop() or {}
        if source.get("type") == "BASE_TABLE" and source["table_name"].lower() in {*tables(), *shared_views()}:
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
