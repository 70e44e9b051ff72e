"""Two bound numbers of one sentence that are compared with one another: `42 µs, faster than 110 µs`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from nsight_suite.claiming.checking import Problem
from nsight_suite.claiming.claims import Claim
from nsight_suite.claiming.findings import COMPARISON
from nsight_suite.claiming.units import RATE, fitting, written
from nsight_suite.claiming.words import NEGATION, sentence_around

_LOWER = "less|fewer|lower|shorter|smaller|faster|quicker|cheaper|below|under"
_HIGHER = "more|higher|longer|larger|greater|bigger|slower|above|over"
_HOW = (
    r"(?:(?:much|far|well|clearly|slightly|still|even|a little|a bit|significantly|which is|so|thus|and so)"
    r"\s+)*"
)
_WORD = rf"\b(?P<word>{_LOWER}|{_HIGHER})(?:\s+than)?\b(?P<rest>[^.;:]*)$"
# What may stand between two numbers for the word to be about the first: nothing that names another.
_BETWEEN = (
    re.compile(rf"^[\s,()—–-]*{_HOW}{_WORD}", re.IGNORECASE),
    re.compile(
        rf"^[^.;:,]*\b(?:is|are|was|were|runs|ran|takes|took|finishes|needs)\s+{_HOW}{_WORD}", re.IGNORECASE
    ),
)
# `staged (161 µs) > fused (78 µs)`
_SYMBOL = re.compile(r"[\s)]*(?P<word>[<>])[^<>.;:]*")
_ANOTHER_SUBJECT = re.compile(r"\b(?:and|but|while|whereas|or)\b(?! so\b)", re.IGNORECASE)
_SPEED = ("faster", "quicker", "slower")


def check_comparisons(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Problem]]:
    """Comparisons between neighbouring numbers of one sentence that are not true, each with the later claim.

    `claims` are those of one block, in order.
    """
    for one, other in pairwise(claims):
        if not comparable(one, other):
            continue
        word = comparing_word(one, other)
        if word and not _is_true(one, other, word):
            first, second = (
                written(claim.value.amount, fitting(claim.value.amount, claim.value.unit.dimension))
                for claim in (one, other)
            )
            yield other, Problem(COMPARISON, f"'{word}' is not true: {first} against {second}.")


def comparable(one: Claim, other: Claim) -> bool:
    """Whether two claims are single numbers of one kind in one sentence, and not the same value."""
    if not (one.is_plain and other.is_plain) or one.binding == other.binding:
        return False
    if one.value.unit.dimension != other.value.unit.dimension:
        return False
    text = one.block.text
    return sentence_around(text, one.start) == sentence_around(text, other.start)


def comparing_word(one: Claim, other: Claim) -> str:
    """The word that compares one number with the next: faster, less …; empty where none does."""
    between = one.block.text[one.quantities[0].end : other.quantities[0].start]
    if symbol := _SYMBOL.fullmatch(between):
        return symbol["word"]
    match = next((found for pattern in _BETWEEN if (found := pattern.match(between))), None)
    if not match or NEGATION.search(between) or _ANOTHER_SUBJECT.search(between):
        return ""
    if not re.search(r"\bthan\b", between) and match["word"].lower() not in ("below", "under", "above", "over"):
        return ""
    return match["word"]


def _is_true(one: Claim, other: Claim, word: str) -> bool:
    lower = bool(re.fullmatch(f"{_LOWER}|<", word, re.IGNORECASE))
    if word.lower() in _SPEED and one.value.unit.dimension == RATE:
        lower = not lower
    first, second = one.value.amount, other.value.amount
    return first < second if lower else first > second
