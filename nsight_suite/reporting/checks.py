"""The checks of the output arrays, summed up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsight_suite.reporting.tables import TextTable, text_table


def summary(rows: Sequence[Mapping[str, Any]] | None) -> str:
    """How many checks there were, and which failed, from the rows of the query `validation`, if it has any."""
    if rows is None:
        return "Whether any output was checked cannot be said: a table that tells of it is lost."
    if not rows:
        return "No output was checked: the numbers of this run may be those of wrong results."
    failed = sorted({f"{row['case_id']} ({_check(row)}, pass {row['pass']})" for row in rows if row["failed"]})
    checks = sum(row["fixtures"] for row in rows)
    held_out = sum(row["held_out"] for row in rows)
    cases = len({row["case_id"] for row in rows})
    said = f"{checks} checks of the outputs of {cases} cases, {held_out} of them on inputs held out to the end"
    return f"{said}: all passed." if not failed else f"{said}. FAILED: {'; '.join(failed)}."


def _check(row: Mapping[str, Any]) -> str:
    """A check with the array that it is of; runs of before arrays had names checked one."""
    return f"{row['check']} of {row['array']}" if row["array"] else str(row["check"])


def by_kind(rows: Sequence[Mapping[str, Any]]) -> TextTable:
    """Checks by pass and kind: a row for each case would run over pages."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["pass"], row["check"]), []).append(row)
    summed = [
        {
            "pass": pass_name,
            "check": check,
            "cases": len({row["case_id"] for row in group}),
            "arrays": len({row["array"] for row in group}),
            "checked": sum(row["fixtures"] for row in group),
            "failed": sum(row["failed"] for row in group),
            "worst": max((row["worst"] for row in group if row["worst"] is not None), default=None),
            "limit": max((row["limit"] for row in group if row["limit"] is not None), default=None),
        }
        for (pass_name, check), group in groups.items()
    ]
    headings = ("pass", "check", "cases", "arrays", "checked", "failed", "worst", "limit")
    about = "One row per pass and check, over all its cases; the worst is the largest violation among them."
    return text_table(
        "Checks of the output arrays", "validation", about, summed, dict(zip(headings, headings, strict=True))
    )
