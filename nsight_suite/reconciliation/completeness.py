"""Completeness: what the driver ran ↔ what the reports hold; results right and the same in every pass."""

from __future__ import annotations

from collections.abc import Iterator

from nsight_suite.reconciliation import checks, counts, launches, pilot, presence, results
from nsight_suite.reconciliation.amounts import counted, some
from nsight_suite.reconciliation.findings import AGREE, CANNOT_ANSWER, DISAGREE, NOT_DECLARED, Finding
from nsight_suite.reconciliation.witnesses import Evidence, Row

FAMILY = "completeness"
_TABLES = ("variant_case", "driven", "validation")
_TABLES_OF = {
    "nsys": ("range", "kernel", "launch"),
    "ncu": ("counter",),
    "ncu-warm": ("counter",),
}
_SOURCES = ("completeness", "validation")
_AGAIN = "Capture the pass again."


def judge(evidence: Evidence) -> Iterator[Finding]:
    """The run's gaps first, then its passes, then case by case."""
    for gap in evidence.gaps:
        yield gap.finding()
    yield from results.judge_run(evidence, FAMILY)
    yield from launches.judge_run(evidence, FAMILY)
    yield from pilot.judge_run(evidence, FAMILY)
    missing = list(presence.judge(evidence, FAMILY))
    yield from missing
    loosened = list(checks.limits(evidence, FAMILY))
    yield from loosened
    yield from _lost_outside(evidence)
    unknown = list(_unknown_ranges(evidence))
    yield from unknown
    renamed = {finding.case_id for finding in unknown}
    told = renamed | {finding.case_id for finding in (*missing, *loosened)}
    for case in evidence.cases:
        found = _case(evidence, case, renamed=case["case_id"] in renamed)
        yield from found
        if not found and case["case_id"] not in told:
            yield _agreement(evidence, case, list(_rows(evidence, case)))


def _case(evidence: Evidence, case: Row, *, renamed: bool) -> list[Finding]:
    case_id = case["case_id"]
    rows = list(_rows(evidence, case))
    outputs = [row for row in evidence.of("outputs", case_id) if not evidence.gap(case, (), (row["pass"],))]
    found = list(results.judge_case(evidence.of("validation", case_id), outputs, case_id, FAMILY))
    found += launches.judge_case(evidence, case, FAMILY)
    for row in rows:
        if not (renamed and row["pass"] == "nsys"):
            found += _invocations(row)
    return found


def _rows(evidence: Evidence, case: Row) -> Iterator[Row]:
    """What of a case can be said by each profiler pass."""
    for row in evidence.of("completeness", case["case_id"]):
        # That graphs were traced as a whole hides no range.
        whole = {**case, "submission": "stream"}
        if not evidence.gap(whole, ("driven", *_TABLES_OF[row["pass"]]), (row["pass"],)):
            yield row


def _invocations(row: Row) -> Iterator[Finding]:
    driven, seen = row["driven_invocations"], row["seen_invocations"]
    by_nsys = row["pass"] == "nsys"
    what = "ranges" if by_nsys else "invocations"
    if driven is None:
        yield Finding(
            "driver-silent",
            FAMILY,
            CANNOT_ANSWER,
            row["case_id"],
            f"{row['pass']} shows {seen} {what}, and the driver did not tell how many it made",
            {"seen_invocations": seen},
            "Whether any was lost is unknown.",
            f"Bring the driver's records of the pass ({row['pass']}.jsonl).",
            ("completeness",),
        )
    elif seen != driven:
        code = f"{'lost' if seen < driven else 'extra'}-{'range' if by_nsys else 'invocation'}"
        yield Finding(
            code,
            FAMILY,
            DISAGREE,
            row["case_id"],
            f"{row['pass']} shows {seen} of {driven} {what} that the driver made",
            {"driven_invocations": driven, "seen_invocations": seen},
            "The profiler lost a part of the run, or it was deleted."
            if seen < driven
            else "The range was opened more often than the driver tells.",
            _AGAIN,
            ("completeness",),
        )
    elif row["kernels_without_launch"]:
        yield Finding(
            "lost-launch",
            FAMILY,
            DISAGREE,
            row["case_id"],
            f"{row['kernels_without_launch']} of {row['seen_records']} kernels lack their launching call",
            {"kernels_without_launch": row["kernels_without_launch"], "kernels": row["seen_records"]},
            "Its time is missing from the host's side of the invocation.",
            _AGAIN,
            ("completeness",),
        )
    elif row["pass"] == "ncu-warm" and row["expected_records"] not in (None, row["seen_records"]):
        # Of the pass ncu the counts are judged by the family of that name.
        yield Finding(
            "workload-count",
            FAMILY,
            DISAGREE,
            row["case_id"],
            f"ncu-warm profiled {row['seen_records']} of {row['expected_records']} workloads",
            {"expected_records": row["expected_records"], "seen_records": row["seen_records"]},
            "Workloads were not profiled, or their rows are missing.",
            "Look at `query RUN counters`, and capture the pass again.",
            ("completeness",),
        )


def _unknown_ranges(evidence: Evidence) -> Iterator[Finding]:
    """A range that is no case; with it, each case that is short of some."""
    anyone: Row = {"submission": "stream"}
    asked_for = {row["case_id"] for row in evidence.wanted}
    unknown = [
        row
        for row in evidence.rows["unknown_ranges"]
        if row["name"] not in asked_for and not evidence.gap(anyone, ("range", "variant_case"), (row["pass"],))
    ]
    if not unknown:
        return
    short = [
        row
        for case in evidence.cases
        for row in _rows(evidence, case)
        if row["pass"] == "nsys" and (row["driven_invocations"] or 0) > row["seen_invocations"]
    ]
    names = some([f"'{row['name']}' ({counted(row['instances'], 'instance')})" for row in unknown])
    nobody: Row = {}
    for lack in short or [nobody]:
        lacking = (
            f", and this case has {lack['seen_invocations']} of {lack['driven_invocations']} invocations"
            if lack
            else ""
        )
        yield Finding(
            "unknown-range",
            FAMILY,
            DISAGREE,
            lack.get("case_id"),
            f"range {names} is no case of this run{lacking}",
            {
                "unknown_ranges": sum(row["instances"] for row in unknown),
                "seen_invocations": lack.get("seen_invocations"),
                "driven_invocations": lack.get("driven_invocations"),
            },
            "The range was renamed, or the driver opened one that the run does not know.",
            "Name the ranges after the cases; capture the nsys pass again.",
            ("unknown_ranges", "completeness"),
        )


def _lost_outside(evidence: Evidence) -> Iterator[Finding]:
    """Launches outside of measured invocations that lost kernels; those inside are told by the counts."""
    anyone: Row = {"submission": "graph"}
    if evidence.gap(anyone, _TABLES_OF["nsys"], ("nsys",)):
        return
    lost = [counts.told(row) for row in evidence.of("lost_records", None)]
    if lost:
        yield Finding(
            "lost-kernel",
            FAMILY,
            DISAGREE,
            None,
            f"{counted(len(lost), 'launch')} outside of the measured invocations lost kernels: {some(lost)}",
            {"launches": len(lost)},
            "The program launched them, so their records are missing: dropped by the profiler, or deleted.",
            _AGAIN,
            ("lost_records",),
        )
    elif not evidence.rows["lost_records"]:
        for row in evidence.rows["findings"]:
            if row["code"] == "launch-without-kernel":
                yield Finding(
                    row["code"],
                    FAMILY,
                    CANNOT_ANSWER,
                    None,
                    row["reason"],
                    next_step=_AGAIN,
                    sources=("findings",),
                )


def _agreement(evidence: Evidence, case: Row, rows: list[Row]) -> Finding:
    case_id = case["case_id"]
    if gap := evidence.gap(case, _TABLES):
        return gap.finding(FAMILY, case_id)
    for name, tables in _TABLES_OF.items():
        if evidence.asked(name) and (gap := evidence.gap(case, tables, (name,))):
            return gap.finding(FAMILY, case_id)
    checks = sum(row["fixtures"] for row in evidence.of("validation", case_id))
    if not rows and not checks:
        return Finding("not-measured", FAMILY, NOT_DECLARED, case_id, "no pass ran this case")
    seen = [
        f"{row['seen_invocations']} of {row['driven_invocations']} invocations by {row['pass']}" for row in rows
    ]
    seen += [f"{checks} checks passed"] if checks else []
    same = [row["same_output"] for row in evidence.of("outputs", case_id)]
    seen += ["the same output in every pass"] if len(same) > 1 and all(same) else []
    return Finding("complete", FAMILY, AGREE, case_id, "; ".join(seen), {"checks": checks}, sources=_SOURCES)
