"""An article held against its runs: every bound number is checked, every other number is flagged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from nsight_suite.claiming.binding import Binding, BindingError, Source, parse_binding, sources_of
from nsight_suite.claiming.blocks import Article, Block, Mark
from nsight_suite.claiming.checking import Problem, check_claim
from nsight_suite.claiming.claims import Claim
from nsight_suite.claiming.comparing import check_comparisons, comparable, comparing_word
from nsight_suite.claiming.doubts import doubt_of
from nsight_suite.claiming.evidence import Evidence
from nsight_suite.claiming.findings import (
    AMBIGUOUS,
    COMPARISON,
    NO_NUMBER,
    NO_REASON,
    ROUNDING,
    UNBOUND,
    UNKNOWN,
    VALUE,
    Finding,
)
from nsight_suite.claiming.fixing import Fix
from nsight_suite.claiming.markdown import read_article
from nsight_suite.claiming.naming import Names
from nsight_suite.claiming.noclaims import no_claims
from nsight_suite.claiming.numbers import Quantity, Span, number_words, quantities, spread_units
from nsight_suite.claiming.operations import evaluate
from nsight_suite.claiming.rules import check_prose, refuse_unusable
from nsight_suite.claiming.suggesting import Suggestions
from nsight_suite.claiming.units import UNITS
from nsight_suite.claiming.values import Value
from nsight_suite.claiming.wording import check_wording
from nsight_suite.claiming.words import clause_around, sentence_around
from nsight_suite.errors import ForbiddenInference
from nsight_suite.run import Run

# How far around an unbound number words are looked at that tell which case is meant.
_NEAR = 300


@dataclass(frozen=True)
class Checked:
    """A bound number that could be read: where it stands, its binding, and whether it holds."""

    line: int
    column: int
    text: str
    binding: str
    value: Value
    holds: bool


@dataclass(frozen=True)
class Report:
    """What came out: findings and checked claims, both in the order of the article."""

    findings: tuple[Finding, ...]
    checked: tuple[Checked, ...]


class Checker:
    """Holds articles against runs. What it asks of the runs it asks once."""

    def __init__(self, runs: Sequence[Run]) -> None:
        """Raises UsageError when two runs share a name, CannotAnswer for a run without evidence."""
        self._evidence = Evidence(runs)
        self._names = Names(self._evidence)
        self._suggestions = Suggestions(self._evidence, self._names)

    @cached_property
    def doubts(self) -> tuple[Finding, ...]:
        """The runs that nobody should quote, each with the reason."""
        return tuple(doubt for run in self._evidence.runs if (doubt := doubt_of(run)))

    def runs_not_given(self, text: str) -> dict[str, int]:
        """The runs that bindings name and that were not given, with the line where each is named first."""
        article = read_article(text)
        given = {name for run in self._evidence.runs for name in run.names}
        found: dict[str, int] = {}
        for block in article.blocks:
            for mark in block.marks:
                try:
                    sources = sources_of(parse_binding(mark.target, article.definitions))
                except BindingError:
                    continue  # check tells of it
                for source in sources:
                    if len(source.parts) == 3 and source.parts[0] not in given:
                        found.setdefault(source.parts[0], block.place(mark.start)[0])
        return found

    def check(self, text: str, *, words: bool = False, doubtful: bool = False) -> Report:
        """Check every number of a Markdown text.

        `words` also asks for bindings of numbers in words; `doubtful` takes runs in doubt without a finding.
        """
        article = read_article(text)
        findings = [] if doubtful else list(self.doubts)
        checked: list[Checked] = []
        for block in article.blocks:
            found = _BlockCheck(block, article, self._evidence, self._names, self._suggestions, words=words)
            found.run()
            findings += found.findings
            checked += found.checked
        return Report(
            tuple(sorted(findings, key=lambda one: (one.line, one.column, one.code))),
            tuple(sorted(checked, key=lambda one: (one.line, one.column))),
        )


class _BlockCheck:
    """The check of one block."""

    def __init__(
        self,
        block: Block,
        article: Article,
        evidence: Evidence,
        names: Names,
        suggestions: Suggestions,
        *,
        words: bool,
    ) -> None:
        self.findings: list[Finding] = []
        self.checked: list[Checked] = []
        self._block, self._article, self._evidence = block, article, evidence
        self._names, self._suggestions, self._words = names, suggestions, words
        self._taken: list[Span] = []
        self._refused: set[tuple[str, int]] = set()

    def run(self) -> None:
        claims = []
        for mark in sorted(self._block.marks, key=lambda one: (one.start, one.end)):
            if claim := self._claim(mark):
                claims.append(claim)
        claims.sort(key=lambda one: one.start)
        self._check(claims)
        self._flag_unbound()

    def _check(self, claims: Sequence[Claim]) -> None:
        problems = [(claim, problem) for claim in claims for problem in check_claim(claim)]
        problems = [one for one in problems if not self._is_about_both(claims, *one)]
        compared = {id(claim) for claim, problem in problems if problem.code == COMPARISON}
        problems += [one for one in check_comparisons(claims) if id(one[0]) not in compared]
        problems += self._names.check(claims, self._article)
        problems += check_prose(claims, self._refused)
        problems += check_wording(claims, self._evidence.device_names)
        wrong = {id(claim) for claim, _ in problems}
        # A number with another fault may be right, and its binding wrong: it is not mended.
        doubtful = {id(claim) for claim, problem in problems if problem.code not in (VALUE, ROUNDING)}
        for claim, problem in problems:
            self._add(replace(problem, right="") if id(claim) in doubtful else problem, claim.start, claim.end)
        for claim in claims:
            line, column = self._block.place(claim.start)
            self.checked.append(
                Checked(line, column, claim.text, claim.binding, claim.value, id(claim) not in wrong)
            )

    def _is_about_both(self, claims: Sequence[Claim], claim: Claim, problem: Problem) -> bool:
        """`42 µs, less than 110 µs` tells nothing of the second number alone: it has to be right itself."""
        position = claims.index(claim)
        if problem.code != COMPARISON or not position or not comparable(claims[position - 1], claim):
            return False
        if not comparing_word(claims[position - 1], claim):
            return False
        quantity = claim.quantities[0]
        return abs(claim.value.amount - quantity.base) <= quantity.half_step

    def _claim(self, mark: Mark) -> Claim | None:
        """The claim of a mark. What stops it becomes a finding."""
        found = self._numbers_before(mark.start) if mark.is_comment else self._numbers_in(mark.start, mark.end)
        start, end = (found[0].start, found[-1].end) if found else (mark.start, mark.end)
        self._taken.append((min(start, mark.start), max(end, mark.end)))
        try:
            binding = parse_binding(mark.target, self._article.definitions)
            value = evaluate(binding, self._evidence)
            refuse_unusable(value)
            return self._bound(mark, binding, value, found)
        except (BindingError, ForbiddenInference) as error:
            self._refused.add((error.code, sentence_around(self._block.text, start)[0]))
            self._add(Problem(error.code, error.what, error.way_out), start, end)
        return None

    def _bound(self, mark: Mark, binding: Binding, value: Value, found: Sequence[Quantity]) -> Claim:
        text = self._block.text
        unit = binding.unit if isinstance(binding, Source) or binding.unit else ""
        if unit and unit not in UNITS:
            raise BindingError(
                UNKNOWN, f"There is no unit '{unit}'.", "Units: ns µs ms s B kB MB GB KiB MiB GB/s % × …"
            )
        if value.text is not None:
            start, end = mark.start, mark.end
            if mark.is_comment:
                start = max(len(text[: mark.start].rstrip()) - len(value.text), 0)
            if not text[start:end].strip():
                raise BindingError(NO_NUMBER, "There is no text to bind.", "Put the words into the link.")
            return Claim(self._block, start, end, mark.target, value)
        wanted = len(value.amounts)
        if not found:
            raise BindingError(
                NO_NUMBER,
                "There is no number to bind.",
                "Put the number into the link, or right before the comment.",
            )
        if mark.is_comment:
            found = found[-wanted:]
        if len(found) != wanted:
            what = f"{wanted} numbers" if wanted > 1 else "one number"
            raise BindingError(
                AMBIGUOUS, f"The binding gives {what}, the text has {len(found)}.", "Bind each by itself."
            )
        if wanted == 2 and value.amounts[0] > value.amounts[1]:
            value = replace(value, amounts=value.amounts[::-1])
        start, end = found[0].start, found[-1].end
        self._taken.append((start, end))
        return Claim(self._block, start, end, mark.target, value, tuple(found), unit)

    @cached_property
    def _numbers(self) -> tuple[Sequence[Quantity], Sequence[Quantity]]:
        """All that can be bound: numbers in digits, and numbers in words."""
        text = self._block.text
        digits = spread_units(text, list(quantities(text, no_claims(text, bound=True))))
        return digits, list(number_words(text))

    def _numbers_in(self, start: int, end: int) -> list[Quantity]:
        """The numbers of a link's text, else its number words. A unit may follow outside of the link."""
        digits, words = self._numbers
        found = [one for one in digits if start <= one.start + one.signed and one.start < end]
        return found or [one for one in words if start <= one.start < end]

    def _numbers_before(self, position: int) -> list[Quantity]:
        """The numbers before a comment, the nearest last: in its sentence, with a few words between at most."""
        text = self._block.text
        start = max(sentence_around(text, max(position - 1, 0))[0], *(end for _, end in self._taken), 0)
        digits, words = self._numbers
        found = [one for one in digits if start <= one.start and one.end <= position]
        found = found or [one for one in words if start <= one.start and one.end <= position]
        return found if found and len(text[found[-1].end : position].split()) <= 4 else []

    def _flag_unbound(self) -> None:
        text, block = self._block.text, self._block
        ignored = [*no_claims(text, heading=block.kind == "heading"), *block.code, *self._taken]
        found = spread_units(text, list(quantities(text, ignored)))
        if self._words:
            found += [one for one in number_words(text) if one.number.lower() != "one"]
            found = [
                one for one in found if not any(start < one.end and one.start < end for start, end in ignored)
            ]
        reasoned = set()
        for position, reason in block.unbound:
            before = [one for one in found if one.end <= position]
            if not reason:
                start = before[-1].start if before else position
                self._add(
                    Problem(NO_REASON, "No reason is given.", "Write <!-- unbound: REASON -->."),
                    start,
                    position,
                )
            if before:
                reasoned.add(before[-1].start)
        for one in found:
            if one.start not in reasoned and not block.exempt:
                self._add(self._unbound(one), one.start, one.end)

    def _unbound(self, quantity: Quantity) -> Problem:
        start, end = sentence_around(self._block.text, quantity.start)
        start, end = max(start, quantity.start - _NEAR), min(end, quantity.end + _NEAR)
        text = self._block.text
        clause = clause_around(text, quantity.start)
        fitting = self._suggestions.for_number(quantity, text[start:end], clause)
        way_out = (
            f"Fits: {' or '.join(fitting)}"
            if fitting
            else "Bind it, or write <!-- unbound: REASON --> after it."
        )
        return Problem(UNBOUND, f"{text[quantity.start : quantity.end].strip()} is bound to nothing.", way_out)

    def _add(self, problem: Problem, start: int, end: int) -> None:
        line, column = self._block.place(start)
        text = self._block.text[start:end]
        fix = None
        if problem.number and problem.right:
            fix = Fix(*self._block.place(problem.number.start), problem.number.number, problem.right)
        self.findings.append(
            Finding(problem.code, line, column, max(len(text), 1), text, problem.message, problem.way_out, fix)
        )
