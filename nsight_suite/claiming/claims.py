"""A bound number or word of an article, with what its binding came to."""

from __future__ import annotations

from dataclasses import dataclass

from nsight_suite.claiming.blocks import Block
from nsight_suite.claiming.numbers import Quantity
from nsight_suite.claiming.values import Value


@dataclass(frozen=True)
class Claim:
    """What stands at `start` to `end` of a block's text, bound to a value.

    quantities  the numbers in it: one, two for a range, none for a text
    binding     the binding as it was written
    unit_given  the unit that the binding itself tells, for text that leaves it out
    """

    block: Block
    start: int
    end: int
    binding: str
    value: Value
    quantities: tuple[Quantity, ...] = ()
    unit_given: str = ""

    @property
    def text(self) -> str:
        return self.block.text[self.start : self.end]

    @property
    def is_plain(self) -> bool:
        """Whether it is one number as the evidence has it, no ratio or difference."""
        return len(self.quantities) == 1 and not self.value.relation
