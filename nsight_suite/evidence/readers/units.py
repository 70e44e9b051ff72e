"""Units as Nsight Compute prints them → base units.

ncu scales by 1000, not 1024 (9,472 byte prints as 9.47 Kbyte). Base units are the ones that
`--print-units base` gives: byte, ns, hz, %, plain counts; a rate's denominator of time is the second. Versions
spell them differently (nsecond and ns, cycle/nsecond and Ghz, sectors and sector); one spelling comes of all.
A unit that is not known has no scale: taking it as 1 would be a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from nsight_suite.evidence.readers import ncu_numbers

_PREFIXES = {"K": 3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_TIMES = {
    **dict.fromkeys(("ns", "nsecond", "nanosecond"), -9),
    **dict.fromkeys(("us", "usecond", "microsecond"), -6),
    **dict.fromkeys(("ms", "msecond", "millisecond"), -3),
    **dict.fromkeys(("s", "second"), 0),
}
_COUNTED = frozenset(
    {
        *(
            "byte",
            "bit",
            "hz",
            "inst",
            "warp",
            "thread",
            "block",
            "cluster",
            "cta",
            "register",
            "cycle",
            "sector",
        ),
        *("request", "pass", "wavefront", "transaction", "tag", "bank", "op", "flop", "tile", "query", "node"),
        *("edge", "sample", "branch", "launch", "grid", "lane", "hit", "miss", "message", "packet", "conflict"),
        *("access", "attribute", "fragment", "pixel", "primitive", "quad", "vertex", "SM", "TPC", "GPC", "%"),
    }
)
_OTHER_NAMES = {
    "branches": "branch",
    "queries": "query",
    "misses": "miss",
    "accesses": "access",
    "vertices": "vertex",
    "instruction": "inst",
    "instructions": "inst",
    "sm": "SM",
    "tpc": "TPC",
    "gpc": "GPC",
}
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity|[01]\.#(qnan|snan|inf|ind)[0-9]*)(\(.*\))?", re.IGNORECASE)


@dataclass(frozen=True)
class Scale:
    """A value in this unit, times ten to the power of `exponent`, is one in `base`."""

    exponent: int
    base: str


def scale(unit: str) -> Scale | None:
    """What a printed unit stands for; None for one that is not known.

    >>> scale("Kbyte"), scale("cycle/nsecond")
    (Scale(exponent=3, base='byte'), Scale(exponent=9, base='hz'))
    """
    unit = unit.strip()
    if not unit:
        return Scale(0, "")
    upper, slash, lower = unit.partition("/")
    above = _time(upper) or _counted(upper)
    if above is None or not slash:
        return above
    if lower in _TIMES:
        exponent = above.exponent - _TIMES[lower]
        return Scale(exponent, "hz" if above.base == "cycle" else f"{above.base}/s")
    below = _counted(lower)
    return below and Scale(above.exponent - below.exponent, f"{above.base}/{below.base}")


def absence(text: str) -> str | None:
    """Why a cell holds no value, or None when it holds one."""
    text = text.strip()
    if not text:
        return "empty in the report"
    if text.replace("(!)", "").strip().lower() in ("n/a", "na", "no data", ""):
        return f"the tool printed '{text}': the metric does not exist here or was not collected"
    if _NOT_FINITE.fullmatch(text.replace("(!)", "").strip()):
        return f"the tool printed '{text}'"
    return None


def number(text: str) -> Decimal | None:
    """The number that a cell prints in ncu's own format (67,112,192.5); None when it prints no finite one."""
    text = text.strip()
    reading = ncu_numbers.read(ncu_numbers.shape(text), (ncu_numbers.DEFAULT,))
    return Decimal(text.replace(",", "")) if reading is not None and reading.decimals is not None else None


def to_base(value: Decimal, unit: str) -> tuple[Decimal, str] | None:
    """A value in base units and the base unit's name; None for a unit that is not known.

    >>> to_base(Decimal("9.47"), "Kbyte")
    (Decimal('9.47E+3'), 'byte')
    """
    known = scale(unit)
    return None if known is None else (value.scaleb(known.exponent), known.base)


def _time(unit: str) -> Scale | None:
    return Scale(_TIMES[unit] + 9, "ns") if unit in _TIMES else None


def _counted(unit: str) -> Scale | None:
    if name := _name(unit):
        return Scale(0, name)
    if unit[:1] in _PREFIXES and (name := _name(unit[1:])) and name != "%":
        return Scale(_PREFIXES[unit[0]], name)
    return None


def _name(unit: str) -> str | None:
    if unit.lower() == "hz":
        return "hz"
    for name in (unit, _OTHER_NAMES.get(unit, ""), unit.removesuffix("s")):
        if name in _COUNTED:
            return name
    return None
