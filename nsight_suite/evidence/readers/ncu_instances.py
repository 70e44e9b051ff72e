"""The values of a metric's instances, which `--print-metric-instances` puts into one cell: "6 (1; 2; 3)".

With `values` the instances have no names, with `details` each is preceded by its correlation id: an address, an
opcode, a time. A metric may have instances only, and then no value before the bracket.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CELL = re.compile(r"(?:(?P<aggregate>[^(;]*?) )?\((?P<list>.*)\)", re.DOTALL)
_NUMBER = re.compile(
    r"[+-]?[0-9][0-9.,'\u2019 \u00a0\u2007\u2009\u202f]*(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf)\S*|n/a|no data",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Instances:
    """The printed value of the metric as a whole, "no data" without one, and (name, value) of its instances."""

    aggregate: str
    values: list[tuple[str, str]]


def instances(text: str) -> Instances | None:
    """The instances in a cell; None when it is an ordinary value, such as "(256, 1, 1)" or "foo (bar)".

    >>> instances("6 (IMAD: 2; MOV: 4)")
    Instances(aggregate='6', values=[('IMAD', '2'), ('MOV', '4')])
    """
    match = _CELL.fullmatch(text)
    if not match:
        return None
    pieces = [piece.rpartition(": ") for piece in match["list"].split("; ")]
    named = all(separator for _, separator, _ in pieces)
    if not named and any(separator for _, separator, _ in pieces):
        return None
    aggregate = match["aggregate"]
    repeated = len(pieces) == 1 and pieces[0][2] == aggregate  # CachePreferNone (CachePreferNone)
    shown = [value for _, _, value in pieces] + ([aggregate] if aggregate is not None else [])
    if not repeated and not all(_NUMBER.fullmatch(value) for value in shown):
        return None
    if aggregate is None and len(pieces) == 1 and not named:
        return None
    names = [name if named else f"#{index}" for index, (name, _, _) in enumerate(pieces, 1)]
    return Instances(
        aggregate or "no data", [(name, piece[2]) for name, piece in zip(names, pieces, strict=True)]
    )
