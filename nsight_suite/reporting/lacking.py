"""What a run lacks: passes that failed, tables that are lost, figures. Missing is said, never filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nsight_suite.drawing import Drawn
from nsight_suite.errors import CannotAnswer
from nsight_suite.evidence.store import Store
from nsight_suite.evidence.versions import EvidenceReplaced
from nsight_suite.querying import run_named

_STATES = {
    "running": "The run has not ended, or was killed: passes that were asked for may be missing.",
    "incomplete": "The run is incomplete: not every pass that was asked for ended well.",
}


def lacking(info: Mapping[str, Any], store: Store, drawn: Drawn) -> tuple[str, ...]:
    """A sentence for everything that was asked for and is not there, with its reason."""
    return tuple(_lacking(info, store, drawn))


def state(info: Mapping[str, Any]) -> str:
    """A warning that belongs on top of the report of a run that is not complete; else nothing."""
    return _STATES.get(str(info.get("state")), "")


def answer(store: Store, query: str, experiment: str = "") -> list[dict[str, Any]] | None:
    """The rows of a named query; None where a table that it reads is lost."""
    try:
        return run_named(store, query, experiment).records()
    except EvidenceReplaced:
        raise
    except CannotAnswer:
        return None


def _lacking(info: Mapping[str, Any], store: Store, drawn: Drawn) -> Iterator[str]:
    if told := state(info):
        yield told
    rows = answer(store, "passes")
    if rows is not None:  # else its table is among those below
        for row in rows:
            if row["state"] != "ok":
                yield f"Pass {row['pass']} is {row['state']}: {row['reason'] or 'no reason was recorded'}"
        for name in _absent(info.get("passes") or (), rows):
            yield f"Pass {name} was asked for and left no record."
    for table, reason in store.missing.items():
        yield f"The table {table} of the evidence is missing: {reason}"
    for name, reason in drawn.left_out.items():
        yield f"The figure {name} cannot be drawn: {reason}"


def _absent(asked: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    known = {row["pass"] for row in rows}
    return [name for name in asked if name not in known]
