"""The value of a column in the rows that a binding chose, with how it was had."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from statistics import median
from typing import Any

from nsight_suite.claiming.binding import BindingError, Source
from nsight_suite.claiming.findings import AMBIGUOUS, NO_EVIDENCE, UNKNOWN
from nsight_suite.claiming.origins import Origin, origin_of
from nsight_suite.claiming.runevidence import Row, RunEvidence
from nsight_suite.claiming.units import NONE, PERCENT, of_column
from nsight_suite.claiming.values import DIMENSIONS, Case, Value
from nsight_suite.reconciliation.inference import Measured


def taken(run: RunEvidence, query: str, column: str, rows: Sequence[Row], source: Source) -> Value:
    """What `source` makes of a column of these rows. Raises BindingError where that is nothing, or several."""
    cells = [row[column] for row in rows]
    present = [cell for cell in cells if cell is not None]
    if source.take == "count":
        return Value((Fraction(len(present)),), columns=(column,), runs=(run.name,))
    if source.take == "distinct":
        return Value((Fraction(len({str(cell) for cell in present})),), columns=(column,), runs=(run.name,))
    if len(present) < len(cells) or not present:
        row = next(row for row in rows if row[column] is None)
        raise BindingError(
            NO_EVIDENCE, _why_null(query, column, row), f"python -m nsight_suite.query {run.name} {query}"
        )
    if not source.take and len({str(cell) for cell in cells}) > 1:
        raise BindingError(AMBIGUOUS, f"{len(rows)} rows of {query} fit.", _what_tells_apart(rows, column))
    if not isinstance(present[0], int | float | Decimal) or isinstance(present[0], bool):
        return _text_value(run, column, present, source)
    return _number(run, query, column, rows, source)


def _text_value(run: RunEvidence, column: str, cells: Sequence[Any], source: Source) -> Value:
    if source.take:
        raise BindingError(
            UNKNOWN, f"{column} holds text, of which there is no {source.take}.", "Leave out take=."
        )
    cell = cells[0]
    text = ", ".join(map(str, cell)) if isinstance(cell, list | tuple) else str(cell)
    return Value(text=text, columns=(column,), runs=(run.name,))


_STATISTICS: Mapping[str, Callable[[Sequence[Fraction]], tuple[Fraction, ...]]] = {
    "": lambda all_: (all_[0],),
    "median": lambda all_: (median(all_),),
    "mean": lambda all_: (sum(all_, Fraction(0)) / len(all_),),
    "min": lambda all_: (min(all_),),
    "max": lambda all_: (max(all_),),
    "sum": lambda all_: (sum(all_, Fraction(0)),),
    "range": lambda all_: (min(all_), max(all_)),
}


def _number(run: RunEvidence, query: str, column: str, rows: Sequence[Row], source: Source) -> Value:
    try:
        amounts = [Fraction(str(row[column])) for row in rows]
    except ValueError as error:  # infinite, or not a number
        raise BindingError(NO_EVIDENCE, f"{column} of {query} holds no finite number.") from error
    first = rows[0]
    unit = of_column(column, str(first.get("unit") or "") if column == "value" else "")
    origin = origin_of(query, column, first, run.policies)
    value = tuple(amount * unit.scale for amount in _STATISTICS[source.take](amounts))
    pair = _pair(run, query, column, first) if len(rows) == 1 else None
    return Value(
        amounts=value,
        unit=unit,
        measured=tuple(_measured(run, rows, origin, amount, unit.dimension) for amount in value),
        columns=(column,),
        pair=pair,
        relation=("speedup" if column == "speedup" else "difference" if column == "difference_ns" else "")
        if pair
        else "",
        runs=(run.name,),
        subjects=subjects_of(run, rows),
        take=source.take,
    )


def subjects_of(run: RunEvidence, rows: Sequence[Row]) -> frozenset[tuple[str, str]]:
    """(dimension, name) that the rows tell of their cases: by its id, or in columns of their own."""
    found: set[tuple[str, str]] = set()
    for row in rows:
        cases = [run.cases[str(row[name])] for name in ("case_id", "baseline") if row.get(name) in run.cases]
        for told in [case.traits for case in cases] or [row]:
            found |= {(name, str(told[name])) for name in DIMENSIONS if isinstance(told.get(name), str)}
    return frozenset(found)


def _measured(
    run: RunEvidence, rows: Sequence[Row], origin: Origin, amount: Fraction, dimension: str
) -> Measured:
    case_ids = {str(one.get("case_id") or "") for one in rows}
    case_id = case_ids.pop() if len(case_ids) == 1 else ""
    case = run.cases.get(case_id)
    unit = dimension
    if origin.method == "occupancy-limit" and dimension == NONE.dimension:
        unit = "block"
    elif origin.method == "ncu-counter":
        unit, amount = "%", amount / PERCENT.scale
    return Measured(
        float(amount),
        unit,
        origin.method,
        origin.caches,
        origin.scope,
        case_id,
        run.device_of(rows[0], origin.pass_name),
        case.traits if case else {},
    )


def _pair(run: RunEvidence, query: str, column: str, row: Row) -> tuple[Case, Case] | None:
    """The two cases of a row that compares them: first over, or minus, second."""
    if query != "paired_speedup":
        return None
    cases = [run.cases.get(str(row[name]), Case(str(row[name]))) for name in ("baseline", "case_id")]
    return (cases[1], cases[0]) if column == "difference_ns" else (cases[0], cases[1])


def _why_null(query: str, column: str, row: Row) -> str:
    reason = next((str(row[name]) for name in ("reason", "caveat") if row.get(name)), "")
    return f"{column} of {query} is missing there" + (
        f": {reason}" if reason else ": the run does not hold it."
    )


def _what_tells_apart(rows: Sequence[Row], column: str) -> str:
    told = []
    for name in rows[0]:
        values = list(dict.fromkeys(str(row[name]) for row in rows))
        if name != column and 1 < len(values) <= 12 and isinstance(rows[0][name], str):
            told.append(f"{name}={'|'.join(values[:4])}{'|…' if len(values) > 4 else ''}")
    if not told:
        return (
            f"Say which row (&COLUMN=VALUE), or what to make of them: take={'|'.join(_STATISTICS).strip('|')}."
        )
    return f"Say which: {' '.join(told[:4])}; or what to make of them: take=median …"
