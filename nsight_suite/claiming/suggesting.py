"""Bindings whose values fit a number that is bound to nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from urllib.parse import quote

from nsight_suite.claiming.evidence import Evidence, Row, RunEvidence
from nsight_suite.claiming.numbers import Quantity
from nsight_suite.claiming.units import PLAIN, of_column

# What a case is told by first; other columns only where these leave several rows.
_KEYS = (
    "case_id",
    "baseline",
    "kernel",
    "name",
    "pass",
    "step",
    "stage",
    "metric",
    "submission",
    "shape",
    "variant",
)
_MOST_ROWS = 600
_FEWEST_DIGITS = 2
# Asked first: what articles are about.
_FIRST = ("host_completion", "paired_speedup", "limits", "dram_bytes", "kernel_time", "kernel_counts", "batch")


class Suggestions:
    """Every number of the runs, gathered once, when the first is asked for."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._cells: list[tuple[Fraction, str, RunEvidence, str, str, Row]] | None = None

    def for_number(self, quantity: Quantity, sentence: str, most: int = 3) -> list[str]:
        """Bindings that the number would be right for, best first: those whose case the sentence names."""
        digits = len(re.sub(r"\D", "", quantity.number).lstrip("0"))
        if digits < _FEWEST_DIGITS and not quantity.unit.name:
            return []
        if self._cells is None:
            self._cells = list(self._gathered())
        words = set(re.findall(r"[\w.]+", sentence.casefold()))
        found: dict[str, int] = {}
        for amount, dimension, run, query, column, row in self._cells:
            if dimension != quantity.unit.dimension or abs(amount - quantity.base) > quantity.half_step:
                continue
            if dimension == PLAIN and digits < 3 and quantity.unit.name == "" and amount.denominator != 1:
                continue
            binding = self._binding(run, query, column, row)
            if binding:
                named = sum(part.casefold() in words for part in re.split(r"[:/?&=]", binding))
                found.setdefault(binding, 2 * named - 10 * (query not in _FIRST))
        return sorted(found, key=lambda one: -found[one])[:most]

    def _gathered(self) -> Iterator[tuple[Fraction, str, RunEvidence, str, str, Row]]:
        for run in self._evidence.runs:
            for query, columns in sorted(run.queries.items(), key=lambda item: item[0] not in _FIRST):
                rows = run.rows_or_none(query)
                for row in rows if len(rows) <= _MOST_ROWS else ():
                    for column in columns:
                        cell = row.get(column)
                        if (
                            isinstance(cell, int | float)
                            and not isinstance(cell, bool)
                            and abs(cell) < float("inf")
                        ):
                            unit = of_column(column)
                            yield Fraction(str(cell)) * unit.scale, unit.dimension, run, query, column, row

    def _binding(self, run: RunEvidence, query: str, column: str, row: Row) -> str:
        """A short binding that names that row alone; empty where the usual columns do not tell it apart."""
        rows: Sequence[Row] = run.rows(query)
        conditions = []
        for key in _KEYS:
            if len({str(other[column]) for other in rows}) == 1:
                break
            if isinstance(row.get(key), str):
                left = [other for other in rows if other[key] == row[key]]
                if len(left) < len(rows):
                    conditions.append(f"{'case' if key == 'case_id' else key}={quote(row[key], safe=':._-')}")
                rows = left
        if len({str(other[column]) for other in rows}) != 1:
            return ""
        prefix = f"{run.name}/" if len(self._evidence.runs) > 1 else ""
        return f"claim:{prefix}{query}/{column}" + ("?" + "&".join(conditions) if conditions else "")
