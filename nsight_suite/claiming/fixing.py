"""Numbers that are wrong, written as what the evidence rounds to: with as many digits, and grouped alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from nsight_suite.claiming.numbers import Quantity

_PLAIN = re.compile(r"[+\-−]?(?P<whole>\d[\d,'’ \u00a0\u2007\u2009\u202f]*)(?:\.(?P<decimals>\d+))?")


@dataclass(frozen=True)
class Fix:
    """A number of the article at `line` and `column`, from 1, and what to write instead."""

    line: int
    column: int
    old: str
    new: str


def rewritten(quantity: Quantity, amount: Fraction) -> str:
    """The number, without its unit, that the amount, in base units, rounds to.

    Empty for words, for exponents, and where nothing would be left of the amount.
    """
    plain = _PLAIN.fullmatch(quantity.number)
    if not plain or quantity.is_word or quantity.step > 1:
        return ""
    digits = len(plain["decimals"] or "")
    rounded = round(amount / quantity.unit.scale * 10**digits)
    if amount and not rounded:
        return ""
    whole, decimals = divmod(abs(rounded), 10**digits)
    group = re.search(r"\D", plain["whole"])
    text = f"{whole:,}".replace(",", group[0]) if group else str(whole)
    sign = ("−" if "−" in quantity.number else "-") if rounded < 0 else ""
    return f"{sign}{text}.{decimals:0{digits}}" if digits else f"{sign}{text}"


def fixed(text: str, fixes: Iterable[Fix]) -> tuple[str, list[Fix]]:
    """The article with the numbers replaced, and which were. What does not stand where it should is left."""
    pieces = re.split(r"(\r\n|\r|\n)", text)  # lines and what ends them, in turn
    done = []
    for fix in sorted(set(fixes), key=lambda one: (one.line, -one.column)):
        place, start = 2 * (fix.line - 1), fix.column - 1
        if pieces[place].startswith(fix.old, start):
            pieces[place] = pieces[place][:start] + fix.new + pieces[place][start + len(fix.old) :]
            done.append(fix)
    return "".join(pieces), sorted(done, key=lambda one: (one.line, one.column))
