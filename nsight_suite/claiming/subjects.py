"""Of which of two cases a sentence says that it is faster, slower, less or more."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nsight_suite.claiming.claims import Claim
from nsight_suite.claiming.values import Case
from nsight_suite.claiming.words import Direction, sentence_around

# What stands before the case that another is compared with, with few words between.
_AGAINST = (
    r"\b(?:than|over|against|versus|vs\.?|instead of|rather than|compared (?:with|to)|relative to|unlike|"
    r"beside)"
)
_OBJECT = re.compile(
    rf"{_AGAINST}(?:\s+(?!(?:is|are|was|takes|runs|needs)\b)[\w:'`-]+){{0,3}}?\s*$", re.IGNORECASE
)


def subject_of(claim: Claim, direction: Direction) -> int | None:
    """0 when the sentence is about the first case of the claim's pair, 1 for the second, None when it is open.

    It tells by the words in which the two differ: what follows "than" is what the subject is compared with;
    else the subject is what alone is named before the number.
    """
    if not claim.value.pair:
        return None
    text = claim.block.text
    start, end = sentence_around(text, claim.start)
    number_end = max(claim.end, direction.end if direction.start >= claim.end else 0)
    names = [_names(*claim.value.pair), _names(*reversed(claim.value.pair))]
    after = text[number_end:end]
    if than := re.match(
        r"[^.;]*?\b(?:than|as|of|over|compared (?:with|to)|against|versus|vs\.?)\b(?P<rest>[^,;:—]*)", after
    ):
        named = [bool(_mentions(one, than["rest"])) for one in names]
        if named[0] != named[1]:
            return 1 if named[0] else 0
    before = text[start : min(claim.start, direction.start)]
    clause = re.split(r"[,;:—–](?=\s)", before)[-1]
    return next((found for part in (clause, before) if (found := _lead(names, part)) is not None), None)


def _lead(names: Sequence[list[str]], before: str) -> int | None:
    """Which of two cases a text names as its subject: alone, or with the other as what it is compared with."""
    found = [_mentions(one, before) for one in names]
    leads = [any(not _OBJECT.search(before[: match.start()]) for match in one) for one in found]
    if leads[0] != leads[1]:
        return 0 if leads[0] else 1
    if not any(leads) and bool(found[0]) != bool(found[1]):  # only what it is compared with is named
        return 1 if found[0] else 0
    return None


def _names(case: Case, other: Case) -> list[str]:
    """The parts of a case's id that the other has not."""
    others = other.case_id.split(":")
    return [part for part in case.case_id.split(":") if part and part not in others]


def _mentions(names: list[str], text: str) -> list[re.Match[str]]:
    patterns = [re.escape(name).replace("_", r"[_\s-]").replace(r"\_", r"[_\s-]") for name in names]
    if not patterns:
        return []
    return list(re.finditer(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)", text, re.IGNORECASE))
