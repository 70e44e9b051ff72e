"""Which number format a file of ncu is printed in, decided over all its numbers.

ncu prints 67,112,192 and 1,398,170.67 by default; under another locale the same numbers are 67.112.192 and
1.398.170,67, or have spaces or apostrophes in them. One cell alone ("117.344") does not tell.

A number is looked at as its *shape*, the text with every digit as 0: a file of a million numbers has some
hundred shapes. What remains to be known of a shape is how many of its digits are decimals. A zero alone before
a separator keeps a sign of its own, as it shows that decimals follow: no thousands are printed as 0,125.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_SPACES = "[ \u00a0\u2007\u2009\u202f]"
_APOSTROPHES = "['\u2019]"
_DIGITS = str.maketrans("123456789", "000000000")
# Stands between the texts whose shapes are made at once, and for a zero alone: neither is ever printed.
BETWEEN, ZERO = "\x1f", "\x1e"
_ZEROS_ALONE = [(f"{BETWEEN}{sign}", separator) for sign in ("", "-", "+") for separator in ".,"]
# What may stand around a number. The queries beside this module trim the same.
_BLANK = " \t\r\n\u00a0\u2007\u2009\u202f"
_EXPONENT = r"(?:[eE][+-]?0{1,3})?"


@dataclass(frozen=True)
class Format:
    """A way of printing numbers, as a pattern of shapes whose group `decimals` holds the decimals."""

    name: str
    pattern: re.Pattern[str]

    def decimals(self, shape: str) -> int | None:
        """How many digits of a shape are decimals in this format; None when it is no number of it."""
        match = self.pattern.fullmatch(shape)
        return len(match["decimals"] or match["only"] or "") if match else None


@dataclass(frozen=True)
class Reading:
    """What a shape is: a number with so many decimals, or none for a reason."""

    decimals: int | None = None
    reason: str | None = None


def _format(name: str, thousands: str, decimal: str) -> Format:
    groups = rf"0{{1,3}}(?:(?P<mark>{thousands})000)(?:(?P=mark)000)*"
    if thousands == ",":  # in India groups of two stand above the last group of three
        groups += "|0{1,2}(?:,00)+,000"
    whole = rf"(?:{groups}|0+|{ZERO})(?:{decimal}(?P<decimals>0*))?|{decimal}(?P<only>0+)"
    return Format(name, re.compile(rf"[+-]?(?:{whole}){_EXPONENT}"))


DEFAULT = _format("commas between thousands and a decimal point", ",", r"\.")
FORMATS = (
    DEFAULT,
    _format("points between thousands and a decimal comma", r"\.", ","),
    _format("spaces between thousands and a decimal comma", _SPACES, ","),
    _format("spaces between thousands and a decimal point", _SPACES, r"\."),
    _format("apostrophes between thousands and a decimal point", _APOSTROPHES, r"\."),
    _format("apostrophes between thousands and a decimal comma", _APOSTROPHES, ","),
)


def shape(text: str) -> str:
    """
    >>> shape(" 67,112.5 ")
    '00,000.0'
    """
    return shapes(text.strip(_BLANK))


def shapes(texts: str) -> str:
    """The shapes of texts with BETWEEN between them. One with blanks around it is then no number's."""
    found = BETWEEN + texts
    for before, separator in _ZEROS_ALONE:
        found = found.replace(f"{before}0{separator}", f"{before}{ZERO}{separator}")
    return found[1:].translate(_DIGITS)


def is_evidence(shape: str) -> bool:
    """Whether a shape is a number with a separator in it, in some format."""
    return bool(shape.strip("+-0")) and any(known.decimals(shape) is not None for known in FORMATS)


def decide(shapes: Iterable[str], whole: Iterable[str] = ()) -> tuple[Format, ...]:
    """The formats in which all numbers of a file can be read; none when they contradict one another.

    `shapes` are those of the file's cells, `whole` the texts of numbers that can only be integers: a grid has
    no 65.536 blocks. ncu's own format is taken when nothing speaks against it, and then alone.
    """
    evidence = [one for one in set(shapes) if is_evidence(one)]
    integers = [text for text in set(whole) if any(known.decimals(shape(text)) for known in FORMATS)]
    possible = tuple(
        known
        for known in FORMATS
        if all(known.decimals(one) is not None for one in evidence)
        and all(_is_whole(text, known) for text in integers)
    )
    return (DEFAULT,) if DEFAULT in possible else possible


def read(shape: str, formats: Sequence[Format]) -> Reading | None:
    """What a shape is when numbers are printed in one of these formats; None for what is no number in any.

    Of no formats, only numbers without any separator can be read.
    """
    found = {decimals for known in formats or FORMATS if (decimals := known.decimals(shape)) is not None}
    if not found:
        return None
    if not formats and not re.fullmatch(r"[+-]?0+", shape):
        return Reading(reason="the file mixes number formats")
    if len(found) > 1:
        return Reading(reason="the file does not tell whether its separator parts thousands or decimals")
    return Reading(decimals=found.pop())


def _is_whole(text: str, known: Format) -> bool:
    decimals = known.decimals(shape(text))
    if not decimals or "e" in text.lower():
        return True
    digits = re.sub("[^0-9]", "", text)
    return not digits[-decimals:].strip("0")
