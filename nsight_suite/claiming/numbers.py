"""Numbers as people write them: grouped digits, exponents, units, signs, words.

Everything works on plain text and tells positions in it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from nsight_suite.claiming.units import NONE, UNITS, Unit

Span = tuple[int, int]

# No-break, figure, thin and narrow no-break spaces: all stand between digits and before units.
SPACES = " \u00a0\u2007\u2009\u202f"
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
UNIT_NAMES = "|".join(re.escape(name) for name in sorted(UNITS, key=len, reverse=True))
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "k": 10**3, "M": 10**6}
_SCALES |= {"K": 10**3, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}

# `µs/call` is still µs: the evidence tells of one invocation.
_PER_ONE = r"(?:call|invocation|iteration|op|launch|run|replay|element|row|kernel|graph|job|task)s?\b"

_NUMBER = re.compile(
    rf"""
    (?<!\^) (?P<sign>(?<![\w\d)\]%])[+\-−])?
    (?P<digits>
        \d{{1,3}}(?:(?P<group>[,'’{SPACES}])\d{{3}})(?:(?P=group)\d{{3}})*(?!\d) (?:\.\d+)?
      | \d+,\d{{1,2}}(?![\d,])                      # a decimal comma
      | \d+(?:\.\d+)?
      | (?<![\d.])\.\d+
    )
    (?P<power>
        [eE][+\-−]?\d+(?!\w)
      | (?:[{SPACES}]?[×x·*⋅][{SPACES}]?10)? (?: [⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+ | \^\{{?[+\-−]?\d+\}}? )
    )?
    (?:[{SPACES}](?P<scale>thousand|million|billion|trillion)\b | (?P<attached>[kKMG]i?)(?![\w/]))?
    (?P<unit>[{SPACES}\-]? (?:{UNIT_NAMES}) (?!\w|\^|/(?!{_PER_ONE})) (?!(?<=[×x])[{SPACES}]?\d))?
    """,
    re.VERBOSE,
)

WORDS = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "twenty": 20,
    "hundred": 100,
    "thousand": 1000,
}
# Words for a factor: what they are as a ratio.
_FACTORS = {
    "twice": Fraction(2),
    "double": Fraction(2),
    "doubles": Fraction(2),
    "doubled": Fraction(2),
    "thrice": Fraction(3),
    "triple": Fraction(3),
    "tripled": Fraction(3),
    "half": Fraction(1, 2),
    "halves": Fraction(1, 2),
    "halved": Fraction(1, 2),
    "third": Fraction(1, 3),
    "quarter": Fraction(1, 4),
}
_WORD = re.compile(
    rf"\b(?:{'|'.join([*WORDS, *_FACTORS])})\b(?:[{SPACES}\-](?P<unit>{UNIT_NAMES})(?![\w/]))?", re.IGNORECASE
)
# A factor in words is no more exact than this share of it.
WORD_TOLERANCE = Fraction(1, 10)


@dataclass(frozen=True)
class Quantity:
    """A number with its unit, at `start` to `end` of its text.

    value   as written, in its unit, with its sign and scale
    step    what one more in its last written digit would be, in its unit
    number  the digits, without the unit
    """

    start: int
    end: int
    number: str
    value: Fraction
    step: Fraction
    unit: Unit = NONE
    signed: bool = False
    unit_is_spread: bool = False
    is_word: bool = False
    is_factor: bool = False

    @property
    def base(self) -> Fraction:
        """The value in base units."""
        return self.value * self.unit.scale

    @property
    def half_step(self) -> Fraction:
        """Half of the last digit in base units: how far off a rightly rounded value may be."""
        return self.step * self.unit.scale / 2


def quantities(text: str, ignored: Sequence[Span] = ()) -> Iterator[Quantity]:
    """The numbers of a text that touch none of the ignored spans, in order; see `spread_units` for ranges
    and `no_claims` for what to ignore."""
    position, skip = 0, _merged(ignored)
    while match := _NUMBER.search(text, position):
        start, end = match.span("digits")
        if hit := _touching(skip, start, end):
            position = max(hit[1], start + 1)
            continue
        if found := _quantity(match, skip):
            yield found
            position = found.end
        else:
            position = end


def _merged(spans: Sequence[Span]) -> list[Span]:
    """The same places, as spans that do not overlap, in order."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _touching(spans: Sequence[Span], start: int, end: int) -> Span | None:
    """The first of some ordered spans that shares a character with start to end."""
    index = bisect_right(spans, start, key=lambda span: span[1])
    return spans[index] if index < len(spans) and spans[index][0] < end else None


def spread_units(text: str, found: Sequence[Quantity]) -> list[Quantity]:
    """In `42–47 µs`, `1.2, 1.3 and 1.4 ms` the unit holds for all: who has none takes that of the next."""
    spread: list[Quantity] = []
    for one in reversed(found):
        after = spread[-1] if spread else None
        if after and not one.unit.name and after.unit.name and _IN_A_ROW.fullmatch(text[one.end : after.start]):
            spread.append(replace(one, unit=after.unit, unit_is_spread=True))
        else:
            spread.append(one)
    return spread[::-1]


_IN_A_ROW = re.compile(rf"[{SPACES}]?(?:[–—\-−±]|\bto\b|\band\b|\bor\b|,|,? and)[{SPACES}]?")


def number_words(text: str) -> Iterator[Quantity]:
    """Numbers that are written as words: three, twice, half."""
    for match in _WORD.finditer(text):
        word = re.match(r"\w+", match[0])
        assert word is not None
        name = word[0].lower()
        factor = name in _FACTORS
        value = _FACTORS[name] if factor else Fraction(WORDS[name])
        unit = UNITS.get(match["unit"] or "", NONE)
        is_factor = factor or unit == UNITS["times"] or unit == UNITS["fold"]
        yield Quantity(
            match.start(), match.end(), word[0], value, Fraction(1), unit, is_word=True, is_factor=is_factor
        )


def _quantity(match: re.Match[str], ignored: Sequence[Span]) -> Quantity | None:
    digits = match["digits"]
    if match["group"]:
        digits = re.sub(rf"[,'’{SPACES}]", "", digits)
    elif "," in digits:
        digits = digits.replace(",", ".")
    if len(digits) > 400:
        return None
    value, decimals = Fraction(digits), len(digits.partition(".")[2])
    step = Fraction(1, 10**decimals)
    if power := match["power"]:
        raised = _raised(value, step, power)
        if raised is None:
            return None
        value, step = raised
    if scale := match["scale"] or match["attached"]:
        value, step = value * _SCALES[scale], step * _SCALES[scale]
    unit, end = NONE, match.end()
    if written := match["unit"]:
        is_ignored = _touching(ignored, match.start("unit"), end) is not None
        name = written.strip(SPACES)
        unit = NONE if is_ignored else UNITS.get(name) or UNITS[name.removeprefix("-")]
        end = match.start("unit") if is_ignored else end
    sign = match["sign"]
    start = match.start("sign") if sign else match.start("digits")
    number = match.string[start : match.start("unit") if match["unit"] else match.end()].strip(SPACES)
    return Quantity(start, end, number, -value if sign in ("-", "−") else value, step, unit, signed=bool(sign))


def _raised(value: Fraction, step: Fraction, power: str) -> tuple[Fraction, Fraction] | None:
    """A number with its exponent: 1e6, 1.6×10⁷, or a power alone, 2²⁴."""
    scientific = power[0] in "eE" or "10" in power[: power.find("^") if "^" in power else len(power)]
    exponent_text = (
        power[1:] if power[0] in "eE" else re.sub(rf"^[{SPACES}×x·*⋅]*(?:10)?\^?\{{?", "", power).rstrip("}")
    )
    exponent = int(exponent_text.translate(_SUPERSCRIPT).replace("−", "-"))
    if abs(exponent) > 300:
        return None
    if scientific:
        return value * Fraction(10) ** exponent, step * Fraction(10) ** exponent
    if value == 0 and exponent <= 0:
        return None
    return value**exponent, Fraction(1)
