"""The shapes of the cells of a report (see ncu_numbers.py), gathered while it is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from nsight_suite.evidence.readers import ncu_numbers, units

# Numbers that can only be whole show which number format a file has.
_WHOLE = re.compile(
    r"device__attribute_.*|launch__(grid|block)_(size|dim_[xyz])|launch__thread_count|(Grid|Block) Size|Threads"
)
# A longer text is no number, and has no shape.
_LONGEST_NUMBER = 64
_NONE = -1


@dataclass
class Shapes:
    """The shapes met so far.

    numbers    each shape, and the number that stands for it
    with_unit  the numbers of those that a cell with a unit has
    whole      the texts of metrics that can only be integers
    """

    numbers: dict[str, int] = field(default_factory=dict)
    with_unit: set[int] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    _has_unit: dict[int, bool] = field(default_factory=dict)
    _is_whole: dict[int, bool] = field(default_factory=dict)

    def begin_metric(self, number: int, name: str, unit: str | None) -> None:
        """Tell of the metric that a number stands for."""
        self._has_unit[number] = bool(unit)
        scaled = unit is not None and ((known := units.scale(unit)) is None or known.exponent != 0)
        self._is_whole[number] = not scaled and _WHOLE.fullmatch(name) is not None

    def of(self, metric: int, text: str) -> int:
        """The number of a text's shape; -1 when it is too long to have one."""
        if len(text) > _LONGEST_NUMBER:
            return _NONE
        number = self.numbers.setdefault(ncu_numbers.shape(text), len(self.numbers))
        if self._has_unit[metric]:
            self.with_unit.add(number)
        if self._is_whole[metric]:
            self.whole.add(text)
        return number

    def of_row(self, metrics: Sequence[int], texts: Sequence[str]) -> list[int]:
        """The numbers of a whole row: what `of` gives of each, faster."""
        shapes = ncu_numbers.shapes(ncu_numbers.BETWEEN.join(texts)).split(ncu_numbers.BETWEEN)
        if len(shapes) != len(texts) or max(map(len, texts), default=0) > _LONGEST_NUMBER:
            return [self.of(metric, text) for metric, text in zip(metrics, texts, strict=True)]
        numbers, has_unit, is_whole = self.numbers, self._has_unit, self._is_whole
        found = [numbers.get(shape, _NONE) for shape in shapes]
        for index, number in enumerate(found):
            metric = metrics[index]
            if number == _NONE or is_whole[metric]:
                found[index] = self.of(metric, texts[index])
            elif has_unit[metric] and number not in self.with_unit:
                self.with_unit.add(number)
        return found
