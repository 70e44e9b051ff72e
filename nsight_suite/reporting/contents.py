"""What a report says, gathered from a run: every text and number, ready to be set in HTML or Markdown."""

from __future__ import annotations

import base64
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsight_suite import __version__, protocol
from nsight_suite.drawing import Drawing, Drawn
from nsight_suite.errors import SuiteError
from nsight_suite.evidence.store import Store
from nsight_suite.querying import find_query, open_evidence, run_named
from nsight_suite.reconciliation.findings import AppliedRule, CaseVerdicts, Reconciliation
from nsight_suite.reconciliation.table import (
    FindingGroup,
    answers,
    cells,
    grouped,
    markdown_findings,
    markdown_table,
    outcome,
)
from nsight_suite.reporting.checks import by_kind, summary
from nsight_suite.reporting.selection import CHECKS, ENVIRONMENT, KEY_TABLES, Shown
from nsight_suite.reporting.tables import TextTable, text_table
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import recorded_runs

_SOURCES = {
    "capture": "captured by the suite",
    "reports": "built from reports made elsewhere",
    "recorded": "a copy of a run that ships with the suite; nothing was measured by whoever wrote this report",
}


@dataclass(frozen=True)
class Outcome:
    """The report's first words: a verdict, a sentence, and how many findings stand behind it."""

    verdict: str
    headline: str
    detail: str


@dataclass(frozen=True)
class ShownFigure:
    """A figure as it stands in the report: SVG as a data URI, so that nothing is loaded from elsewhere."""

    name: str
    about: str
    queries: tuple[str, ...]
    svg_base64: str


@dataclass(frozen=True)
class Report:
    """Everything that both forms of a report show."""

    run_id: str
    run_argument: str
    experiment: str
    title: str
    question: str
    suite_version: str
    outcome: Outcome
    cases: tuple[CaseVerdicts, ...]
    cells: Mapping[str, Mapping[str, str]]
    doubts: tuple[FindingGroup, ...]
    markdown_verdicts: str
    markdown_doubts: str
    figures: tuple[ShownFigure, ...]
    figures_left_out: Mapping[str, str]
    tables: tuple[TextTable, ...]
    rules: tuple[AppliedRule, ...]
    checks_summary: str
    checks: tuple[TextTable, ...]
    environment: tuple[TextTable, ...]
    facts: Mapping[str, str]
    processes: Mapping[str, tuple[str, ...]]


def gather(run: RunFolder, reconciliation: Reconciliation, drawn: Drawn) -> Report:
    """Everything that the report of a run shows.

    Raises CannotAnswer when the run holds no evidence at all; what is merely missing is said in its place.
    """
    info = run.read_run()
    name = str(info["experiment"])
    store = open_evidence(run, missing_as_empty=True)
    title, question = _title(run, name)
    validation = run_named(store, "validation", name).records()
    return Report(
        run_id=str(info["run_id"]),
        run_argument=_run_argument(run),
        experiment=name,
        title=title,
        question=question,
        suite_version=__version__,
        outcome=_outcome(reconciliation),
        cases=reconciliation.cases,
        cells=cells(reconciliation),
        doubts=tuple(grouped(reconciliation)),
        markdown_verdicts=markdown_table(reconciliation),
        markdown_doubts=markdown_findings(reconciliation),
        figures=tuple(_shown(drawing) for drawing in drawn.drawings),
        figures_left_out=drawn.left_out,
        tables=_tables(store, KEY_TABLES, name, answers(reconciliation)),
        rules=reconciliation.rules,
        checks_summary=summary(validation),
        checks=(by_kind(validation), *_tables(store, CHECKS, name)),
        environment=_tables(store, ENVIRONMENT, name),
        facts=_facts(info),
        processes=_processes(run, info.get("passes") or ()),
    )


def _title(run: RunFolder, name: str) -> tuple[str, str]:
    """The experiment's own words. A run made from foreign reports may come without a protocol."""
    try:
        declared = protocol.load(run.protocol)
    except SuiteError:
        return name, ""
    return declared.title, declared.question


def _run_argument(run: RunFolder) -> str:
    """What stands for the run on a command line: a recorded run's name, else its path, seen from here."""
    path, here = run.path.resolve(), Path.cwd()
    if path in {recorded.resolve() for recorded in recorded_runs()}:
        return f"examples/{path.name}"
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


def _outcome(reconciliation: Reconciliation) -> Outcome:
    counts = Counter(finding.verdict for finding in reconciliation.findings)
    told = ", ".join(f"{counts[word]} {word}" for word in ("agree", "explained", "disagree", "cannot-answer"))
    return Outcome(
        *outcome(reconciliation),
        f"{len(reconciliation.cases)} cases. Findings: {told}.",
    )


def _shown(drawing: Drawing) -> ShownFigure:
    queries = tuple(query["name"] for query in drawing.provenance["queries"] if query["name"])
    return ShownFigure(
        drawing.source.name, drawing.source.about, queries, base64.b64encode(drawing.svg).decode()
    )


def _tables(
    store: Store, shown: Iterable[Shown], experiment: str, bound: Mapping[str, str] | None = None
) -> tuple[TextTable, ...]:
    """`bound`: what bounds each case, as judged; the table of limits shows it beside its numbers."""
    tables = []
    for one in shown:
        query = find_query(one.query, experiment)
        rows = run_named(store, one.query, experiment).records()
        if one.only_if is not None and not any(map(one.only_if, rows)):
            continue
        if bound is not None and one.query == "limits":
            rows = [{**row, "answer": bound.get(row["case_id"])} for row in rows]
        about = f"{query.about} {query.notes}".replace("\n", " ").strip()
        tables.append(text_table(one.title, one.query, about, rows, one.columns, noted=one.noted))
    return tuple(tables)


def _processes(run: RunFolder, order: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The command lines of each pass, in the order in which the passes were asked for."""
    records = run.pass_records()
    return {
        name: tuple(shlex.join(map(str, step["argv"])) for step in records[name].get("steps", ()))
        for name in dict.fromkeys([*order, *records])
        if name in records
    }


def _facts(info: Mapping[str, Any]) -> dict[str, str]:
    asked = {
        "asked for with": shlex.join(map(str, info.get("argv") or ())),
        "made": str(info.get("created_utc") or ""),
        "state": str(info.get("state") or ""),
        "source": _SOURCES.get(str(info.get("source")), ""),
        "size": "the protocol's quick run" if info.get("quick") else "the whole protocol",
        "captured by suite version": str(info.get("suite_version") or ""),
        "protocol, SHA-256": str(info.get("protocol_sha256") or ""),
    }
    return {name: value for name, value in asked.items() if value}
