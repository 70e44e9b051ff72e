"""Which tables and columns of the evidence an SQL text reads, so that no others need to be opened or built."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nsight_suite.evidence.tables import tables
from nsight_suite.evidence.views import shared_views

_PLAIN_FUNCTIONS = ("unnest", "range", "generate_series")


@dataclass(frozen=True)
class Needs:
    """Tables and views of the evidence that are read; names of columns too, or None where all may be read."""

    tables: frozenset[str]
    columns: frozenset[str] | None

    @property
    def stored(self) -> frozenset[str]:
        """The tables alone, those included that the views read."""
        return self.tables - shared_views().keys()

    def columns_of(self, table: str) -> frozenset[str]:
        """The columns of a table of the evidence that are read, or that may be."""
        all_of_it = frozenset(tables()[table].column_names)
        return all_of_it if self.columns is None else all_of_it & self.columns


def needs_of(connection: Any, sql: str, at_hand: Collection[str] = ()) -> Needs | None:
    """What one SELECT reads, through views as well, but for those whose rows are `at_hand`.

    None when that cannot be told, so that all may be needed.
    """
    seen: set[str] = set()
    columns: set[str] | None = set()
    waiting = [sql]
    try:
        sql.encode()
    except UnicodeEncodeError:  # whoever runs it will tell
        return None
    while waiting:
        found = _parts(connection, waiting.pop())
        if found is None:
            return None
        for name in found.tables - seen:
            if name in shared_views() and name not in at_hand:
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
        if kind == "SHOW_REF" or (kind == "TABLE_FUNCTION" and _function(node) not in _PLAIN_FUNCTIONS):
            return None  # DESCRIBE, query('…'), histogram(…): tables that stand in no FROM
        if kind == "BASE_TABLE":
            names.add(node["table_name"].lower())
        if _may_take_all(node):
            columns = None
        elif columns is not None:
            columns |= _named(node)
    known = {*tables(), *shared_views(), "expected"}
    if names - own - known:
        return None
    return Needs(frozenset(names & known), None if columns is None else frozenset(columns))


def _named(node: Mapping[str, Any]) -> set[str]:
    """Names that may be columns: each of `a.b.c`, and the schema of a function called `name.upper()`."""
    names = {*node.get("using_columns", ())}
    if node.get("type") == "COLUMN_REF":
        names |= {*node["column_names"]}
    elif node.get("type") == "FUNCTION":
        names |= {node.get("catalog", ""), node.get("schema", "")}
    return {name.lower() for name in names}


def _may_take_all(node: Mapping[str, Any]) -> bool:
    """Whether columns may be read here that are not named: by a star, by their place, or as a whole row."""
    match node.get("type"):
        case "POSITIONAL_REFERENCE" | "PIVOT":
            return True
        case "SELECT_NODE":
            return _takes_all(node)
    return node.get("join_type") == "NATURAL" or bool(node.get("column_name_alias"))


def _takes_all(select: Mapping[str, Any]) -> bool:
    """Whether a SELECT takes a star or a whole row (`SELECT k FROM kernel k`) from a table of the evidence.

    What is taken from a WITH table is told by that one's own SELECT.
    """
    sources = _sources(select)
    if not sources:
        return False
    parts = {key: part for key, part in select.items() if key not in ("from_table", "cte_map")}
    if any(node.get("type") == "STAR" for node in _nodes(parts)):
        return True
    aliases = {
        item["alias"].lower()
        for item in select.get("select_list", ())
        if item.get("alias") and item["alias"].lower() not in _single_names(item)
    }
    rows = _single_names({**parts, "from_table": select["from_table"]}) & sources.keys()
    return any(name not in aliases and name not in sources[name] for name in rows)


def _sources(select: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Tables and views of the evidence in a SELECT's FROM: their names there, and their columns if known."""
    found, waiting = {}, [select.get("from_table")]
    while waiting:
        source = waiting.pop() or {}
        if source.get("type") == "BASE_TABLE":
            table = source["table_name"].lower()
            if table in {*tables(), *shared_views()}:
                columns = tables()[table].column_names if table in tables() else ()
                found[(source.get("alias") or table).lower()] = tuple(columns)
        waiting += [source[side] for side in ("left", "right") if side in source]
    return found


def _single_names(tree: Any) -> set[str]:
    refs = (node["column_names"] for node in _nodes(tree) if node.get("type") == "COLUMN_REF")
    return {names[0].lower() for names in refs if len(names) == 1}


def _function(node: Mapping[str, Any]) -> str:
    return str(node["function"]["function_name"]).lower()


def _nodes(tree: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)
