"""The pilot: its choice is the fastest by its own samples, and was made before any session of timing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from nsight_suite.evidence.clocks import CLOCK_SET_BACK
from nsight_suite.reconciliation.amounts import some, time
from nsight_suite.reconciliation.findings import DISAGREE, Finding
from nsight_suite.reconciliation.witnesses import Evidence, Row


def judge_run(evidence: Evidence, family: str) -> Iterator[Finding]:
    anyone: Row = {}
    if evidence.gap(anyone, ("choice", "sample", "variant_case"), ("pilot",)):
        return
    # By a clock that was set back nobody can tell what was earlier; that is a finding of its own.
    ordered = not any(row["code"] == CLOCK_SET_BACK for row in evidence.rows["findings"])
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in evidence.rows["pilot_choices"]:
        groups.setdefault((row["pass"], row["group_name"], row["shape"], row["submission"]), []).append(row)
    wrong = [
        f"{group} of {shape} by {submission}: {'; '.join(faults)}"
        for (_, group, shape, submission), rows in groups.items()
        if (faults := list(_faults(rows, ordered)))
    ]
    if wrong:
        yield Finding(
            "choice-differs",
            family,
            DISAGREE,
            None,
            some(wrong),
            {"choices": len(groups), "differing": len(wrong)},
            "The variant that is shown as chosen is not the one that the pilot's samples choose, or it was "
            "chosen with the results already known.",
            "Look at `query RUN pilot_choices`; capture the pilot again, and the sessions after it.",
            ("pilot_choices",),
        )


def _faults(rows: Sequence[Row], ordered: bool) -> Iterator[str]:
    """What is wrong with the choice among these candidates."""
    chosen = [row for row in rows if row["chosen"]]
    if len(chosen) != 1:
        yield f"{len(chosen)} of {len(rows)} candidates are chosen"
    for row in chosen:
        if row["fastest"] is False:
            best = min(rows, key=lambda other: other["sample_median_ns"])
            yield (
                f"{row['variant']} is chosen with a median of {time(row['sample_median_ns'])}, and "
                f"{best['variant']} has {time(best['sample_median_ns'])}"
            )
        if ordered and row["before_sessions"] is False:
            yield "the pilot began after a session of timing"
    for row in rows:
        told, had = row["median_ns"], row["sample_median_ns"]
        if told is not None and had is not None and not math.isclose(told, had):
            yield f"{row['variant']} is told with a median of {time(told)}, and its samples have {time(had)}"
        elif row["rounds"] != row["samples"] and row["samples"]:
            yield f"{row['variant']} was chosen by {row['rounds']} samples, and {row['samples']} are recorded"
