"""What a reconciliation says: findings, a verdict per case and family, and an exit status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

AGREE = "agree"
EXPLAINED = "explained"
DISAGREE = "disagree"
CANNOT_ANSWER = "cannot-answer"
NOT_DECLARED = "not-declared"

MISSING_EVIDENCE = "missing-evidence"

# From the weakest to the strongest: the verdict of a case in a family is its strongest finding.
VERDICTS = (NOT_DECLARED, AGREE, EXPLAINED, CANNOT_ANSWER, DISAGREE)

FAMILIES: Mapping[str, str] = {
    "counts": "kernels, graph nodes and profiled workloads per invocation",
    "completeness": "what the driver ran is what the reports hold, and its results are right",
    "order": "the kernels run in the declared order, one after the other",
    "time": "host completion against device time, launch, gaps and the profiler's own cost",
    "traffic": "DRAM bytes against the bytes that the kernels must move",
    "limits": "what bounds the case: memory bandwidth, launches, or neither",
}


@dataclass(frozen=True)
class Finding:
    """One judgement. `case_id` is None when it concerns a pass or the whole run.

    `seen` gives what was seen with its numbers, which `numbers` holds again as numbers in base units; `means`
    what it may mean; `next_step` what to do; `sources` the named queries (or files) that it came from.
    """

    code: str
    family: str
    verdict: str
    case_id: str | None
    seen: str
    numbers: Mapping[str, float | int | None] = field(default_factory=dict)
    means: str = ""
    next_step: str = ""
    sources: Sequence[str] = ()


@dataclass(frozen=True)
class CaseVerdicts:
    """The verdict of one case in every family."""

    case_id: str
    verdicts: Mapping[str, str]


@dataclass(frozen=True)
class AppliedRule:
    """A rule of what may not be concluded. `applies`: whether this run holds evidence that it concerns."""

    code: str
    sentence: str
    applies: bool


@dataclass(frozen=True)
class Reconciliation:
    """All findings of a run (also those of plain agreement), and the table of verdicts."""

    run_id: str
    findings: tuple[Finding, ...]
    cases: tuple[CaseVerdicts, ...]
    rules: tuple[AppliedRule, ...] = ()

    @property
    def exit_status(self) -> int:
        """0: all agree or are explained; 1: something disagrees; 2: something cannot be answered."""
        verdicts = {finding.verdict for finding in self.findings}
        return 1 if DISAGREE in verdicts else 2 if CANNOT_ANSWER in verdicts else 0

    def doubts(self) -> tuple[Finding, ...]:
        """Every finding that is not plain agreement, the gravest first."""
        shown = (DISAGREE, CANNOT_ANSWER, EXPLAINED)
        return tuple(
            finding
            for verdict in shown
            for finding in sorted(
                (one for one in self.findings if one.verdict == verdict),
                key=lambda one: one.case_id is not None,
            )
        )


def tabulate_verdicts(case_ids: Sequence[str], findings: Sequence[Finding]) -> tuple[CaseVerdicts, ...]:
    """The strongest verdict of each case in each family, in the order of `case_ids`."""
    strongest: dict[tuple[str | None, str], str] = {}
    for finding in findings:
        key = (finding.case_id, finding.family)
        strongest[key] = max(finding.verdict, strongest.get(key, NOT_DECLARED), key=VERDICTS.index)
    return tuple(
        CaseVerdicts(case_id, {family: strongest.get((case_id, family), NOT_DECLARED) for family in FAMILIES})
        for case_id in case_ids
    )


def as_data(reconciliation: Reconciliation) -> dict[str, Any]:
    """The reconciliation as plain data, ready for JSON."""
    return {
        "run_id": reconciliation.run_id,
        "exit_status": reconciliation.exit_status,
        "cases": [{"case_id": case.case_id, **case.verdicts} for case in reconciliation.cases],
        "findings": [
            {
                "code": finding.code,
                "family": finding.family,
                "verdict": finding.verdict,
                "case_id": finding.case_id,
                "seen": finding.seen,
                "numbers": dict(finding.numbers),
                "means": finding.means,
                "next_step": finding.next_step,
                "sources": list(finding.sources),
            }
            for finding in reconciliation.findings
        ],
        "rules": [
            {"code": rule.code, "sentence": rule.sentence, "applies": rule.applies}
            for rule in reconciliation.rules
        ],
    }
