"""Which findings of reports leave an answer in doubt: those about what its question reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nsight_suite.evidence.needs import Needs
from nsight_suite.evidence.store import Store

# The tables that tell the doubts of a run.
DOUBTS = ("finding", "report")
# What changes no answer.
_MINOR = frozenset(
    {"foreign-lines", "schema-newer-minor", "schema-unknown", "unknown-column", "versioned-table"}
)
# What a question about kernels does not rest on, unless it asks what started them.
_NOT_OF_KERNELS = frozenset({"no-api-table", "no-range-table"})
_STARTED = frozenset({"process", "launch_id", "range_id", "path_id"})
# Tables that hold what one of the tools recorded: doubts about reports of the other do not concern them.
_OF_NCU = frozenset({"counter", "advice"})
_OF_NSYS = frozenset(
    {
        *("range", "launch", "kernel", "memory_operation", "sync", "api_call", "path", "mark", "graph_run"),
        *("graph_origin", "process", "overhead"),
    }
)


def doubts_among(codes: Iterable[str], needs: Needs | None) -> list[str]:
    """The codes that an answer may rest on, each once; `needs` is what its question reads, None if unknown.

    Nothing is told to a question that reads the findings itself, or no table at all.
    """
    if needs and ("finding" in needs.tables or not needs.tables):
        return []
    alone = needs and needs.stored <= {"kernel"} and not needs.columns_of("kernel") & _STARTED
    aside = _MINOR | (_NOT_OF_KERNELS if alone else frozenset())
    return [code for code in dict.fromkeys(codes) if code not in aside]


def doubts_of_run(store: Store) -> list[str]:
    """Those of a run that was ingested, by the findings that its reports left: its store holds DOUBTS.

    Where the findings are lost, that is the doubt.
    """
    if "finding" in store.missing:
        return doubts_among(["findings-missing"], store.needs)
    found = _rows_if_there(store, "finding", "code, pass")
    codes = set(doubts_among((row["code"] for row in found), store.needs))
    if codes and (strange := _strange_tool(store.needs)):
        forms = {row["pass"]: row["format"] or "" for row in _rows_if_there(store, "report", "pass, format")}
        found = [row for row in found if not forms.get(row["pass"], "").startswith(strange)]
    return list(dict.fromkeys(row["code"] for row in found if row["code"] in codes))


def _strange_tool(needs: Needs | None) -> str | None:
    """The tool of whose reports the question reads nothing, while it reads the other's."""
    if not needs or not needs.tables & (_OF_NCU | _OF_NSYS):
        return None
    return "ncu" if not needs.tables & _OF_NCU else "nsys" if not needs.tables & _OF_NSYS else None


def _rows_if_there(store: Store, table: str, columns: str) -> list[dict[str, Any]]:
    """The distinct rows of these columns; none where the table is missing."""
    if table in store.missing:
        return []
    return store.rows(f"SELECT DISTINCT {columns} FROM {table} ORDER BY ALL")
