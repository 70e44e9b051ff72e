"""The case that the words around a number name, held against the case that the number is bound to.

A name counts where it cannot be anything else: as code, in quotes, in a short cell of a table, or, where it is
no English word, anywhere. `fused`, `graph` and the like are English words: in prose they count only as the
subject right before a verb or the number, before "variant", and in "as a graph".
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from nsight_suite.claiming.blocks import Article, Block
from nsight_suite.claiming.checking import Problem
from nsight_suite.claiming.claims import Claim
from nsight_suite.claiming.evidence import Evidence
from nsight_suite.claiming.findings import OTHER_CASE
from nsight_suite.claiming.numbers import UNIT_NAMES, Span
from nsight_suite.claiming.runevidence import RunEvidence
from nsight_suite.claiming.values import DIMENSIONS
from nsight_suite.claiming.words import LONGEST_CLAUSE, NEGATION, clause_span, sentence_around

# A name's dimension (variant, submission, shape) and the name.
Name = tuple[str, str]

# Libraries, whose names are no English words.
_LIBRARIES = frozenset({"cudnn", "cublas", "cutlass", "cufft", "cusparse", "pytorch", "jax", "tensorrt"})
_VERBS = (
    "takes?|took|needs?|needed|completes?|completed|finish(?:es|ed)?|runs?|ran|reads?|writes?|wrote|moves?|moved|"
    "requires?|required|lasts?|lasted"
)
_THING = "variants?|versions?|submissions?|cases?"
# What stands between a name and a number that is not the name's: `faster than`, `instead of the 110 µs of`.
_APART = re.compile(
    r"\b(?:than|against|versus|vs\.?|instead|rather|compared|relative|unlike|over|from|beats?|outperforms?|sav(?:es?|ing)|"
    r"cuts?|halves|reduces?|lowers?|replac(?:es?|ing)|without|except|before|after|to|ours?|others?|another|former|latter|misses)\b",
    re.IGNORECASE,
)
_LED_APART = re.compile(
    rf"(?:{_APART.pattern}[\w\s]{{0,12}}|\b(?:all|any|every|none|\w+thing) but(?: the)?\s)\W?$",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’"
# What stands before a clause and its colon, comma or dash, after another of these.
_LABEL = re.compile(r"(?:^|[.,;:]\s)\s*([^.,;:–—\n]{1,60})\s*[:,–—]?\s*$")
# What a cell may hold beside names to be a label.
_LABEL_WORDS = re.compile(
    rf"\b(?:as|a|an|the|in|of|at|with|by|and|time|median|replays?|CUDA|{_THING}|duration|completion|latency|host)\b"
    rf"|(?<!\w)(?:{UNIT_NAMES})(?!\w)|[\W_]",
    re.IGNORECASE,
)
_LONGEST_LABEL = 60


@dataclass(frozen=True)
class Mention:
    """A name at `start` to `end` of a text, with all that it names: of a whole case three."""

    start: int
    end: int
    names: tuple[Name, ...]


class Names:
    """The names of the cases of the runs, and where texts mention them."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    @cached_property
    def of_runs(self) -> Mapping[str, _RunNames]:
        return {run.name: _run_names(run) for run in self._evidence.runs}

    def near(self, text: str, runs: Sequence[str]) -> dict[str, set[str]]:
        """All names in a text by their dimension, English words too."""
        found: dict[str, set[str]] = {}
        for mention in self._mentions(text, runs):
            for dimension, name in mention.names:
                found.setdefault(dimension, set()).add(name)
        return found

    def _mentions(
        self, text: str, runs: Sequence[str], start: int = 0, end: int | None = None
    ) -> Iterator[Mention]:
        known = self.of_runs
        for run in runs:
            if run in known:
                yield from known[run].mentions(text, start, len(text) if end is None else end)

    def check(self, claims: Sequence[Claim], article: Article) -> Iterator[tuple[Claim, Problem]]:
        """Claims of one block whose words name another case than is bound."""
        for claim in claims:
            if problem := self._check(claim, claims, article):
                yield claim, problem

    def _check(self, claim: Claim, claims: Sequence[Claim], article: Article) -> Problem | None:
        if not claim.value.subjects:
            return None
        bound = _by_dimension(claim.value.subjects)
        claims = _near(claims, claim)
        start, end = self._span(claim, claims)
        text = claim.block.text[start:end]
        named = self._named_in_prose(claim, start, end) if not NEGATION.search(text) else {}
        beside = [one for one in claims if one is not claim and start <= one.start < end]
        for dimension in named:
            also = {name for one in beside for name in _by_dimension(one.value.subjects).get(dimension, ())}
            if named[dimension] & also:  # `fused` takes 42 µs instead of 110 µs
                named[dimension] = set()
        for dimension, names in self._named_in_table(claim, article).items():
            named.setdefault(dimension, set()).update(names)
        for dimension in DIMENSIONS:
            names, held = named.get(dimension, set()), bound.get(dimension, set())
            if names and held and not names & held:
                return Problem(
                    OTHER_CASE,
                    f"The words name the {dimension} {' and '.join(sorted(names))}; the number is bound to "
                    f"{' and '.join(sorted(held))}.",
                    "Bind the case that the words name, or name the one that is bound.",
                )
        return None

    def _span(self, claim: Claim, claims: Sequence[Claim]) -> Span:
        """The clause of a claim. What `and` joins is two where both parts have a name and a number."""
        text = claim.block.text
        start, end = clause_span(text, claim.start)
        for match in re.finditer(r"\band\b", text[start:end]):
            cut = start + match.start()
            parts = ((start, cut), (cut, end))
            if all(self._is_whole(claim, claims, part) for part in parts):
                return self._part(parts, claim)
        label = _LABEL.search(text, max(start - _LONGEST_LABEL - 30, 0), start + 1)
        sentence = sentence_around(text, claim.start)[0]
        if (
            label
            and label.start(1) >= sentence
            and self._is_label(claim.block, label.span(1), claim.value.runs)
        ):
            return label.start(1), end
        return start, end

    def _is_whole(self, claim: Claim, claims: Sequence[Claim], part: Span) -> bool:
        return any(part[0] <= one.start < part[1] for one in claims) and any(
            self._counted(claim.block, claim.value.runs, claim.start, *part)
        )

    @staticmethod
    def _part(parts: tuple[Span, Span], claim: Claim) -> Span:
        return parts[0] if claim.start < parts[0][1] else parts[1]

    def _is_label(self, block: Block, span: Span, runs: Sequence[str]) -> bool:
        """Whether a part of a text is a name and nothing else: `cuDNN: 43 µs`, `for cuDNN, 43 µs`."""
        return any(
            re.fullmatch(
                rf"(?:(?:with|for|of|in)\s+)?(?:the\s+)?[\s(*{_QUOTES}]*",
                block.text[span[0] : one.start],
                re.IGNORECASE,
            )
            and not block.text[one.end : span[1]].strip(_QUOTES + " \t):*")
            for one in self._mentions(block.text, runs, *span)
        )

    def _named_in_prose(self, claim: Claim, start: int, end: int) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        text = claim.block.text
        for mention in self._counted(claim.block, claim.value.runs, claim.start, start, end):
            before = mention.end <= claim.start
            between = text[mention.end : claim.start] if before else text[claim.end : mention.start]
            is_aside = not before and between.count("(") > between.count(")")
            if is_aside and re.fullmatch(rf"\s*\([{_QUOTES}]?", between):  # 43 µs (cuDNN)
                is_aside = not re.match(rf"[{_QUOTES}]?\)", text[mention.end :])
            if (
                is_aside
                or _APART.search(between)
                or _LED_APART.search(text[max(mention.start - 60, 0) : mention.start])
            ):
                continue
            for dimension, name in mention.names:
                found.setdefault(dimension, set()).add(name)
        return found

    def _counted(
        self, block: Block, runs: Sequence[str], number: int, start: int, end: int
    ) -> Iterator[Mention]:
        """The mentions in a part of a text that can be nothing else."""
        text = block.text
        for mention in self._mentions(text, runs, start, end):
            is_code = _is_inside(block.code, mention)
            word = text[mention.start : mention.end]
            quoted = text[mention.start - 1 : mention.start] in set(_QUOTES) and text[
                mention.end : mention.end + 1
            ] in set(_QUOTES)
            if is_code or quoted or not _is_ordinary(word) or _is_subject(text, mention, start, number):
                yield mention

    def _named_in_table(self, claim: Claim, article: Article) -> dict[str, set[str]]:
        """What the labels of a cell's row and the head of its column name."""
        if claim.block.kind != "cell":
            return {}
        found: dict[str, set[str]] = {}
        beside = [one.text for one in article.beside(claim.block) if not one.marks]
        for text in (claim.block.header, *beside):
            mentions = list(self._mentions(text, claim.value.runs))
            if not mentions or len(text) > _LONGEST_LABEL or NEGATION.search(text) or _APART.search(text):
                continue
            rest = "".join(
                character
                for position, character in enumerate(text)
                if not any(one.start <= position < one.end for one in mentions)
            )
            if _LABEL_WORDS.sub("", rest):
                continue
            for mention in mentions:
                for dimension, name in mention.names:
                    found.setdefault(dimension, set()).add(name)
        return found


@dataclass(frozen=True)
class _RunNames:
    """The names of one run's cases, and the pattern that finds them."""

    known: Mapping[str, tuple[Name, ...]]
    pattern: re.Pattern[str]

    def mentions(self, text: str, start: int, end: int) -> Iterator[Mention]:
        for match in self.pattern.finditer(text, start, end):
            yield Mention(match.start(), match.end(), self.known[_folded(match[0])])


def _run_names(run: RunEvidence) -> _RunNames:
    known: dict[str, tuple[Name, ...]] = {}
    for case in run.cases.values():
        names = tuple((one, str(case.traits[one])) for one in DIMENSIONS if case.traits.get(one) is not None)
        known[_folded(case.case_id)] = names
        for name in names:
            known.setdefault(_folded(name[1]), (name,))
    patterns = [_spelled(name) for name in sorted(known, key=len, reverse=True)]
    return _RunNames(
        known,
        re.compile(rf"(?<![\w\-.])(?<!\w:)(?:{'|'.join(patterns) or '(?!)'})(?![\w\-]|:\w)", re.IGNORECASE),
    )


def _folded(name: str) -> str:
    """One spelling of a name: 4096 × 4,096 is 4096x4096."""
    name = re.sub(r"(?<=\d)\s?[×x*]\s?(?=\d)", "x", name.casefold())
    return re.sub(r"(?<=\d),(?=\d{3})", "", name)


def _spelled(name: str) -> str:
    """A pattern of the ways to write a folded name."""
    pattern = re.escape(name)
    pattern = re.sub(r"(?<=\d)x(?=\d)", r"[\\s\\u00a0]?[×x*][\\s\\u00a0]?", pattern)
    return re.sub(
        r"\d{4,}",
        lambda match: f"(?:{match[0]}|{int(match[0]):,})" if match[0][0] != "0" else match[0],
        pattern,
    )


def _is_ordinary(word: str) -> bool:
    """Whether a name could be an English word, or a plain number."""
    return (word.isalpha() and word.casefold() not in _LIBRARIES) or word.replace(",", "").isdigit()


def _is_subject(text: str, mention: Mention, start: int, number: int) -> bool:
    """Whether an English word in prose is used as a name."""
    before = text[max(start, mention.start - _LONGEST_LABEL) : mention.start]
    after = text[mention.end : mention.end + _LONGEST_LABEL]
    submission = any(dimension == "submission" for dimension, _ in mention.names)
    if submission and re.search(r"\bas (?:a |one )?(?:CUDA )?$", before, re.IGNORECASE):
        return not re.match(r"\s+\w+", after) or bool(re.match(r"\s+(?:at|for|with|in|on|it|and)\b", after))
    is_number = text[mention.start : mention.end].replace(",", "").isdigit()
    if is_number or not re.search(r"(?:^|\b(?:the|and|but|with|for)\s)[\s\W]*$", before, re.IGNORECASE):
        return False
    if re.match(rf"\s+(?:{_THING})\b", after, re.IGNORECASE):
        return True
    if re.sub(r"\b(?:the|and|but)\b|\W", "", before, flags=re.IGNORECASE):  # it does not lead
        return False
    return bool(re.match(rf"\s+(?:{_VERBS})\b", after, re.IGNORECASE)) or bool(
        mention.end <= number and re.fullmatch(r"\s*(?:at|in)?\s*[:(=]?\s*", text[mention.end : number])
    )


def _is_inside(spans: Sequence[Span], mention: Mention) -> bool:
    """Whether one of the spans, which are in order, holds a mention."""
    index = bisect_right(spans, mention.start, key=lambda span: span[0]) - 1
    return index >= 0 and mention.end <= spans[index][1]


def _near(claims: Sequence[Claim], claim: Claim) -> Sequence[Claim]:
    """Those that may stand in the clause of a claim. `claims` are in order."""
    first = bisect_left(claims, claim.start - LONGEST_CLAUSE, key=lambda one: one.start)
    last = bisect_right(claims, claim.end + LONGEST_CLAUSE, key=lambda one: one.start)
    return claims[first:last]


def _by_dimension(names: frozenset[Name]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for dimension, name in names:
        found.setdefault(dimension, set()).add(name)
    return found
