"""The values of a metric's instances, which `--print-metric-instances` puts into one cell: "6 (1; 2; 3)".

With `values` the instances have no names, with `details` each is preceded by its correlation id: an address, an
opcode, a time. A metric may have instances only, and then no value before the bracket.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CELL = re.compile(r"(?:(?P<aggregate>[^(;]*?) )?\((?P<list>.*)\)", re.DOTALL)
_NUMBER = re.compile(
    r"[+-]?[0-9][0-9.,'\u2019 \u00a0\u2007\u2009\u202f]*(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf)\S*|n/a|no data",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Instances:
    """The printed value of the metric as a whole, "no data" without one, and the list of its instances."""

    aggregate: str
    listed: str
    named: bool

    def values(self) -> Iterator[tuple[str, str]]:
        """Name and value of each."""
        for index, (name, _, value) in enumerate(_pieces(self.listed), 1):
            yield name if self.named else f"#{index}", value


def instances(text: str) -> Instances | None:
    """The instances in a cell; None when it is an ordinary value, such as "(256, 1, 1)" or "foo (bar)".

    >>> found = instances("6 (IMAD: 2; MOV: 4)")
    >>> found.aggregate, list(found.values())
    ('6', [('IMAD', '2'), ('MOV', '4')])
    """
    match = _CELL.fullmatch(text)
    if not match:
        return None
    aggregate, listed = match["aggregate"], match["list"]
    # A source-level metric has thousands of instances, so none are gathered here.
    named = all(separator for _, separator, _ in _pieces(listed))
    if not named and any(separator for _, separator, _ in _pieces(listed)):
        return None
    one_only = "; " not in listed
    repeated = one_only and listed.rpartition(": ")[2] == aggregate  # CachePreferNone (CachePreferNone)
    if not repeated and not (
        all(_NUMBER.fullmatch(value) for _, _, value in _pieces(listed))
        and (aggregate is None or _NUMBER.fullmatch(aggregate))
    ):
        return None
    if aggregate is None and one_only and not named:
        return None
    return Instances(aggregate or "no data", listed, named)


def _pieces(listed: str) -> Iterator[tuple[str, str, str]]:
    """Name, separator and value of each instance; without a name both are empty."""
    begin = 0
    while (end := listed.find("; ", begin)) >= 0:
        yield listed[begin:end].rpartition(": ")
        begin = end + 2
    yield listed[begin:].rpartition(": ")
