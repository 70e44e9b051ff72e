"""A comparison as text: what stands in the way, a row for each time, and counts that changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from textwrap import fill

from nsight_suite.comparing.results import (
    INCOMPARABLE,
    MISSING,
    UNCHANGED,
    VERDICTS,
    Comparison,
    Doubt,
    Row,
    Told,
    as_data,
)
from nsight_suite.querying.asking import Result
from nsight_suite.querying.formats import as_text

_TEXT, _NUMBER = "VARCHAR", "DOUBLE"
_TABLE = ("verdict", "quantity", "case", "A", "B", "change", "interval", "noise", "samples", "why not")
_MOST_CASES = 3
_WIDTH = 112


def as_json(comparison: Comparison, fail_on: Sequence[str]) -> str:
    """Everything, also what is unchanged, as JSON; numbers in base units."""
    return json.dumps(as_data(comparison, fail_on), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(comparison: Comparison) -> str:
    """Every row, also of what is unchanged, as CSV; numbers in base units."""
    names = (*(field.name for field in fields(Row)), "open")
    rows = tuple(
        tuple("+".join(row.queries) if name == "queries" else getattr(row, name) for name in names)
        for row in comparison.rows
    )
    return as_text(Result(names, (_TEXT,) * len(names), rows), "csv")


def as_table(
    comparison: Comparison, fail_on: Sequence[str], form: str = "table", *, whole: bool = False
) -> str:
    """For people: as plain text, or as Markdown (`md`). `whole` shows every count too."""
    shown = [
        row for row in comparison.rows if whole or row.is_time or row.verdict not in (UNCHANGED, INCOMPARABLE)
    ]
    cells = tuple(_cells(row) for row in shown)
    # A column that says nothing in any row is left out.
    used = [index for index in range(len(_TABLE)) if any(row[index] for row in cells)]
    result = Result(
        tuple(_TABLE[index] for index in used),
        tuple(_NUMBER if _TABLE[index] in ("A", "B", "change") else _TEXT for index in used),
        tuple(tuple(row[index] for index in used) for row in cells),
    )
    parts = [_head(comparison), _doubts(comparison.doubts)]
    parts += [as_text(result, form).rstrip("\n")] if cells else []
    parts += [_feet(comparison, fail_on)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        f"{VERDICTS[row.verdict]} {row.verdict}",
        row.quantity,
        row.case_id,
        _amount(row.before, row.unit),
        _amount(row.after, row.unit),
        "" if row.factor is None else _percent(row.factor - 1),
        "" if row.low is None or row.high is None else f"{_percent(row.low - 1)} to {_percent(row.high - 1)}",
        "" if row.noise is None else f"{row.noise:.1%} {row.noise_from}",
        row.how,
        row.reasons,
    )


def _amount(value: float | int | str | None, unit: str) -> str:
    match value:
        case None:
            return "–"
        case str():
            return value[:12] if unit == "sha256" else value
        case int():
            return f"{value:,}"
    return f"{value:,.0f} ns" if unit == "ns" else f"{value:.4f}"


def _percent(share: float) -> str:
    return f"{share:+.1%}"


def _head(comparison: Comparison) -> str:
    return "\n".join(f"{name}: {_told(run)}" for name, run in (("A", comparison.a), ("B", comparison.b)))


def _told(run: Told) -> str:
    parts = [
        run.run_id,
        run.created_utc,
        ", ".join(run.devices),
        f"driver {', '.join(run.drivers)}" if run.drivers else "",
        f"protocol {run.protocol_sha256[:12]}" if run.protocol_sha256 else "",
    ]
    return " · ".join(part for part in parts if part)


def _doubts(doubts: Sequence[Doubt]) -> str:
    """What blocks, what was allowed, what is told; of one code that concerns many cases the first few."""
    lines: list[str] = []
    by_code: dict[tuple[str, bool, bool], list[str]] = {}
    for doubt in doubts:
        where = f"passes {', '.join(sorted(doubt.passes))}: " if doubt.passes else ""
        by_code.setdefault((doubt.code, doubt.blocks, doubt.allowed), []).append(where + doubt.told)
    for (code, blocks, allowed), told in by_code.items():
        mark = (
            f"? not compared, {code}"
            if blocks
            else f"! compared all the same, {code}"
            if allowed
            else f"· {code}"
        )
        lines += [f"{mark}: {one}" for one in told[:_MOST_CASES]]
        if more := len(told[_MOST_CASES:]):
            lines.append(f"{mark}: {more} more like it")
        if blocks:
            lines.append(f"    to compare all the same: --allow {code}")
    return "\n".join(fill(line, _WIDTH, subsequent_indent="    ") for line in lines)


def _feet(comparison: Comparison, fail_on: Sequence[str]) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in comparison.counts().items())
    lines = [f"{counts or 'Nothing to compare'}."]
    if judged := comparison.judged:
        lines.append(
            f"Intervals hold together at {100 * comparison.options.confidence:.4g} %. Of {len(judged)} times "
            f"that did not change, {comparison.expected_false_alarms:.2g} would be expected to leave 0 % out "
            "by chance, before noise is asked. Intervals know the rounds of these sessions, not what another "
            "session would give: that is what noise stands for."
        )
    if still_open := [row for row in comparison.rows if row.open]:
        widest = max(max((row.high or 1) - 1, 1 - (row.low or 1)) for row in still_open)
        lines.append(
            f"Of the times within noise, {len(still_open)} do not exclude a change beyond it, "
            f"up to {widest:.1%}."
        )
    queries = dict.fromkeys(query for row in comparison.rows for query in row.queries)
    if queries:
        lines.append(f"From: {', '.join(queries)}.")
    lines.append(_outcome(comparison, fail_on))
    return "\n".join(fill(line, _WIDTH) for line in lines)


def _outcome(comparison: Comparison, fail_on: Sequence[str]) -> str:
    match comparison.exit_status(fail_on):
        case 0:
            counts = comparison.counts()
            unjudged = [
                f"{counts[verdict]} {verdict}" for verdict in (INCOMPARABLE, MISSING) if verdict in counts
            ]
            told = f" Not judged: {', '.join(unjudged)}." if unjudged else ""
            return f"Nothing {' or '.join(fail_on)}.{told}"
        case 1:
            found = [
                f"{count} {verdict}" for verdict, count in comparison.counts().items() if verdict in fail_on
            ]
            return f"Failed: {', '.join(found)}."
    return "No time could be compared."
