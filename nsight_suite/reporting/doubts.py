"""Findings that are not plain agreement, those of one kind together."""

from __future__ import annotations

from dataclasses import dataclass

from nsight_suite.reconciliation.findings import Finding, Reconciliation


@dataclass(frozen=True)
class Doubt:
    """Findings with one code, verdict, meaning and way on; `seen` holds each with its case, or None."""

    code: str
    family: str
    verdict: str
    means: str
    next_step: str
    sources: tuple[str, ...]
    seen: tuple[tuple[str | None, str], ...]


def gather_doubts(reconciliation: Reconciliation) -> tuple[Doubt, ...]:
    """The doubts of a reconciliation, the gravest first, each kind once."""
    kinds: dict[tuple[str, ...], list[Finding]] = {}
    for finding in reconciliation.doubts():
        key = (finding.code, finding.family, finding.verdict, finding.means, finding.next_step)
        kinds.setdefault(key, []).append(finding)
    return tuple(
        Doubt(
            *key,
            sources=tuple(dict.fromkeys(source for finding in findings for source in finding.sources)),
            seen=tuple((finding.case_id, finding.seen) for finding in findings),
        )
        for key, findings in kinds.items()
    )
