"""Order: the kernels that ran ↔ the declared names, one after the other; tasks of a trace ↔ their plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nsight_suite.reconciliation import amounts, tasks
from nsight_suite.reconciliation.bounds import BOUNDS, Bounds
from nsight_suite.reconciliation.findings import AGREE, DISAGREE, NOT_DECLARED, Finding
from nsight_suite.reconciliation.witnesses import Evidence, Row

FAMILY = "order"
_TABLES = ("variant_case", "range", "kernel")


def judge(evidence: Evidence, bounds: Bounds = BOUNDS) -> Iterator[Finding]:
    """A sequence with a kernel too few or too many is a matter of counts, not of order."""
    for case in evidence.cases:
        if evidence.asked("nsys") and (gap := evidence.gap(case, _TABLES, ("nsys",))):
            yield gap.finding(FAMILY, case["case_id"])
        else:
            yield from _case(evidence, case, bounds)
        yield from tasks.judge_case(evidence, case, FAMILY)


def _case(evidence: Evidence, case: Row, bounds: Bounds) -> Iterator[Finding]:
    case_id = case["case_id"]
    rows = [
        row
        for row in evidence.of("kernel_order", case_id)
        if not (row["pass"] != "nsys" and evidence.gap(case, ("counter",), (row["pass"],)))
    ]
    wanted = evidence.one("kernel_counts", case_id).get("expected_kernels")
    if wanted is None and rows:
        wanted = len(max(rows, key=lambda row: row["invocations"])["observed"])
    whole = [row for row in rows if len(row["observed"]) == wanted]
    faults = [*_sequence(case_id, whole), *_overlap(case_id, rows, bounds)]
    if faults:
        yield from faults
    elif whole:
        names = whole[0]["observed"]
        declared = "as declared" if whole[0]["declared"] else "the same in every invocation; none is declared"
        yield Finding(
            "order-agrees",
            FAMILY,
            AGREE,
            case_id,
            f"{' → '.join(names)}, {declared}",
            {"invocations": sum(row["invocations"] for row in whole)},
            sources=("kernel_order",),
        )
    else:
        nothing = Finding("not-measured", FAMILY, NOT_DECLARED, case_id, "no pass saw kernels of this case")
        yield evidence.unanswered(nothing)


def _sequence(case_id: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """Undeclared names must at least be the same every time."""
    if not rows:
        return
    declared = rows[0]["declared"]
    usual = declared or max(rows, key=lambda row: row["invocations"])["observed"]
    wrong = [row for row in rows if row["observed"] != usual]
    if wrong:
        seen = [f"{' → '.join(row['observed'])} ({row['invocations']} times by {row['pass']})" for row in wrong]
        yield Finding(
            "kernel-order",
            FAMILY,
            DISAGREE,
            case_id,
            f"ran {amounts.some(seen, 2)} where {' → '.join(usual)} is {'declared' if declared else 'usual'}",
            {"invocations": sum(row["invocations"] for row in wrong)},
            "Other kernels ran, or the same ones in another order; what depends on their order is in doubt.",
            "Look at `query RUN timeline`; correct the driver, or the names in expected.sql.",
            ("kernel_order", "timeline"),
        )


def _overlap(case_id: str, rows: Sequence[Row], bounds: Bounds) -> Iterator[Finding]:
    worst = max((row["overlap_ns"] for row in rows if row["overlap_ns"] is not None), default=0)
    if worst > bounds.tick_ns:
        yield Finding(
            "kernels-overlap",
            FAMILY,
            DISAGREE,
            case_id,
            f"a kernel started {worst} ns before the one ahead of it on its stream had ended",
            {"overlap_ns": worst},
            "Kernels of one stream run one after the other, so one of the time stamps is wrong.",
            "Look at `query RUN timeline`, and capture the nsys pass again.",
            ("kernel_order", "timeline"),
        )
