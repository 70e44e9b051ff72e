"""Traces checked again from the raw records: every planned task is there, ran once, and waited as it had to.

Nothing of the suite's SQL takes part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nsight_suite.querying import open_evidence
from nsight_suite.verifying.checks import Check, Findings, Subject
from nsight_suite.verifying.records import Record, records, whole

NAME = "traces"
ABOUT = "every planned task ran once, in the order that the plan asks for"

_PASS = "trace"
_TABLES = ("task_plan", "task", "driven")
_NEEDS = ("nothing", "job", "stage")
# A plan of more tasks than any device runs in one invocation is none.
_MOST_TASKS = 50_000_000

# Stage, job, and tile (None where the stage has none).
Task = tuple[str, int, int | None]
Span = tuple[int, int]


@dataclass
class _Trace:
    """What the records tell of one case: its stages in order, its planned tasks, and what ran when."""

    stages: dict[int, str] = field(default_factory=dict)
    after: dict[tuple[str, int], str] = field(default_factory=dict)
    planned: set[Task] = field(default_factory=set)
    ran: dict[int, list[tuple[Task, Span]]] = field(default_factory=dict)
    invocations: int | None = None
    odd: int = 0


def check(subject: Subject) -> Check:
    """The records of tasks against their plan, and against the evidence."""
    found = Findings()
    inside = f"reports/{_PASS}.jsonl"
    if inside in subject.files:
        with found.readable(inside):
            traces = _gather(records(subject.path(inside), *_TABLES))
            _judge_all(traces, found)
            with found.readable("evidence/task.parquet"):
                _compare_evidence(subject, traces, inside, found)
    elif _PASS in subject.info["passes"]:
        found.miss(f"{inside} is not here: no record of a task can be read")
    else:
        found.miss("the run has no pass trace")
    return found.as_check(NAME, ABOUT)


def _gather(rows: Iterable[Record]) -> dict[str, _Trace]:
    traces: dict[str, _Trace] = {}
    for row in rows:
        trace = traces.setdefault(str(row.get("case_id")), _Trace())
        match row["table"]:
            case "driven":
                trace.invocations = whole(row.get("invocations"))
            case "task_plan":
                _plan(trace, row)
            case "task":
                _ran(trace, row)
    return traces


def _plan(trace: _Trace, row: Record) -> None:
    stage, job = str(row.get("stage")), whole(row.get("job"))
    position, tasks = whole(row.get("position")), whole(row.get("tasks"))
    after = row.get("after")
    if job is None or position is None or tasks is None or after not in _NEEDS:
        trace.odd += 1
        return
    if len(trace.planned) + tasks > _MOST_TASKS:
        raise ValueError(f"it plans more than {_MOST_TASKS} tasks")
    trace.stages[position] = stage
    trace.after[stage, job] = after
    trace.planned.update((stage, job, tile) for tile in (range(tasks) if row.get("tiled") else [None] * tasks))


def _ran(trace: _Trace, row: Record) -> None:
    invocation, job = whole(row.get("invocation")), whole(row.get("job"))
    start, end = whole(row.get("start_ns")), whole(row.get("end_ns"))
    tile = row.get("tile")
    odd = tile is not None and whole(tile) is None
    if odd or invocation is None or job is None or start is None or end is None:
        trace.odd += 1
        return
    trace.ran.setdefault(invocation, []).append(((str(row.get("stage")), job, tile), (start, end)))


def _judge_all(traces: Mapping[str, _Trace], found: Findings) -> None:
    for case_id, trace in traces.items():
        if trace.odd:
            found.fail(case_id, f"{trace.odd} records of tasks lack a value or tell an impossible one")
        if not trace.planned:
            if trace.ran:
                found.fail(case_id, "has tasks and no plan")
            continue
        for invocation in range(trace.invocations or 0) if trace.invocations is not None else trace.ran:
            found.count("invocations")
            _judge(f"{case_id}, invocation {invocation}", trace, trace.ran.get(invocation, []), found)
        for invocation in trace.ran.keys() - set(range(trace.invocations or 0)):
            if trace.invocations is not None:
                found.fail(case_id, f"has tasks of the invocation {invocation}, which the driver did not make")


def _judge(where: str, trace: _Trace, ran: list[tuple[Task, Span]], found: Findings) -> None:
    found.count("tasks", len(ran))
    visits = Counter(task for task, _ in ran)
    for what, tasks in (
        ("left no record", trace.planned - visits.keys()),
        ("ran more than once", {task for task, times in visits.items() if times > 1}),
        ("were planned by nobody", visits.keys() - trace.planned),
        ("end before they start", {task for task, (start, end) in ran if end < start}),
    ):
        if tasks:
            found.fail(where, f"{len(tasks)} tasks {what} (first: {_task(min(tasks, key=_order))})")
    early = list(_too_early(trace, ran))
    if early:
        ahead, task, needed = max(early)
        found.fail(
            where,
            f"{len(early)} tasks began before what they need had ended: {_task(task)} began {ahead} ns before "
            f"{needed} had",
        )
    found.count("waits", sum(trace.after.get(task[:2], "nothing") != "nothing" for task, _ in ran))


def _too_early(trace: _Trace, ran: list[tuple[Task, Span]]) -> list[tuple[int, Task, str]]:
    """By how many ns a task began too early, the task, and what it had to wait for."""
    ends: dict[tuple[str, int | None], int] = {}
    for (stage, job, _), (_, end) in ran:
        for key in ((stage, job), (stage, None)):
            ends[key] = max(end, ends.get(key, end))
    before = {stage: trace.stages.get(position - 1) for position, stage in trace.stages.items()}
    early = []
    for task, (start, _) in ran:
        stage, job, _ = task
        need, earlier = trace.after.get((stage, job), "nothing"), before.get(stage)
        if need == "nothing" or earlier is None:
            continue
        ended = ends.get((earlier, job if need == "job" else None))
        if ended is not None and start < ended:
            told = f"job {job} of stage {earlier}" if need == "job" else f"stage {earlier}"
            early.append((ended - start, task, told))
    return early


def _compare_evidence(subject: Subject, traces: Mapping[str, _Trace], inside: str, found: Findings) -> None:
    """The evidence holds as many tasks of each case as the records."""
    sql = f"SELECT case_id, count(*) FROM task WHERE pass = '{_PASS}' GROUP BY case_id"
    with open_evidence(subject.plain, sql=sql).connection as connection:
        held = dict(connection.execute(sql).fetchall())
    raw = {case: n for case, trace in traces.items() if (n := sum(map(len, trace.ran.values())) + trace.odd)}
    for case_id in sorted(held.keys() | raw.keys(), key=str):
        if held.get(case_id, 0) != raw.get(case_id, 0):
            found.fail(
                str(case_id),
                f"has {held.get(case_id, 0)} tasks in the evidence and {raw.get(case_id, 0)} in {inside}",
            )


def _order(task: Task) -> tuple[str, int, int]:
    return task[0], task[1], -1 if task[2] is None else task[2]


def _task(task: Task) -> str:
    stage, job, tile = task
    return f"stage {stage}, job {job}" + ("" if tile is None else f", tile {tile}")
