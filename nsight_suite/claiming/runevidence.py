"""One open run: the rows of its queries, each asked once, and what is told beside them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

from nsight_suite.claiming.binding import BindingError
from nsight_suite.claiming.findings import NO_EVIDENCE, UNKNOWN
from nsight_suite.claiming.values import Case
from nsight_suite.errors import CannotAnswer
from nsight_suite.reconciliation.measuring import CASES
from nsight_suite.run import Run

Row = Mapping[str, Any]


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

    @cached_property
    def device_names(self) -> frozenset[str]:
        """The GPUs of the run, such as `NVIDIA H200`."""
        return frozenset(str(row["name"]) for row in self.rows_or_none("device") if row["name"])

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
        failing = next(
            index
            for index in range(len(where))
            if not any(self.fits(row, query, where[: index + 1]) for row in rows)
        )
        name, value = where[failing]
        column = self.column_named(query, name)
        left = (row for row in rows if self.fits(row, query, where[:failing]))
        known = list(dict.fromkeys(str(row[column]) for row in left))
        way_out = _close(value, known) or f"There are: {', '.join(known[:6])}{' …' if len(known) > 6 else ''}."
        code = NO_EVIDENCE if column == "case_id" and value in self.cases else UNKNOWN
        return BindingError(code, f"No row of {query} in {self.name} has {column} '{value}'.", way_out)


def _same(cell: object, value: str) -> bool:
    if cell is None:
        return value in ("", "NULL", "null")
    if isinstance(cell, bool):
        return value.lower() == str(cell).lower()
    if isinstance(cell, int | float):
        try:
            return Decimal(value) == Decimal(str(cell))
        except InvalidOperation:
            return False
    return str(cell) == value


def _close(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(close)}?" if close else ""
