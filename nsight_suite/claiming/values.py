"""What a binding comes to: exact numbers in base units, or a text, and how each was had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from nsight_suite.claiming.units import NONE, Unit
from nsight_suite.reconciliation.inference import Measured

# In what the names of cases differ.
DIMENSIONS = ("variant", "submission", "shape")


@dataclass(frozen=True)
class Case:
    """A case by its id, and in what it can differ from another."""

    case_id: str
    traits: Mapping[str, object] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Value:
    """The value of a binding.

    amounts   in base units of `unit`'s dimension; two for a range, none for a text
    unit      the unit of the column
    text      for columns that hold no number, and for attributions
    measured  each quantity that it was made of, with how it was had
    columns   the columns that they are from
    pair      of a ratio or difference the two cases: first over, or minus, second
    relation  ratio, difference, change, speedup, or empty
    runs      names of the runs that were read
    subjects  (dimension, name) of the cases that it is of, as far as its rows tell them
    take      what was made of several rows: median, mean …, or empty
    """

    amounts: tuple[Fraction, ...] = ()
    unit: Unit = NONE
    text: str | None = None
    measured: tuple[Measured, ...] = ()
    columns: tuple[str, ...] = ()
    pair: tuple[Case, Case] | None = None
    relation: str = ""
    runs: tuple[str, ...] = ()
    subjects: frozenset[tuple[str, str]] = frozenset()
    take: str = ""

    @property
    def amount(self) -> Fraction:
        """The one number, or the first of a range."""
        return self.amounts[0]
