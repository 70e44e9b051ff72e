"""Tasks of a trace ↔ their plan: each runs once, none before what it needs; how many began early is counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nsight_suite.reconciliation.amounts import counted, some
from nsight_suite.reconciliation.findings import AGREE, CANNOT_ANSWER, DISAGREE, Finding
from nsight_suite.reconciliation.witnesses import Evidence, Row

_TABLES = ("task", "task_plan", "variant_case")
_SOURCES = ("task_coverage", "task_doubts", "task_violations", "early_starts")
# Column of `task_coverage`: code, what is wrong with the tasks, the column that names one, what it may mean.
_FAULTS = {
    "missing": (
        "task-missing",
        "left no record",
        "first_missing",
        "The kernel skips work that was planned, or the trace lost a record.",
    ),
    "repeated": (
        "task-repeated",
        "are recorded again",
        "first_repeated",
        "A task ran more than once: two workers took it, or a counter was not reset.",
    ),
    "unplanned": (
        "task-unplanned",
        "were planned by nobody",
        "first_unplanned",
        "The kernel runs work that the host did not plan, or numbers its tasks in another way.",
    ),
    "backwards": (
        "task-backwards",
        "end before they start",
        "",
        "A record was written over, or its clock was read in the wrong order.",
    ),
}

# Doubts of `task_doubts`: code, verdict and what they may mean.
_INCOMPLETE = (
    "task-incomplete",
    CANNOT_ANSWER,
    "Whether those tasks ran where and when they had to is unknown.",
)
_DOUBTS = {
    **dict.fromkeys(("no worker", "no multiprocessor", "no start", "no end"), _INCOMPLETE),
    "unknown need": (
        "task-need-unknown",
        CANNOT_ANSWER,
        "What a task has to wait for is not told, so none of them can be called too early.",
    ),
    **dict.fromkeys(
        ("no such multiprocessor", "worker moved", "tasks overlap"),
        (
            "task-impossible",
            DISAGREE,
            "No device runs blocks that way: records were written over or changed, or the kernel tells another "
            "worker than its own.",
        ),
    ),
}


def judge_case(evidence: Evidence, case: Row, family: str) -> Iterator[Finding]:
    """What the trace of a case says; nothing for a case that was not traced."""
    case_id = case["case_id"]
    rows = evidence.of("task_coverage", case_id)
    asked = any(row["pass"] == "trace" and row["case_id"] == case_id for row in evidence.wanted)
    if not rows and not asked:
        return
    if gap := evidence.gap(case, _TABLES, ("trace",)):
        yield gap.finding(family, case_id)
        return
    if not any(row["recorded"] for row in rows):
        yield evidence.unanswered(_no_trace(case_id, family))
        return
    violations = evidence.of("task_violations", case_id)
    faults = [*_coverage(case_id, rows, family), *_too_early(case_id, violations, family)]
    doubts = list(_doubts(case_id, evidence.of("task_doubts", case_id), family))
    # A task that is out of place may be so in more than one way; it is told once.
    faults += [doubt for doubt in doubts if not faults or doubt.verdict == CANNOT_ANSWER]
    yield from faults or [_agreement(evidence, case_id, rows, family)]


def _coverage(case_id: str, rows: Sequence[Row], family: str) -> Iterator[Finding]:
    for column, (code, wrong, example, means) in _FAULTS.items():
        found = [row for row in rows if row[column]]
        if found:
            yield Finding(
                code,
                family,
                DISAGREE,
                case_id,
                some([_told(row, column, wrong, example) for row in found]),
                {f"{column}_tasks": sum(row[column] for row in found)},
                means,
                "Look at `query RUN task_coverage` and `query RUN tasks`; correct the kernel, or the driver's "
                "`tasks`.",
                ("task_coverage", "tasks"),
            )


def _doubts(case_id: str, rows: Sequence[Row], family: str) -> Iterator[Finding]:
    for code, verdict, means in dict.fromkeys(_DOUBTS[row["doubt"]] for row in rows):
        mine = [row for row in rows if _DOUBTS[row["doubt"]][0] == code]
        told = [
            f"{row['doubt']} in {counted(row['records'], 'row')} of "
            + ("the plan" if row["invocation"] is None else f"invocation {row['invocation']}")
            + f" (first: {row['first']})"
            for row in mine
        ]
        yield Finding(
            code,
            family,
            verdict,
            case_id,
            some(told),
            {"records": sum(row["records"] for row in mine)},
            means,
            "Look at `query RUN task_doubts` and `query RUN tasks`, and capture the pass trace again.",
            ("task_doubts", "tasks"),
        )


def _told(row: Row, column: str, wrong: str, example: str) -> str:
    of = row["recorded"] if column in ("backwards", "unplanned") or row["planned"] is None else row["planned"]
    named = f" (first: {row[example]})" if example and row[example] else ""
    where = f"stage {row['stage']}, invocation {row['invocation']}"
    return f"{where}: {row[column]} of {counted(of, 'task')} {wrong}{named}"


def _too_early(case_id: str, rows: Sequence[Row], family: str) -> Iterator[Finding]:
    if not rows:
        return
    worst_first = sorted(rows, key=lambda row: -row["early_ns"])
    told = [
        f"stage {row['stage']}, {_task(row['job'], row['tile'])} in invocation {row['invocation']} began "
        f"{row['early_ns']} ns before stage {row['needs_stage']}, "
        f"{_task(row['needs_job'], row['needs_tile'])} had ended"
        for row in worst_first
    ]
    yield Finding(
        "task-too-early",
        family,
        DISAGREE,
        case_id,
        some(told, 3),
        {"violations": len(rows), "worst_early_ns": worst_first[0]["early_ns"]},
        "A task read what was not yet written: its wait, or the publication of what it waits for, is wrong.",
        "Look at `query RUN task_violations`; check the kernel's release and acquire, and where it reads the "
        "clock.",
        ("task_violations", "tasks"),
    )


def _agreement(evidence: Evidence, case_id: str, rows: Sequence[Row], family: str) -> Finding:
    stages = list(dict.fromkeys(row["stage"] for row in rows))
    invocations = len({row["invocation"] for row in rows})
    tasks = sum(row["recorded"] for row in rows)
    later = [row for row in evidence.of("early_starts", case_id) if row["early"] is not None]
    early = [
        f"{row['early']} of {row['tasks']} {row['stage']} began before the last of the stage before had ended"
        + (f" (invocation {row['invocation']})" if invocations > 1 else "")
        for row in later
    ]
    return Finding(
        "task-order-agrees",
        family,
        AGREE,
        case_id,
        f"{counted(tasks, 'task')} of {counted(len(stages), 'stage')} in {counted(invocations, 'invocation')} "
        f"ran once each, none before what it needs" + (f"; {some(early)}" if early else ""),
        {
            "tasks": tasks,
            "early_starts": sum(row["early"] for row in later),
            "invocations": invocations,
        },
        "An earlier start is no speed-up: compare unprofiled completions." if early else "",
        sources=_SOURCES,
    )


def _no_trace(case_id: str, family: str) -> Finding:
    return Finding(
        "no-trace",
        family,
        CANNOT_ANSWER,
        case_id,
        "the pass trace left no task of this case",
        means="In which order its tasks ran is unknown.",
        next_step="Capture the pass trace again; check that its kernels include trace.cuh and call task_end.",
        sources=("task_coverage",),
    )


def _task(job: int, tile: int | None) -> str:
    return f"job {job}" if tile is None else f"job {job}, tile {tile}"
