"""Why an answer has no rows: a table that the question reads is empty, or nothing in them fits."""

from __future__ import annotations

from nsight_suite.evidence.sqltext import quoted
from nsight_suite.evidence.store import DatabaseError, Store
from nsight_suite.evidence.tables import tables


def why_no_rows(store: Store) -> str:
    """One sentence on an answer without rows, to be told beside it."""
    read = sorted(store.needs.tables & tables().keys()) if store.needs else []
    empty = [name for name in read if _is_empty(store, name)]
    if empty:
        return f"No rows: {_listed(empty)} {'is' if len(empty) == 1 else 'are'} empty here."
    if read:
        return f"No rows: nothing in {_listed(read)} fits."
    return "No rows: nothing fits."


def _is_empty(store: Store, table: str) -> bool:
    try:
        return not store.rows(f"SELECT 1 AS one FROM {quoted(table)} LIMIT 1")
    except DatabaseError:  # missing, which is not empty
        return False


def _listed(names: list[str]) -> str:
    *some, last = (f"`{name}`" for name in names)
    return f"{', '.join(some)} and {last}" if some else last
