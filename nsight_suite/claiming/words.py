"""Words around numbers: about, more than, faster, slower; and sentences.

All of it is English and looks near the number only.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

# What "about" allows, as a share of the number.
ABOUT = Fraction(1, 20)
# How far below "nearly" and above "just over" may be.
NEARLY = Fraction(1, 10)
# What is further away says nothing of a number.
LONGEST_CLAUSE = 400

Kind = Literal["about", "nearly", "just over", "more", "least", "less", "most"]
_QUALIFIERS: tuple[tuple[Kind, str], ...] = (
    ("least", r"at least|no less than|not less than|no fewer than|at the least|≥|>=|&ge;"),
    ("most", r"at most|no more than|not more than|at the most|≤|<="),
    ("just over", r"(?:just|slightly|a (?:little|bit)) (?:over|above|more than)"),
    ("nearly", r"nearly|almost|just (?:under|below)|(?:a little|slightly) (?:under|below|less than)|not quite"),
    ("about", r"about|around|roughly|approximately|approx\.?|some|circa|ca\.|close to|near|≈|~|∼|≃"),
    (
        "more",
        r"(?:more|greater|longer|higher|larger|slower|later|better) than|over|above|exceed(?:s|ing)?|beyond|>",
    ),
    ("less", r"(?:less|fewer|shorter|lower|smaller|faster|quicker|earlier|worse) than|under|below|within|<"),
)
_QUALIFIER = [(kind, re.compile(rf"(?<!\w)(?:{words})\s*$", re.IGNORECASE)) for kind, words in _QUALIFIERS]
# "not more than" is read above; any other denial before a qualifier leaves it unread.
_DENIED = re.compile(r"\b(?:not|never|isn't|wasn't|hardly|n't)\s+(?:\w+\s+)?$", re.IGNORECASE)

_FASTER = "faster|quicker|speedier|sooner"
_SLOWER = "slower"
_LESS = (
    "less|fewer|lower|shorter|smaller|cheaper|below|under|saved|reduction|decrease|drop|improvement|speed-?up|"
    "faster"
)
_MORE = "more|higher|longer|larger|bigger|greater|above|costlier|increase|growth|slowdown|overhead"
_SHORT_GAP = r"^\s*(?:(?:times|as|of|the|a|in|time|,|\)|better|in all|on the median|per\s\w+)\s+){0,2}"
_AFTER = re.compile(rf"{_SHORT_GAP}(?P<word>{_FASTER}|{_SLOWER}|{_LESS}|{_MORE})\b", re.IGNORECASE)
_MULTIPLE = re.compile(
    r"^\s*(?:times\s+)?(?P<word>as\s+(?:(?P<fast>fast|quick)|(?P<slow>slow)|long|much|many|large|high|big)|"
    r"the\s+(?:time|latency|duration|bytes|traffic|cost))\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(?P<word>sav(?:es|ed|ing)|reduc(?:es|ed|ing)|lower(?:s|ed|ing)|short(?:ens|ened)|falls?|fell|drops?|"
    r"dropped|shr[aiu]nks?|decreases?d?|cuts?|speed(?:s|ed) up|faster|gains|rises?|rose|grows?|grew|"
    r"increases?d?|adds?|added|costs?|slow(?:s|ed)|slower|rais(?:es|ed))\b(?:\s+[\w:`'-]+){0,4}?\s*(?:by|of)?\s*(?:about|around|some|only|just|nearly|almost)?\s*$",
    re.IGNORECASE,
)
_VERBS_OF_MORE = re.compile(r"rise|rose|grow|grew|increas|add|cost|slow|rais", re.IGNORECASE)
_ENDS = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)(?<!\bca)(?<!\bFig)(?<!\bapprox)[.!?][\"')\]]*(?=\s|$)|\n"
)

NEGATION = re.compile(
    r"\b(?:not|no|never|nor|cannot|can't|neither|nothing|without|none|hardly|isn't|aren't|doesn't|don't|wasn't|"
    r"rather than|instead of|nor)\b|n't\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Direction:
    """A word that says which way a difference or factor goes: `lower` for less and faster, of times.

    `speed` tells that it speaks of speed, where lower means a shorter time or a higher rate. `multiple` is for
    "as fast" and "the time", of any factor, also below 1. `performance` is for "higher performance", one over
    the time.
    """

    word: str
    lower: bool
    speed: bool
    start: int
    end: int
    multiple: bool = False
    performance: bool = False


def qualifier_before(text: str, start: int) -> tuple[Kind | None, str, int]:
    """(kind, words, where they begin) of what stands right before a number and says how it is meant."""
    before = text[max(0, start - 60) : start]
    offset = start - len(before)
    for kind, pattern in _QUALIFIER:
        if (match := pattern.search(before)) and not _DENIED.search(before[: match.start()]):
            return kind, match[0].strip(), offset + match.start()
    return None, "", start


def direction_near(text: str, start: int, end: int) -> Direction | None:
    """The word after a number (`2 times faster`), or before it (`saves 3 µs`), that tells a direction."""
    after = text[end : end + 60]
    if match := _MULTIPLE.match(after):
        speed, lower = bool(match["fast"] or match["slow"]), bool(match["fast"])
        places = end + match.start("word"), end + match.end("word")
        return Direction(match["word"], lower, speed, *places, multiple=True)
    if match := _AFTER.match(after):
        word = match["word"].lower()
        speed = bool(re.fullmatch(f"{_FASTER}|{_SLOWER}|speed-?up|slowdown", word))
        lower = bool(re.fullmatch(f"{_FASTER}|{_LESS}", word))
        places = end + match.start("word"), end + match.end("word")
        performance = bool(re.match(r"\s+(?:performance|speed|throughput)\b", after[match.end() :]))
        return Direction(match["word"], lower, speed, *places, performance=performance)
    before = re.split(r"[,;:.()]", text[max(0, start - 80) : start])[-1]
    if match := _BEFORE.search(before):
        word = match["word"]
        offset = start - len(before)
        is_more = bool(_VERBS_OF_MORE.match(word))
        speed = word.lower() in ("faster", "slower") or word.lower().startswith(("speed", "slow"))
        return Direction(word, not is_more, speed, offset + match.start("word"), offset + match.end("word"))
    return None


def sentence_around(text: str, position: int) -> tuple[int, int]:
    """Start and end of the sentence that holds a position."""
    ends = _sentence_ends(text)
    before = bisect_right(ends, position, key=lambda end: end[1])
    after = bisect_left(ends, position, key=lambda end: end[0])
    return ends[before - 1][1] if before else 0, ends[after][2] if after < len(ends) else len(text)


@lru_cache(maxsize=16)
def _sentence_ends(text: str) -> tuple[tuple[int, int, int], ...]:
    """Of each end of a sentence: where its mark begins and ends, and where the sentence does."""
    return tuple(
        (match.start(), match.end(), match.start() + (match[0] != "\n")) for match in _ENDS.finditer(text)
    )


def clause_around(text: str, position: int) -> str:
    """The part of a sentence between commas and the like that holds a position."""
    start, end = clause_span(text, position)
    return text[start:end]


def clause_span(text: str, position: int) -> tuple[int, int]:
    """Where that part begins and ends."""
    start, end = sentence_around(text, position)
    start, end = max(start, position - LONGEST_CLAUSE), min(end, position + LONGEST_CLAUSE)
    cuts = [
        match.start()
        for match in re.finditer(r"[,;:—–](?=\s)|\s[–—]\s|\bbut\b|\bwhile\b|\bwhereas\b", text[start:end])
    ]
    before = max((start + cut + 1 for cut in cuts if start + cut < position), default=start)
    after = min((start + cut for cut in cuts if start + cut >= position), default=end)
    return before, after
