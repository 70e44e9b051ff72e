"""Bindings whose values fit a number that is bound to nothing."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isfinite
from urllib.parse import quote

from nsight_suite.claiming.cells import subjects_of
from nsight_suite.claiming.evidence import Evidence
from nsight_suite.claiming.naming import Names
from nsight_suite.claiming.numbers import Quantity
from nsight_suite.claiming.runevidence import Row, RunEvidence
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
_FEWEST_DIGITS = 2
_MOST_TRIED = 60
# What articles are about: these are asked first, then the experiment's own queries.
_FIRST = (
    *("host_completion", "paired_speedup", "limits", "dram_bytes", "kernel_time", "kernel_counts", "batch"),
    *("session_completion", "profiler_overhead", "launch_split", "graph_setup", "copy_bandwidth", "device"),
    *("occupancy_limits", "early_starts", "task_tail", "kernel_summary", "memcpy_summary", "dram_by_kernel"),
)


@dataclass(frozen=True)
class _Cell:
    """A number of a run, in base units, and where it stands."""

    amount: Fraction
    run: RunEvidence
    query: str
    column: str
    row: Row


@dataclass(frozen=True)
class _Fitting:
    """A binding of a cell, the rank of its query, and of what its row is."""

    binding: str
    rank: int
    subjects: frozenset[tuple[str, str]]


class Suggestions:
    """The numbers of the runs, gathered once, when the first is asked for."""

    def __init__(self, evidence: Evidence, names: Names) -> None:
        self._evidence, self._names = evidence, names
        self._found: dict[tuple[str, int, int], Sequence[_Fitting]] = {}

    def for_number(self, quantity: Quantity, sentence: str, clause: str, most: int = 3) -> list[str]:
        """Bindings that the number would be right for, best first: those whose case its clause names.

        Of what the clause does not name the rest of the sentence tells. None where they name other cases, or
        where more fit than can be told apart.
        """
        digits = len(re.sub(r"\D", "", quantity.number).lstrip("0"))
        if digits < _FEWEST_DIGITS and not quantity.unit.name:
            return []
        # A count that happens to be as large is no factor and no share.
        kind = "factor" if quantity.unit.name and quantity.unit.dimension == PLAIN else quantity.unit.dimension
        cells = self._cells.get(kind, [])
        first = bisect_left(cells, quantity.base - quantity.half_step, key=lambda cell: cell.amount)
        last = bisect_right(cells, quantity.base + quantity.half_step, key=lambda cell: cell.amount)
        runs = [run.name for run in self._evidence.runs]
        named = {**self._names.near(sentence, runs), **self._names.near(clause, runs)}
        found: dict[str, tuple[int, int]] = {}
        for one in self._fitting(kind, first, last):
            hits = [name in named[dimension] for dimension, name in one.subjects if dimension in named]
            if all(hits):
                found.setdefault(one.binding, (-len(hits), one.rank))
        best = sorted(found, key=lambda binding: found[binding])
        return best[:most] if len(best) <= most or found[best[0]][0] else []

    def _fitting(self, kind: str, first: int, last: int) -> Sequence[_Fitting]:
        """Bindings of the cells from first to last of a kind."""
        if (kind, first, last) not in self._found:
            near = sorted(self._cells.get(kind, [])[first:last], key=lambda cell: _rank(cell.query))
            fitting = [
                _Fitting(self._binding(cell), _rank(cell.query), subjects_of(cell.run, [cell.row]))
                for cell in near[:_MOST_TRIED]
            ]
            self._found[kind, first, last] = [one for one in fitting if one.binding]
        return self._found[kind, first, last]

    @cached_property
    def _cells(self) -> Mapping[str, Sequence[_Cell]]:
        """Cells by their dimension, ascending; those without one that hold no count are factors too."""
        found: dict[str, list[_Cell]] = {}
        for run in self._evidence.runs:
            for query in dict.fromkeys((*_FIRST, *run.own_queries)):
                for row in run.rows_or_none(query):
                    for column, cell in row.items():
                        if isinstance(cell, int | float) and not isinstance(cell, bool) and isfinite(cell):
                            unit = of_column(column)
                            amount = Fraction(str(cell)) * unit.scale
                            one = _Cell(amount, run, query, column, row)
                            found.setdefault(unit.dimension, []).append(one)
                            if unit.dimension == PLAIN and isinstance(cell, float):
                                found.setdefault("factor", []).append(one)
        return {kind: sorted(cells, key=lambda cell: cell.amount) for kind, cells in found.items()}

    def _binding(self, cell: _Cell) -> str:
        """A short binding that names that row alone; empty where the usual columns do not tell it apart."""
        run, column, row = cell.run, cell.column, cell.row
        rows: Sequence[Row] = run.rows(cell.query)
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
        return f"claim:{prefix}{cell.query}/{column}" + ("?" + "&".join(conditions) if conditions else "")


def _rank(query: str) -> int:
    return _FIRST.index(query) if query in _FIRST else len(_FIRST)
