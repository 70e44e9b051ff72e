"""One claim against its value: unit, rounding, words of comparison, direction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from nsight_suite.claiming.claims import Claim
from nsight_suite.claiming.findings import COMPARISON, DIRECTION, ROUNDING, TEXT, UNIT, VALUE
from nsight_suite.claiming.fixing import rewritten
from nsight_suite.claiming.numbers import WORD_TOLERANCE, Quantity
from nsight_suite.claiming.subjects import subject_of
from nsight_suite.claiming.units import NONE, PERCENT, PLAIN, RATE, UNITS, Unit, fitting, written
from nsight_suite.claiming.words import ABOUT, NEARLY, Direction, Kind, direction_near, qualifier_before


@dataclass(frozen=True)
class Problem:
    """What is wrong with a claim: a code, a message and a way out.

    `number` is the number that is wrong, and `right` what to write in its place, where that is clear.
    """

    code: str
    message: str
    way_out: str = ""
    number: Quantity | None = None
    right: str = ""


def check_claim(claim: Claim) -> Iterator[Problem]:
    """What is wrong with a bound number or text."""
    if claim.value.text is not None:
        yield from _check_text(claim)
        return
    for quantity, amount in zip(claim.quantities, claim.value.amounts, strict=True):
        yield from _check_number(claim, quantity, amount)


def _check_text(claim: Claim) -> Iterator[Problem]:
    told, held = _folded(claim.text), _folded(str(claim.value.text))
    if re.search(rf"(?<!\w){re.escape(held)}(?!\w)", told) and not re.search(r"\b(?:not|no|never)\b", told):
        return
    if held in ("true", "false") and told in ({"true": "yes", "false": "no"}[held], held):
        return
    yield Problem(TEXT, f"The evidence says '{claim.value.text}'.")


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", text.strip()).casefold()


def _check_number(claim: Claim, quantity: Quantity, amount: Fraction) -> Iterator[Problem]:
    with_unit = _with_unit(claim, quantity)
    if problem := _wrong_unit(claim, with_unit, amount):
        yield problem
        return
    direction = direction_near(claim.block.text, quantity.start, quantity.end) if claim.value.pair else None
    if claim.value.relation in ("difference", "change") and not quantity.signed:
        if direction and not _difference_points_so(claim, amount, direction):
            yield _wrong_direction(claim, direction, amount)
        amount = abs(amount)
    elif (
        direction and _is_factor(claim, with_unit) and not _ratio_points_so(claim, with_unit, amount, direction)
    ):
        yield _wrong_direction(claim, direction, amount)
    kind, words, _ = qualifier_before(claim.block.text, quantity.start)
    if problem := _compare(with_unit, amount, claim, kind, words):
        yield problem


def _with_unit(claim: Claim, quantity: Quantity) -> Quantity:
    """The quantity with the unit that holds for it: its own, the binding's, or that of its column's header."""
    if quantity.unit_is_spread and quantity.unit.dimension != claim.value.unit.dimension:
        quantity = replace(quantity, unit=NONE)  # the next number's alone: `3 and 42 µs`
    if quantity.unit.name:
        return quantity
    if claim.unit_given:
        return replace(quantity, unit=UNITS[claim.unit_given])
    return replace(quantity, unit=unit_in_header(claim.block.header) or quantity.unit)


def unit_in_header(header: str) -> Unit | None:
    """The unit that the header of a column names: `median, µs`, `read (MB)`, `GB/s`."""
    if match := re.search(r"(?:^|[\s,([/])([^\s,()[\]]+(?: per second)?)[)\]]?\s*$", header.strip()):
        return UNITS.get(match[1])
    return None


def _wrong_unit(claim: Claim, quantity: Quantity, amount: Fraction) -> Problem | None:
    unit, held = quantity.unit, claim.value.unit
    value = written(amount, fitting(amount, held.dimension))
    if unit.dimension != held.dimension:
        if not unit.name:
            return Problem(
                UNIT,
                f"{quantity.number} has no unit; the value is {value}.",
                "Write the unit, or add unit=… to the binding.",
            )
        fits = "a plain number" if held.dimension == PLAIN else f"measured in {held.dimension}"
        return Problem(UNIT, f"{unit.name} does not fit: the value is {fits}, {value}.")
    if held == PERCENT and not unit.name and not quantity.is_word:
        return Problem(
            UNIT, f"{quantity.number} has no unit; the value is {written(amount, PERCENT)}.", "Write %."
        )
    return None


def _compare(
    quantity: Quantity, amount: Fraction, claim: Claim, kind: Kind | None, words: str
) -> Problem | None:
    told, value = quantity.base, written(amount, quantity.unit if quantity.unit.name else claim.value.unit)
    holds = {
        "more": amount > told,
        "least": amount >= told,
        "less": amount < told,
        "most": amount <= told,
        "nearly": told * (1 - NEARLY) <= amount < told,
        "just over": told < amount <= told * (1 + NEARLY),
    }
    if kind in holds:
        # "steps over 4096 elements" compares nothing: of a bare count these may be plain prepositions.
        of_place = words.lower() in ("over", "within", "under") and not quantity.unit.name and amount == told
        if holds[kind] or of_place:
            return None
        return Problem(COMPARISON, f"'{words} {_as_written(quantity)}' is not true of {value}.")
    off = abs(amount - told)
    if off <= _allowed(quantity, claim) or (kind == "about" and off <= ABOUT * abs(told)):
        return None
    right = rewritten(quantity, amount)
    if off < 2 * quantity.half_step and not quantity.is_word:
        way_out = f"Write {_with_name(right, quantity.unit)}." if right else ""
        message = f"{value} does not round to {_as_written(quantity)}."
        return Problem(ROUNDING, message, way_out, quantity, right)
    hint = ""
    if claim.value.relation in ("ratio", "speedup") and amount and abs(1 / amount - told) <= quantity.half_step:
        hint, right = "The inverse fits: exchange the operands, or turn the sentence around.", ""
    return Problem(VALUE, f"The evidence says {value}, not {_as_written(quantity)}.", hint, quantity, right)


def _allowed(quantity: Quantity, claim: Claim) -> Fraction:
    """How far a rightly rounded number may be from its value."""
    if quantity.is_factor:
        return WORD_TOLERANCE * abs(quantity.base)
    if quantity.is_word and claim.value.unit.dimension == PLAIN:
        return Fraction(0)
    return quantity.half_step


def _as_written(quantity: Quantity) -> str:
    return _with_name(quantity.number, quantity.unit)


def _with_name(number: str, unit: Unit) -> str:
    return f"{number}{'' if unit.name in ('', '×', 'x', '-fold', 'fold') else ' '}{unit.name}"


def _is_factor(claim: Claim, quantity: Quantity) -> bool:
    return claim.value.relation in ("ratio", "speedup") and quantity.unit != PERCENT


def _is_lower(claim: Claim, direction: Direction) -> bool:
    """Whether the word says that the subject's value is the lower one: a higher rate is faster."""
    return direction.lower != (_is_of_rates(claim) and direction.speed)


def _is_of_rates(claim: Claim) -> bool:
    return any(one.unit == RATE for one in claim.value.measured)


def _difference_points_so(claim: Claim, amount: Fraction, direction: Direction) -> bool:
    """Whether first − second has the sign that the words give it; of an unnamed subject, the first is meant."""
    subject = subject_of(claim, direction)
    if direction.performance and claim.value.unit.dimension == PLAIN and not _is_of_rates(claim):
        # 181 % higher performance: the other's time is that much more than the subject's.
        return subject != 0 and (amount < 0) == direction.lower
    if claim.value.relation == "change" and subject == 1:
        return False  # a share of the second is not what the second has less, or more, than the first
    first_minus_second = -amount if subject == 1 else amount
    return (first_minus_second < 0) if _is_lower(claim, direction) else (first_minus_second > 0)


def _ratio_points_so(claim: Claim, quantity: Quantity, amount: Fraction, direction: Direction) -> bool:
    """Whether first over second goes the way that the words say: `2 times faster` is a factor above 1."""
    if direction.multiple and amount and abs(1 / amount - quantity.base) <= quantity.half_step:
        return True  # as long as one another
    if amount <= 1 and not direction.multiple:
        return False
    subject, lower = subject_of(claim, direction), _is_lower(claim, direction)
    if subject is None:
        return lower or direction.multiple or claim.value.relation != "speedup" or not direction.speed
    return lower == (subject == 1)


def _wrong_direction(claim: Claim, direction: Direction, amount: Fraction) -> Problem:
    assert claim.value.pair is not None
    first, second = claim.value.pair
    shown = written(amount, fitting(amount, claim.value.unit.dimension))
    return Problem(
        DIRECTION,
        f"'{direction.word}' points the wrong way: {first.case_id} "
        f"{'over' if claim.value.relation in ('ratio', 'speedup') else 'against'} {second.case_id} is {shown}.",
        "A share is one of its second value: 'A is x % faster than B' binds change(A,B)."
        if claim.value.relation == "change"
        else "",
    )
