"""Runs that nobody should quote: not complete, or rejected by their reconciliation."""

from __future__ import annotations

from nsight_suite.claiming.findings import IN_DOUBT, Finding
from nsight_suite.claiming.runevidence import RunEvidence
from nsight_suite.reconciliation.findings import DISAGREE


def doubt_of(evidence: RunEvidence) -> Finding | None:
    """What speaks against a run as a whole; it stands at the beginning of the article.

    What was ingested has no protocol that it could be reconciled with.
    """
    run, reasons, ways_out = evidence.run, [], []
    if (state := run.info["state"]) != "complete":
        reasons.append(f"is {state}, not complete")
        ways_out.append("finish it with capture --resume")
    if not run.folder.is_ingested():
        wrong = [one for one in run.reconcile().findings if one.verdict == DISAGREE]
        if wrong:
            codes = dict.fromkeys(one.code for one in wrong)
            cases = {one.case_id for one in wrong} - {None}
            of_cases = f", of {len(cases)} case{'' if len(cases) == 1 else 's'}" if cases else ""
            reasons.append(f"does not reconcile ({', '.join(codes)}{of_cases})")
            ways_out.append(f"see python -m nsight_suite.reconcile {evidence.name}")
    if not reasons:
        return None
    told = "; ".join(ways_out)
    way_out = f"{told[0].upper()}{told[1:]}; --allow-doubtful takes its numbers all the same."
    return Finding(
        IN_DOUBT, 1, 1, 1, evidence.name, f"The run {evidence.name} {' and '.join(reasons)}.", way_out
    )
