"""Runs that were made of loose reports: kernels by name, and ranges by their path, of two nsys captures.

Nothing declares what such reports should show. Executions pair one by one only where both reports ran the same
kernels in the same order from the first to the last, so that the n-th execution did the same work in both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nsight_suite.comparing.conditions import blocking, difference, in_order, reason, remark, run_doubts
from nsight_suite.comparing.deciding import Job, decide
from nsight_suite.comparing.drift import between_halves, moved
from nsight_suite.comparing.results import (
    CHANGED,
    INCOMPARABLE,
    MISSING,
    NEW,
    UNCHANGED,
    Comparison,
    Doubt,
    Options,
    Row,
    in_table,
)
from nsight_suite.comparing.series import Series
from nsight_suite.comparing.sides import QueryRow, told
from nsight_suite.errors import CannotAnswer, UsageError
from nsight_suite.evidence.versions import of_one_version
from nsight_suite.querying import open_evidence, run_named, run_sql
from nsight_suite.runfolder import RunFolder

# Durations of each kernel in the order in which they began, as kernel_summary puts them together; and of each
# nesting of ranges the device time of its instances, as range_projection tells it.
_TIMES = {
    "kernel": (
        "kernel_summary",
        """
        SELECT pass, name, device, list(end_ns - start_ns ORDER BY start_ns, kernel_id) AS durations
        FROM kernel
        WHERE end_ns > start_ns
        GROUP BY pass, name, device
        ORDER BY pass, name, device
        """,
    ),
    "range": (
        "range_projection",
        """
        SELECT r.pass, p.path AS name, NULL AS device,
            list(r.projected_end_ns - r.projected_start_ns ORDER BY r.start_ns, r.range_id) AS durations
        FROM "range" AS r
        JOIN path AS p ON p.pass = r.pass AND p.path_id = r.path_id
        WHERE r.projected_end_ns > r.projected_start_ns
        GROUP BY r.pass, p.path
        ORDER BY r.pass, p.path
        """,
    ),
}
# Two reports have the same word when they ran the same kernels in the same order. Place and name are hashed as
# one text: DuckDB puts the hashes of two columns together by xor, which would forget what stood where.
_ORDER = """
SELECT pass, count(*) || ':' || bit_xor(hash(place || ' ' || name)) AS kernels_in_order
FROM (
    SELECT pass, name, row_number() OVER (PARTITION BY pass ORDER BY start_ns, kernel_id) AS place
    FROM kernel
)
GROUP BY pass
"""
_UNDECLARED = (
    "Nothing declares that both reports are of the same program and input; only their kernels can tell."
)


@dataclass(frozen=True)
class Report:
    """An nsys report of a run. `silent`: launches in it left no record, so what is not there may have run."""

    models: str
    units: str
    tool: str
    findings: str
    silent: bool
    times: Mapping[str, Mapping[str, Series]]


@dataclass(frozen=True)
class Loose:
    """A run made of reports: those of nsys, by name, and the names of the others."""

    info: Mapping[str, Any]
    gpus: Sequence[QueryRow]
    reports: Mapping[str, Report]
    others: tuple[str, ...]


def compare_loose(ours: Loose, theirs: Loose, options: Options, more: Sequence[Loose] = ()) -> Comparison:
    """A pure function of what two runs of reports hold; `more` are repeats of the first.

    Raises UsageError for options that need cases.
    """
    if options.baseline or options.cases:
        raise UsageError(
            "Loose reports have no variants and no cases.",
            "Leave --baseline and --case away, or compare captured runs.",
        )
    doubts = [*run_doubts(ours.info, theirs.info, options.allow), remark("undeclared", _UNDECLARED)]
    if others := sorted({*ours.others, *theirs.others}):
        doubts.append(
            remark("not-compared", f"Only reports of nsys tell times; left out: {', '.join(others)}.")
        )
    rows: list[Row] = []
    jobs: list[Job] = []
    for name, before, after in _matched(ours, theirs):
        if before is None or after is None:
            rows.append(Row("report", name, NEW if before is None else MISSING, queries=("sources",)))
            continue
        doubts += _doubts_of(name, before, after, options.allow)
        again = [report for repeat in more if (report := _like(repeat, name))]
        for report in again:
            against = [doubt for doubt in _doubts_of(name, before, report, ()) if doubt.blocks]
            doubts += [
                remark("doubtful-repeat", f"a repeat of A has {doubt.told}", [name]) for doubt in against
            ]
        for found in _compared(name, before, after, again, doubts):
            if isinstance(found, Job):
                jobs.append(found)
            else:
                rows.append(found)
    return Comparison(
        told(ours.info, ours.gpus),
        told(theirs.info, theirs.gpus),
        options,
        tuple(str(one.info["run_id"]) for one in more),
        in_order(doubts),
        in_table([*rows, *decide(jobs, options)]),
    )


def read_loose(run: RunFolder) -> Loose:
    """Ask a run of reports all that a comparison needs. Raises CannotAnswer without evidence or nsys report."""
    return of_one_version(run.evidence, lambda: _read(run))


def _read(run: RunFolder) -> Loose:
    store = open_evidence(run)
    try:
        gpus, completeness, sources = (
            run_named(store, name).records() for name in ("gpus", "report_completeness", "sources")
        )
        order = {row["pass"]: row["kernels_in_order"] for row in run_sql(store, _ORDER).records()}
        times = {kind: run_sql(store, sql).records() for kind, (_, sql) in _TIMES.items()}
    finally:
        store.connection.close()
    reports = {}
    for row in completeness:
        name = row["pass"]
        if not row["format"].startswith("nsys"):
            continue
        of_report = [gpu for gpu in gpus if gpu["pass"] == name]
        reports[name] = Report(
            models=_listed(gpu["name"] for gpu in of_report),
            units=_listed(gpu["uuid"] for gpu in of_report),
            tool=_listed(source["tool_version"] for source in sources if source["pass"] == name),
            findings=row["codes"] or "",
            silent=row["kernels_told"] != "recorded"
            or any(row[column] != 0 for column in ("launches_without_records", "replays_without_nodes")),
            times={kind: _series(found, name, order.get(name, "")) for kind, found in times.items()},
        )
    if not reports:
        raise CannotAnswer(f"{run.path} holds no nsys report, so no times of kernels.", "Ask it: query --list")
    others = tuple(row["pass"] for row in completeness if row["pass"] not in reports)
    return Loose(run.read_run(), gpus, reports, others)


def _series(rows: Sequence[QueryRow], name: str, order: str) -> dict[str, Series]:
    """Durations by what they are of: with the device, where a report has several."""
    mine = [row for row in rows if row["pass"] == name]
    several = len({row["device"] for row in mine}) > 1
    return {
        f"{row['name']} (device {row['device']})" if several else row["name"]: Series(
            tuple(range(len(row["durations"]))), tuple(row["durations"]), ((0, 0, order),)
        )
        for row in mine
    }


def _matched(a: Loose, b: Loose) -> Iterator[tuple[str, Report | None, Report | None]]:
    """Reports that stand for one another: the only ones, else those of one name."""
    if len(a.reports) == len(b.reports) == 1:
        ((name, ours),), ((_, theirs),) = a.reports.items(), b.reports.items()
        yield name, ours, theirs
        return
    for name in dict.fromkeys([*a.reports, *b.reports]):
        yield name, a.reports.get(name), b.reports.get(name)


def _like(run: Loose, name: str) -> Report | None:
    """The report of a repeat that stands for the one of that name."""
    return next(iter(run.reports.values())) if len(run.reports) == 1 else run.reports.get(name)


def _doubts_of(name: str, a: Report, b: Report, allow: Collection[str]) -> Iterator[Doubt]:
    yield from difference("device", name, a.models, b.models, allow)
    if a.models == b.models and a.units != b.units:
        yield remark("other-unit", "another unit of the same model", [name])
    if a.tool != b.tool:
        yield reason(
            "tools", f"other versions: nsys {a.tool or 'unknown'} → {b.tool or 'unknown'}", allow, [name]
        )
    for side, report in (("A", a), ("B", b)):
        if report.findings:
            yield remark("doubtful-report", f"in run {side} its reader found {report.findings}", [name])


def _compared(
    name: str, a: Report, b: Report, repeats: Sequence[Report], doubts: Sequence[Doubt]
) -> Iterator[Row | Job]:
    """For each kernel and range a job or a row, and a row for how often it ran."""
    for kind, (query, _) in _TIMES.items():
        ours, theirs = a.times[kind], b.times[kind]
        for subject in dict.fromkeys([*ours, *theirs]):
            before, after = ours.get(subject), theirs.get(subject)
            codes = blocking(doubts, [name], subject)
            row = Row(
                kind,
                subject,
                INCOMPARABLE,
                before=before.median if before else None,
                after=after.median if after else None,
                unit="ns",
                reasons=codes,
                queries=(query,),
            )
            if before is None or after is None:
                # What left no record may have run all the same.
                unknown = (a if before is None else b).silent
                verdict = INCOMPARABLE if unknown else NEW if before is None else MISSING
                yield replace(row, verdict=verdict, reasons="launches-without-records" if unknown else "")
                continue
            yield _executions(row, len(before.values), len(after.values))
            if codes:
                yield row
            else:
                more = [one.times[kind][subject] for one in repeats if subject in one.times[kind]]
                yield _job(row, f"{name} {kind}", (before, after), more)


def _executions(row: Row, before: int, after: int) -> Row:
    """How often the subject of a row ran."""
    verdict = INCOMPARABLE if row.reasons else UNCHANGED if before == after else CHANGED
    return Row(
        f"{row.quantity}:executions",
        row.case_id,
        verdict,
        before,
        after,
        unit="1",
        how="counted",
        reasons=row.reasons,
        queries=row.queries,
    )


def _job(row: Row, group: str, pair: tuple[Series, Series], more: Sequence[Series]) -> Job:
    drift = [half for one in pair for half in between_halves(one.values)]
    drift += [moved("repeats", pair[0].values, one.values) for one in more]
    return Job(row.quantity, row.unit, row.queries, row.case_id, group, (pair,), tuple(drift))


def _listed(values: Iterable[str | None]) -> str:
    return "+".join(sorted({value for value in values if value}))
