"""Numbers and units as Nsight Compute prints them → base units.

ncu scales by 1000, not 1024 (9,472 byte prints as 9.47 Kbyte). Base units are the ones that
`--print-units base` gives: byte, ns, hz, plain counts; a rate's denominator of time is the second.
"""

from __future__ import annotations

import re
from decimal import Decimal

_PREFIXES = {"K": 3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_TIMES_NS = {
    **dict.fromkeys(("ns", "nsecond"), Decimal(1)),
    **dict.fromkeys(("us", "usecond"), Decimal(10) ** 3),
    **dict.fromkeys(("ms", "msecond"), Decimal(10) ** 6),
    **dict.fromkeys(("s", "second"), Decimal(10) ** 9),
}
_COUNTED = frozenset(
    {
        *("byte", "hz", "inst", "warp", "thread", "block", "cluster", "register", "cycle", "sector", "request"),
        *(
            "pass",
            "wavefront",
            "transaction",
            "tag",
            "bank",
            "op",
            "flop",
            "tile",
            "query",
            "node",
            "SM",
            "TPC",
        ),
        *("GPC", "%"),
    }
)
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)(\(.*\))?", re.IGNORECASE)


def number(text: str) -> Decimal | None:
    """The number that a cell prints, thousands separators allowed; None when it prints no finite number."""
    text = text.strip()
    return Decimal(text.replace(",", "")) if _NUMBER.fullmatch(text) else None


def absence(text: str) -> str | None:
    """Why a cell holds no value, or None when it holds one."""
    text = text.strip()
    if not text:
        return "empty in the report"
    if text.removeprefix("(!)").strip().lower() == "n/a":
        return f"the tool printed '{text}': the metric does not exist here or was not collected"
    if _NOT_FINITE.fullmatch(text):
        return f"the tool printed '{text}'"
    return None


def to_base(value: Decimal, unit: str) -> tuple[Decimal, str] | None:
    """A value in base units and the base unit's name; None for a unit that is not known.

    >>> to_base(Decimal("9.47"), "Kbyte")
    (Decimal('9470'), 'byte')
    """
    if unit == "":
        return value, ""
    upper, slash, lower = unit.partition("/")
    scale = _scale(upper)
    if scale is None:
        return None
    factor, name = scale
    if slash:
        if lower in _TIMES_NS:
            return value * factor * Decimal(10) ** 9 / _TIMES_NS[lower], f"{name}/s"
        below = _scale(lower)
        if below is None:
            return None
        return value * factor / below[0], f"{name}/{below[1]}"
    return value * factor, name


def _scale(unit: str) -> tuple[Decimal, str] | None:
    if unit in _TIMES_NS:
        return _TIMES_NS[unit], "ns"
    if unit.lower() == "hz":
        return Decimal(1), "hz"
    if unit in _COUNTED:
        return Decimal(1), unit
    if unit[:1] in _PREFIXES:
        rest = "hz" if unit[1:].lower() == "hz" else unit[1:]
        if rest in _COUNTED and rest != "%":
            return Decimal(10) ** _PREFIXES[unit[0]], rest
    return None
