"""What a report says, gathered from a run: every text and number, ready to be set in HTML or Markdown."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nsight_suite import __version__
from nsight_suite.drawing import Drawing, Drawn
from nsight_suite.evidence.store import Store
from nsight_suite.querying import open_evidence
from nsight_suite.reconciliation.findings import (
    CANNOT_ANSWER,
    NOT_DECLARED,
    AppliedRule,
    CaseVerdicts,
    Reconciliation,
)
from nsight_suite.reconciliation.table import (
    FindingGroup,
    answers,
    cells,
    grouped,
    markdown_findings,
    markdown_table,
    outcome,
)
from nsight_suite.reporting.behind import BEHIND
from nsight_suite.reporting.checks import by_kind, summary
from nsight_suite.reporting.declared import Declared, declared, made, processes
from nsight_suite.reporting.files import evidence_files
from nsight_suite.reporting.ingested import INGESTED_BEHIND, INGESTED_TABLES, MOST_ROWS
from nsight_suite.reporting.lacking import answer, lacking, state
from nsight_suite.reporting.linking import LinkedTable, Linker, QueryEvidence, View
from nsight_suite.reporting.selection import CHECKS, DOUBTS, ENVIRONMENT, KEY_TABLES
from nsight_suite.reporting.tables import TextTable
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import recorded_runs

_MOST_DOUBTS = 200
# What may stand as it is in a data URI inside of single quotes; a fifth shorter than base64, and readable.
_PLAIN_IN_URI = ' !"$()*+,-./:;<=>?@_~'


@dataclass(frozen=True)
class Outcome:
    """The report's first words: a verdict, a sentence, and how many findings stand behind it.

    `warning` is of a run that is not complete, else empty.
    """

    verdict: str
    headline: str
    detail: str
    warning: str


@dataclass(frozen=True)
class ShownFigure:
    """A figure as it stands in the report. `svg` is what follows `data:image/svg+xml,`: nothing is loaded.

    `queries` are those that it reads, by the names under which the evidence page has them.
    """

    name: str
    about: str
    queries: tuple[str, ...]
    svg: str


@dataclass(frozen=True)
class Report:
    """Everything that both forms of a report show. Without a reconciliation nothing was judged."""

    run_id: str
    run_argument: str
    experiment: str
    suite_version: str
    declared: Declared
    outcome: Outcome
    judged: bool
    cases: tuple[CaseVerdicts, ...]
    cells: Mapping[str, Mapping[str, str]]
    doubts: tuple[FindingGroup, ...]
    doubt_of: Mapping[tuple[str, str], int]
    markdown_verdicts: str
    markdown_doubts: str
    figures: tuple[ShownFigure, ...]
    figures_left_out: Mapping[str, str]
    tables: tuple[LinkedTable, ...]
    rules: tuple[AppliedRule, ...]
    unanswered: tuple[tuple[int, FindingGroup], ...]
    lacking: tuple[str, ...]
    reader_doubts: tuple[LinkedTable, ...]
    checks_summary: str
    checks: tuple[TextTable, ...]
    environment: tuple[TextTable, ...]
    files: TextTable
    queries: Mapping[str, QueryEvidence]
    views: tuple[View, ...]
    facts: Mapping[str, str]
    processes: Mapping[str, tuple[str, ...]]


def gather(run: RunFolder, reconciliation: Reconciliation | None, drawn: Drawn, called: str = "") -> Report:
    """Everything that the report of a run shows; without a reconciliation for a run that declares no cases.

    `called` stands for the run on command lines, in place of its path.

    Raises CannotAnswer when the run holds no evidence at all; what is merely missing is said in its place.
    """
    store = open_evidence(run)
    with store.connection:
        return _gathered(run, store, reconciliation, drawn, called or _run_argument(run))


def _gathered(
    run: RunFolder, store: Store, reconciliation: Reconciliation | None, drawn: Drawn, argument: str
) -> Report:
    info = run.read_run()
    name = str(info["experiment"])
    doubts = tuple(grouped(reconciliation)) if reconciliation else ()
    linker = Linker(store, name, argument)
    tables = (
        linker.tables(KEY_TABLES, more={"limits": answers(reconciliation)}, behind=BEHIND)
        if reconciliation
        else linker.tables(INGESTED_TABLES, most=MOST_ROWS, behind=INGESTED_BEHIND)
    )
    checks, environment = (tuple(one.table for one in linker.tables(shown)) for shown in (CHECKS, ENVIRONMENT))
    validation = answer(store, "validation", name)
    linker.add(("validation", *(source for doubt in doubts for source in doubt.sources)))
    linker.add_figures(drawn)
    return Report(
        run_id=str(info["run_id"]),
        run_argument=argument,
        experiment=name,
        suite_version=__version__,
        declared=declared(run, name),
        outcome=_outcome(info, reconciliation),
        judged=reconciliation is not None,
        cases=reconciliation.cases if reconciliation else (),
        cells=cells(reconciliation) if reconciliation else {},
        doubts=doubts,
        doubt_of=_doubt_of(doubts),
        markdown_verdicts=markdown_table(reconciliation) if reconciliation else "",
        markdown_doubts=markdown_findings(reconciliation) if reconciliation else "",
        figures=tuple(_shown(drawing) for drawing in drawn.drawings),
        figures_left_out=drawn.left_out,
        tables=tables,
        rules=reconciliation.rules if reconciliation else (),
        unanswered=tuple(
            (place, doubt) for place, doubt in enumerate(doubts, 1) if doubt.verdict == CANNOT_ANSWER
        ),
        lacking=lacking(info, store, drawn),
        reader_doubts=linker.tables(DOUBTS, most=_MOST_DOUBTS),
        checks_summary=summary(validation) if reconciliation else "",
        checks=(by_kind(validation or ()), *checks) if reconciliation else (),
        environment=environment,
        files=evidence_files(run, store),
        queries=linker.queries,
        views=linker.views(),
        facts=made(info),
        processes=processes(run, info.get("passes") or ()),
    )


def _run_argument(run: RunFolder) -> str:
    """What stands for the run on a command line: a recorded run's name, else its path, seen from here."""
    path, here = run.path.resolve(), Path.cwd()
    if path in {recorded.resolve() for recorded in recorded_runs()}:
        return f"examples/{path.name}"
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


def _outcome(info: Mapping[str, Any], reconciliation: Reconciliation | None) -> Outcome:
    if reconciliation is None:
        reports = len(info.get("passes") or ())
        headline = "Nothing is judged: no experiment declares what these reports should show."
        return Outcome(
            NOT_DECLARED, headline, f"Ingested from {reports} report{'s' * (reports != 1)}.", state(info)
        )
    counts = Counter(finding.verdict for finding in reconciliation.findings)
    told = ", ".join(f"{counts[word]} {word}" for word in ("agree", "explained", "disagree", "cannot-answer"))
    return Outcome(
        *outcome(reconciliation), f"{len(reconciliation.cases)} cases. Findings: {told}.", state(info)
    )


def _doubt_of(doubts: Sequence[FindingGroup]) -> dict[tuple[str, str], int]:
    """The gravest doubt of each case and family, by its place among the doubts, from 1."""
    places: dict[tuple[str, str], int] = {}
    for place, doubt in enumerate(doubts, 1):
        for finding in doubt.findings:
            if finding.case_id:
                places.setdefault((finding.case_id, finding.family), place)
    return places


def _shown(drawing: Drawing) -> ShownFigure:
    queries = tuple(
        query["name"] or f"{drawing.source.name}.{query['key']}" for query in drawing.provenance["queries"]
    )
    return ShownFigure(
        drawing.source.name, drawing.source.about, queries, quote(drawing.svg, safe=_PLAIN_IN_URI)
    )
