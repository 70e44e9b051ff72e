"""The runs that an article is held against, and the cells that its bindings name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from statistics import median
from typing import Any

from nsight_suite.claiming.binding import BindingError, Source
from nsight_suite.claiming.findings import AMBIGUOUS, NO_EVIDENCE, UNKNOWN
from nsight_suite.claiming.origins import Origin, origin_of
from nsight_suite.claiming.units import NONE, PERCENT, of_column
from nsight_suite.claiming.values import Case, Value
from nsight_suite.errors import CannotAnswer, UsageError
from nsight_suite.reconciliation.inference import Measured
from nsight_suite.reconciliation.measuring import CASES
from nsight_suite.run import Run

Row = Mapping[str, Any]

# Units as the operations of inference know them.
_INFERENCE_UNITS = {"ns": "ns", "byte": "byte"}


class Evidence:
    """Open runs, by the names that a binding may call them: folder, run id."""

    def __init__(self, runs: Sequence[Run]) -> None:
        """Raises UsageError when two runs share a name, CannotAnswer for a run without evidence."""
        for run in runs:
            _ = run.missing  # opens its evidence, or says why not
        self.runs = [RunEvidence(run) for run in runs]
        names = [one.name for one in self.runs]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise UsageError(
                f"Two of the runs are called '{twice}'.", "Give each once, and rename the folder of one."
            )

    def read(self, source: Source) -> Value:
        """The cell that a source names. Raises BindingError."""
        run, query, column = self._resolved(source)
        rows = [row for row in run.rows(query) if run.fits(row, query, source.where)]
        if not rows and source.take not in ("count", "distinct"):
            raise run.no_row(query, source.where)
        if source.take == "count" and not column:
            return Value((Fraction(len(rows)),), runs=(run.name,))
        run.require_column(query, column)
        return _taken(run, query, column, rows, source)

    def _resolved(self, source: Source) -> tuple[RunEvidence, str, str]:
        """(run, query, column) of a source's parts; the column is empty where rows are counted."""
        parts = list(source.parts)
        named = next((run for run in self.runs if parts[0] in run.names), None)
        if named and not (len(parts) < 3 and parts[0] in named.queries):
            parts.pop(0)
        elif len(parts) == 3:
            known = ", ".join(run.name for run in self.runs)
            raise BindingError(UNKNOWN, f"No run '{parts[0]}' was given.", f"Given: {known}.")
        if not parts or (len(parts) == 1 and source.take != "count"):
            raise self._no_column(source, parts)
        run = named or self._only_run(parts)
        run.require_query(parts[0])
        return run, parts[0], parts[1] if len(parts) > 1 else ""

    def _only_run(self, parts: Sequence[str]) -> RunEvidence:
        if len(self.runs) == 1:
            return self.runs[0]
        known = ", ".join(run.name for run in self.runs)
        raise BindingError(
            AMBIGUOUS,
            f"'{'/'.join(parts)}' does not say of which run.",
            f"Write claim:RUN/QUERY/COLUMN; runs: {known}.",
        )

    def _no_column(self, source: Source, parts: Sequence[str]) -> BindingError:
        name = parts[0] if parts else source.parts[0]
        if any(name in run.queries for run in self.runs):
            return BindingError(AMBIGUOUS, f"'{source}' names no column.", f"Write claim:{name}/COLUMN?…")
        return BindingError(
            UNKNOWN,
            f"'{source}' is neither a value that the article defines nor a query with a column.",
            f"Define it ([{name}]: claim:QUERY/COLUMN?…), or write claim:QUERY/COLUMN?….",
        )


@dataclass(frozen=True, eq=False)
class RunEvidence:
    """One open run: its rows, asked once."""

    run: Run

    @cached_property
    def name(self) -> str:
        return self.run.path.resolve().name

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset({self.name, str(self.run.info["run_id"])})

    @cached_property
    def queries(self) -> Mapping[str, Sequence[str]]:
        """The columns of each named query."""
        return {query.name: tuple(query.columns) for query in self.run.queries()}

    @cached_property
    def own_queries(self) -> Sequence[str]:
        """The queries that only this experiment has."""
        experiment = str(self.run.info["experiment"])
        return [query.name for query in self.run.queries() if query.path.parent.name == experiment]

    @cached_property
    def cases(self) -> Mapping[str, Case]:
        """The cases by their id."""
        if "variant_case" in self.run.missing:
            return {}
        rows = self.run.sql(CASES, as_="rows")
        return {
            row["case_id"]: Case(
                row["case_id"], {name: value for name, value in row.items() if name != "case_id"}
            )
            for row in rows
        }

    @cached_property
    def _answers(self) -> dict[str, Sequence[Row] | CannotAnswer]:
        return {}

    @cached_property
    def policies(self) -> Mapping[str, str]:
        """ncu's cache control by pass."""
        return {row["pass"]: row["cache_control"] or "" for row in self.rows_or_none("passes")}

    @cached_property
    def devices(self) -> Mapping[str, str]:
        """UUID of the GPU by pass."""
        return {row["pass"]: row["uuid"] for row in self.rows_or_none("device") if row["uuid"]}

    def rows(self, query: str) -> Sequence[Row]:
        """The rows of a query. Raises BindingError where the run cannot answer it."""
        if query not in self._answers:
            try:
                self._answers[query] = self.run.query(query, as_="rows")
            except CannotAnswer as error:
                self._answers[query] = error
        answer = self._answers[query]
        if isinstance(answer, CannotAnswer):
            raise BindingError(NO_EVIDENCE, answer.what, answer.way_out)
        return answer

    def rows_or_none(self, query: str) -> Sequence[Row]:
        """The rows of a query, none where the run cannot answer it."""
        try:
            return self.rows(query)
        except BindingError:
            return ()

    def device_of(self, row: Row, pass_name: str) -> str:
        """UUID of the GPU that a row is from, empty when unknown."""
        told = row.get("uuid") or row.get("device_uuid")
        if told:
            return str(told)
        known = set(self.devices.values())
        return self.devices.get(pass_name, "") or (known.pop() if len(known) == 1 else "")

    def require_query(self, name: str) -> None:
        if name not in self.queries:
            raise BindingError(UNKNOWN, f"There is no query '{name}'.", _close(name, self.queries))

    def require_column(self, query: str, column: str) -> None:
        if column not in self.queries[query]:
            columns = self.queries[query]
            raise BindingError(
                UNKNOWN,
                f"The query {query} has no column '{column}'.",
                _close(column, columns) or f"It has: {', '.join(columns)}.",
            )

    def column_named(self, query: str, name: str) -> str:
        """The column that a condition means: `case` is short for case_id. Raises BindingError."""
        name = "case_id" if name == "case" and "case" not in self.queries[query] else name
        self.require_column(query, name)
        return name

    def fits(self, row: Row, query: str, where: Sequence[tuple[str, str]]) -> bool:
        return all(_same(row[self.column_named(query, name)], value) for name, value in where)

    def no_row(self, query: str, where: Sequence[tuple[str, str]]) -> BindingError:
        """Why no row fits: the first condition that none of those before leaves a row for."""
        rows = list(self.rows(query))
        if not rows:
            return BindingError(
                NO_EVIDENCE,
                f"The query {query} has no rows in {self.name}.",
                f"python -m nsight_suite.query {self.name} {query}",
            )
        for name, value in where:
            column = self.column_named(query, name)
            left = [row for row in rows if _same(row[column], value)]
            if not left:
                known = list(dict.fromkeys(str(row[column]) for row in rows))
                way_out = (
                    _close(value, known)
                    or f"There are: {', '.join(known[:6])}{' …' if len(known) > 6 else ''}."
                )
                code = NO_EVIDENCE if column == "case_id" and value in self.cases else UNKNOWN
                return BindingError(code, f"No row of {query} in {self.name} has {column} '{value}'.", way_out)
            rows = left
        raise AssertionError("some condition leaves no row")  # pragma: no cover


def _same(cell: object, value: str) -> bool:
    if cell is None:
        return value in ("", "NULL", "null")
    if isinstance(cell, bool):
        return value.lower() == str(cell).lower()
    if isinstance(cell, int | float):
        try:
            return Fraction(value) == Fraction(str(cell))
        except (ValueError, ZeroDivisionError):
            return False
    return str(cell) == value


def _close(name: str, known: Sequence[str] | Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(close)}?" if close else ""


def _taken(run: RunEvidence, query: str, column: str, rows: Sequence[Row], source: Source) -> Value:
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
    )


def _measured(
    run: RunEvidence, rows: Sequence[Row], origin: Origin, amount: Fraction, dimension: str
) -> Measured:
    case_ids = {str(one.get("case_id") or "") for one in rows}
    case_id = case_ids.pop() if len(case_ids) == 1 else ""
    case = run.cases.get(case_id)
    unit = _INFERENCE_UNITS.get(dimension, dimension)
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
