"""The manifest's queries run again on the evidence: their answers against the summaries, value by value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nsight_suite.errors import SuiteError
from nsight_suite.evidence.store import Store
from nsight_suite.evidence.views import shared_views
from nsight_suite.manifest import QueryEntry
from nsight_suite.querying import open_evidence
from nsight_suite.runfolder import text_sha256
from nsight_suite.sealing import queries_of_run
from nsight_suite.unpacking import shown
from nsight_suite.verifying.answers import ask, differences, read_summary
from nsight_suite.verifying.checks import Check, Findings, Subject

NAME = "summaries"
ABOUT = "each query of the manifest gives the rows of its summary again"

SECONDS = 120.0
_LONGEST = 80


@dataclass(frozen=True)
class _Asking:
    """What all queries are asked with: `own` are this suite's texts by name, `seconds` what each may take."""

    subject: Subject
    store: Store
    own: Mapping[str, str]
    seconds: float


def check(subject: Subject, seconds: float = SECONDS) -> Check:
    """`seconds` is what one query may take: its SQL is anybody's."""
    found = Findings()
    manifest = subject.manifest
    if manifest is None or not manifest.queries:
        found.miss("there is no manifest" if manifest is None else "the manifest names no queries")
        return found.as_check(NAME, ABOUT)
    _compare_views(subject, found)
    behind = {query.summary for query in manifest.queries}
    for path in subject.files:
        if path.startswith("summaries/") and path not in behind:
            found.fail(path, "has no query in the manifest that gives it")
    with found.readable("evidence"):
        own = queries_of_run(subject.run, subject.outside)
        if unasked := own.keys() - {query.name for query in manifest.queries}:
            names = ", ".join(sorted(unasked))
            found.note(f"this suite would also ask {names}, which the manifest does not tell of")
        store = open_evidence(subject.plain)
        with store.connection:
            asking = _Asking(subject, store, own, seconds)
            for query in manifest.queries:
                if text_sha256(query.sql) != query.sha256:
                    found.fail(
                        query.name, f"its SQL text has the SHA-256 {text_sha256(query.sql)}, not {query.sha256}"
                    )
                if query.summary is None:
                    found.miss(f"{query.name} has no summary: {query.reason or 'no reason is told'}")
                    continue
                with found.readable(query.name):
                    _compare(asking, query, query.summary, found)
    return found.as_check(NAME, ABOUT)


def _compare_views(subject: Subject, found: Findings) -> None:
    """Views are those of this suite, whatever the manifest says of them."""
    assert subject.manifest
    for view in subject.manifest.views:
        if text_sha256(view.sql) != view.sha256:
            found.fail(f"view {view.name}", "its SQL text does not have its SHA-256")
        there = shared_views().get(view.name)
        if there is not None and there.statements != view.sql:
            found.note(f"other version of the view {view.name}: the queries were run with this suite's own")


def _compare(asking: _Asking, query: QueryEntry, inside: str, found: Findings) -> None:
    if inside not in asking.subject.files:
        found.fail(query.name, f"its summary {inside} is not here")
        return
    found.count("queries")
    columns, recorded = read_summary(asking.subject.path(inside), inside)
    if query.rows != len(recorded):
        found.fail(query.name, f"had {query.rows} rows by the manifest; {inside} has {len(recorded)}")
    found.count("values", len(recorded) * len(columns))
    for what in _differing(asking, query.sql, columns, recorded, inside):
        found.fail(query.name, what)
    mine = asking.own.get(query.name)
    if mine is None:
        found.note(f"{query.name} is no query of this suite: the manifest's own text was run")
    elif mine != query.sql:
        try:
            same = not _differing(asking, mine, columns, recorded, inside)
        except SuiteError:
            same = False
        gives = "the same rows" if same else "other rows, so compare the two texts"
        note = f"other version of the query {query.name}: the manifest's own text was run; this suite's gives"
        found.note(f"{note} {gives}")


def _differing(
    asking: _Asking, sql: str, columns: list[str], recorded: list[list[str]], inside: str
) -> list[str]:
    """How the answer of a query differs from its summary. Raises SuiteError when it has none."""
    answer = ask(asking.store, sql, asking.seconds, len(recorded))
    if list(answer.columns) != columns:
        return [f"gives the columns {', '.join(answer.columns)}; {inside} has {', '.join(columns)}"]
    told = []
    if len(answer.rows) != len(recorded):
        more = "more than " if len(answer.rows) > len(recorded) else ""
        given = len(recorded) if more else len(answer.rows)
        told.append(f"gives {more}{given} rows; {inside} has {len(recorded)}")
    for at, column, text, now in differences(answer, recorded):
        row = dict(zip(columns, recorded[at], strict=True))
        where = f"row {at + 1}{_of(row)}, column {column}"
        told.append(f"{where}: {inside} says {_value(text)}, the evidence gives {_value(now)}")
    return told


def _of(row: Mapping[str, str]) -> str:
    named = [row[name] for name in ("case_id", "pass", "kernel", "name") if row.get(name)]
    return f" ({_value(', '.join(named))})" if named else ""


def _value(text: str) -> str:
    return shown(text or "nothing", _LONGEST)
