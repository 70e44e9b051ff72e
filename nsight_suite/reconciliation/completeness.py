"""Completeness: what the driver ran ↔ what the reports hold; results right and the same in every pass."""

from __future__ import annotations

from collections.abc import Iterator

from nsight_suite.reconciliation.amounts import counted, some
from nsight_suite.reconciliation.findings import AGREE, CANNOT_ANSWER, DISAGREE, NOT_DECLARED, Finding
from nsight_suite.reconciliation.witnesses import Evidence, Row

FAMILY = "completeness"
_TABLES = ("variant_case", "driven", "validation")
_TABLES_OF = {"nsys": ("range",), "ncu": ("counter",), "ncu-warm": ("counter",)}
_SOURCES = ("completeness", "validation")


def judge(evidence: Evidence) -> Iterator[Finding]:
    """The run's gaps first, then its passes, then case by case."""
    for gap in evidence.gaps:
        yield gap.finding()
    yield from _sanitizers(evidence)
    yield from _devices(evidence)
    yield from _lost_at_the_end(evidence)
    renamed = list(_unknown_ranges(evidence))
    yield from renamed
    told = {finding.case_id for finding in renamed}
    for case in evidence.cases:
        faults = [
            *_results(evidence, case),
            *(
                fault
                for fault in _invocations(evidence, case)
                if not (fault.code == "lost-range" and case["case_id"] in told)
            ),
        ]
        yield from faults
        if not faults and case["case_id"] not in told:
            yield _agreement(evidence, case)


def _rows(evidence: Evidence, case: Row) -> Iterator[Row]:
    """What of a case can be said by each profiler pass."""
    for row in evidence.of("completeness", case["case_id"]):
        if not evidence.gap(
            {**case, "submission": "stream"}, ("driven", *_TABLES_OF[row["pass"]]), (row["pass"],)
        ):
            yield row


def _invocations(evidence: Evidence, case: Row) -> Iterator[Finding]:
    for row in _rows(evidence, case):
        driven, seen = row["driven_invocations"], row["seen_invocations"]
        what = "ranges" if row["pass"] == "nsys" else "invocations"
        numbers = {"driven_invocations": driven, "seen_invocations": seen}
        if driven is not None and seen != driven:
            lost = seen < driven
            yield Finding(
                ("lost-range" if lost else "extra-range")
                if row["pass"] == "nsys"
                else ("lost-invocation" if lost else "extra-invocation"),
                FAMILY,
                DISAGREE,
                case["case_id"],
                f"{row['pass']} shows {seen} of {driven} {what} that the driver made",
                numbers,
                "The profiler lost a part of the run, or it was deleted."
                if lost
                else "The range was opened more often than the driver tells.",
                "Capture the pass again.",
                ("completeness",),
            )
        elif row["pass"] == "ncu-warm" and row["expected_records"] not in (None, row["seen_records"]):
            yield Finding(
                "workload-count",
                FAMILY,
                DISAGREE,
                case["case_id"],
                f"ncu-warm profiled {row['seen_records']} of {row['expected_records']} workloads",
                {"expected_records": row["expected_records"], "seen_records": row["seen_records"]},
                "Workloads were not profiled, or their rows are missing.",
                "Look at `query RUN counters`, and capture the pass again.",
                ("completeness",),
            )


def _unknown_ranges(evidence: Evidence) -> Iterator[Finding]:
    """A range that is no case; with it, the case that is short of as many."""
    unknown = [
        row
        for row in evidence.rows["unknown_ranges"]
        if not _blocked(evidence, ("range", "variant_case"), row["pass"])
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
            f", and this case has {lack['seen_invocations']} of {lack['driven_invocations']}" if lack else ""
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


def _results(evidence: Evidence, case: Row) -> Iterator[Finding]:
    case_id = case["case_id"]
    failed = [row for row in evidence.of("validation", case_id) if row["failed"]]
    if failed:
        seen = [
            f"{row['check']} in pass {row['pass']} ({counted(row['failed'], 'fixture')}, worst {row['worst']}, "
            f"limit {row['limit']})"
            for row in failed
        ]
        yield Finding(
            "failed-validation",
            FAMILY,
            DISAGREE,
            case_id,
            f"the check fails: {some(seen)}",
            {"failed": sum(row["failed"] for row in failed)},
            "The kernels compute something else, so none of their times or bytes mean anything.",
            "Correct the kernel; look at `query RUN validation`.",
            ("validation",),
        )
    other = [row for row in _rows(evidence, case) if row["same_output"] is False]
    if other:
        yield Finding(
            "output-differs",
            FAMILY,
            DISAGREE,
            case_id,
            f"pass {some([row['pass'] for row in other])} computed another output than was validated",
            {"passes": len(other)},
            "What was profiled is not what was validated and timed.",
            "Check that every pass uses the same inputs and builds; capture again.",
            ("completeness",),
        )


def _sanitizers(evidence: Evidence) -> Iterator[Finding]:
    for row in evidence.rows["sanitizer"]:
        if row["errors"] is None:
            yield Finding(
                "sanitizer-unclear",
                FAMILY,
                CANNOT_ANSWER,
                None,
                f"{row['tool']} gave no summary",
                means="Whether the kernels access memory rightly is unknown.",
                next_step="Run the pass sanitize again.",
                sources=("sanitizer",),
            )
        elif row["errors"]:
            yield Finding(
                "sanitizer-errors",
                FAMILY,
                DISAGREE,
                None,
                f"{row['tool']} found {counted(row['errors'], 'error')}",
                {"errors": row["errors"]},
                "A kernel accesses memory or synchronises wrongly; its results and times are in doubt.",
                f"Read reports/sanitize.{row['tool']}.log.",
                ("sanitizer",),
            )


def _devices(evidence: Evidence) -> Iterator[Finding]:
    uuids: dict[str, list[str]] = {}
    for row in evidence.rows["device"]:
        if row["uuid"] and row["pass"] not in uuids.get(row["uuid"], []):
            uuids.setdefault(row["uuid"], []).append(row["pass"])
    if len(uuids) > 1:
        where = [f"{' and '.join(names)} on {uuid}" for uuid, names in uuids.items()]
        yield Finding(
            "other-device",
            FAMILY,
            DISAGREE,
            None,
            f"the passes ran on {len(uuids)} GPUs: {some(where)}",
            {"devices": len(uuids)},
            "One device's result is not another's.",
            "Capture every pass on one GPU (--device N).",
            ("device",),
        )


def _lost_at_the_end(evidence: Evidence) -> Iterator[Finding]:
    """Launches without a device record that belong to no case; those of a case are told by its counts."""
    doubts = [row for row in evidence.rows["findings"] if row["code"] == "launch-without-kernel"]
    if not doubts or any(
        not row["kernels"] and not row["memory_operations"] for row in evidence.rows["launches"]
    ):
        return
    for row in doubts:
        yield Finding(
            row["code"],
            FAMILY,
            CANNOT_ANSWER,
            None,
            row["reason"],
            means="None of them lies in a measured invocation.",
            next_step="Capture the nsys pass again.",
            sources=("findings",),
        )


def _agreement(evidence: Evidence, case: Row) -> Finding:
    if gap := evidence.gap(case, _TABLES):
        return gap.finding(FAMILY, case["case_id"])
    for name, tables in _TABLES_OF.items():
        if evidence.asked(name) and (gap := evidence.gap(case, tables, (name,))):
            return gap.finding(FAMILY, case["case_id"])
    rows = list(_rows(evidence, case))
    checks = sum(row["fixtures"] for row in evidence.of("validation", case["case_id"]))
    if not rows and not checks:
        return Finding("not-measured", FAMILY, NOT_DECLARED, case["case_id"], "no pass ran this case")
    seen = [
        f"{row['seen_invocations']} of {row['driven_invocations']} invocations by {row['pass']}" for row in rows
    ]
    return Finding(
        "complete",
        FAMILY,
        AGREE,
        case["case_id"],
        "; ".join(
            [*seen, f"{checks} checks passed", "the same output in every pass"]
            if rows
            else [f"{checks} checks passed"]
        ),
        {"checks": checks},
        sources=_SOURCES,
    )


def _blocked(evidence: Evidence, tables: tuple[str, ...], name: str) -> bool:
    return evidence.gap({"submission": "stream"}, tables, (name,)) is not None
