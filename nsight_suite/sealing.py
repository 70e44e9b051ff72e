"""What a finished run ends with: the rows of the queries that it is judged and shown by, and its manifest.

`summaries/NAME.csv` holds what a query gives as the suite's own CSV writes it, so that it can be read, and
compared with what the same SQL gives again, without any tool. Times are in ns, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from nsight_suite.errors import SuiteError
from nsight_suite.evidence.conditions import conditions
from nsight_suite.evidence.store import Store
from nsight_suite.evidence.views import shared_views
from nsight_suite.figurefiles import figure_sources
from nsight_suite.manifest import LeftOut, Manifest, QueryEntry, ViewEntry, assemble, write_manifest
from nsight_suite.querying import ask_sql, open_evidence, query_text
from nsight_suite.querying.formats import as_text
from nsight_suite.reconciliation.judging import hold
from nsight_suite.reconciliation.witnesses import CASES, PLAIN, QUERIES
from nsight_suite.reporting.ingested import INGESTED_TABLES
from nsight_suite.reporting.selection import CHECKS, DOUBTS, ENVIRONMENT, KEY_TABLES
from nsight_suite.runfolder import RunFolder, replacing, text_sha256
from nsight_suite.sources import ExperimentSource


def seal(run: RunFolder, experiment: ExperimentSource | None = None) -> Manifest:
    """Write the summaries and the manifest of a run whose evidence is built, and return the manifest.

    `experiment` adds the queries of the figures of an experiment that lies outside the project.
    """
    manifest = make_manifest(run, experiment)
    write_manifest(run, manifest)
    return manifest


def make_manifest(
    run: RunFolder,
    experiment: ExperimentSource | None = None,
    *,
    left_out: Iterable[LeftOut] = (),
    bundle: bool = False,
) -> Manifest:
    """Write the summaries of a run, and give its manifest, which is not written.

    Raises CannotAnswer when the run has no evidence.
    """
    queries = summarise(run, experiment)
    return assemble(
        run, conditions(run), queries=queries, views=views_of_run(), left_out=left_out, bundle=bundle
    )


def summarise(run: RunFolder, experiment: ExperimentSource | None = None) -> list[QueryEntry]:
    """Write the rows of every query of the run into summaries/, and remove what else lies there.

    Raises CannotAnswer when the run has no evidence. One query that has no answer says why in its entry.
    """
    queries = queries_of_run(run, experiment)
    for path in run.summaries.glob("*.csv"):
        if path.stem not in queries:
            path.unlink()
    store = open_evidence(run)
    with store.connection:
        hold(store)
        return [_summarised(run, store, name, sql) for name, sql in queries.items()]


def queries_of_run(run: RunFolder, experiment: ExperimentSource | None = None) -> dict[str, str]:
    """The SQL that reconciliation, report and figures of a run ask, by name; of an ingested one its report.

    A named query goes by its name; other SQL by the name of who asks it and its own: `roofline.device`.
    """
    name = str(run.read_run()["experiment"])
    if run.is_ingested():
        shown = {one.query for one in chain(INGESTED_TABLES, DOUBTS, ENVIRONMENT)}
        return {query: query_text(query, name) for query in sorted(shown)}
    named = {*QUERIES, *(one.query for one in chain(KEY_TABLES, CHECKS, ENVIRONMENT))}
    asked = {"reconciliation.cases": CASES, **{f"reconciliation.{key}": sql for key, sql in PLAIN.items()}}
    for source in figure_sources(experiment or name):
        named.update(query for key, query in source.queries.items() if source.is_named(key))
        asked.update(
            {f"{source.name}.{key}": sql for key, sql in source.queries.items() if not source.is_named(key)}
        )
    asked |= {query: query_text(query, name) for query in named}
    return dict(sorted(asked.items()))


def views_of_run() -> Iterator[ViewEntry]:
    """The views that the queries read."""
    for view in shared_views().values():
        yield ViewEntry(view.name, text_sha256(view.statements), view.statements)


def _summarised(run: RunFolder, store: Store, name: str, sql: str) -> QueryEntry:
    path = run.summaries / f"{name}.csv"
    try:
        answer = ask_sql(store, sql).whole()
    except SuiteError as error:
        path.unlink(missing_ok=True)
        return QueryEntry(name, text_sha256(sql), sql, None, None, error.what)
    with replacing(path) as temporary:
        temporary.write_text(as_text(answer, "csv"), encoding="utf-8", newline="")
    return QueryEntry(name, text_sha256(sql), sql, path.relative_to(run.path).as_posix(), len(answer.rows))
