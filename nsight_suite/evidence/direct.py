"""A report opened for one question: only what the question reads is built, in memory, and nothing is
written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from nsight_suite.evidence.ingested import LooseReport, read_report
from nsight_suite.evidence.needs import needs_of
from nsight_suite.evidence.notes import Doubt
from nsight_suite.evidence.readers import nsys
from nsight_suite.evidence.readers.nsys_diagnosis import doubts_of_export, origin_of
from nsight_suite.evidence.readers.nsys_export import find, open_export
from nsight_suite.evidence.store import (
    Store,
    answering_connection,
    create_shared_views,
    create_tables,
    lock,
)

_NSYS = ("nsys-sqlite", "nsys-parquet")
# What changes no answer.
_MINOR = frozenset(
    {"foreign-lines", "schema-newer-minor", "schema-unknown", "unknown-column", "versioned-table"}
)
_REMEDY = (
    "The report was read, but this question of it fails. What it holds: query {path} report_completeness; to "
    "ask it as a run: python -m nsight_suite.ingest {path} --out RUN"
)
# What a question about kernels alone does not rest on.
_NOT_OF_KERNELS = frozenset({"no-api-table", "no-range-table"})


def open_report(report: LooseReport, sql: str, writes: Path | None = None) -> Store:
    """An open store with the evidence of one report that `sql`, one SELECT, reads.

    Other tables may be empty and other columns NULL, so it answers this SQL and no other. The answer may be
    copied to the one file `writes`. Raises BadReport for a report that cannot be read.
    """
    connection = answering_connection()
    needs = needs_of(connection, sql) if report.form in _NSYS else None
    only = needs.tables | nsys.ALONE if needs and nsys.suffices_alone(needs) else None
    create_tables(connection, only)
    if only is None:
        read_report(connection, report, lambda done, total, what: None)
    else:
        nsys.read(connection, report.path, report.pass_name, needs=needs)
    create_shared_views(connection, only=only)
    lock(connection, [str(writes)] if writes else [])
    return Store(connection, {}, _REMEDY.format(path=report.path))


def doubts_about(report: LooseReport, store: Store, sql: str) -> list[str]:
    """Codes of what the report leaves in doubt that the answer of `sql` may rest on, each once.

    `store` is what `open_report` gave for it. Nothing is told to a question that reads the findings itself, or
    no table at all.
    """
    needs = needs_of(store.connection, sql)
    if needs and ("finding" in needs.tables or not needs.tables):
        return []
    if needs and report.form in _NSYS and nsys.suffices_alone(needs):
        aside = _MINOR | (_NOT_OF_KERNELS if needs.tables <= {"kernel"} else frozenset())
        codes = [*_codes(report.doubts), *_codes(_doubts_of_shape(report.path))]
    else:
        aside = _MINOR
        codes = [row["code"] for row in store.rows("SELECT DISTINCT code FROM finding ORDER BY code")]
    return [code for code in dict.fromkeys(codes) if code not in aside]


def _codes(doubts: Iterable[Doubt]) -> Iterator[str]:
    return (code for code, _, _ in doubts)


def _doubts_of_shape(path: Path) -> Iterator[Doubt]:
    """What an nsys export's tables and columns tell, without reading its rows."""
    with open_export(path) as export:
        yield from doubts_of_export(export, origin_of(export), {**nsys.STAGED, "kernel": nsys.KERNELS})
        table = find(export, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
        if table and export.size(table):
            yield "graph-level-trace", table, "Graphs were traced as a whole, so what ran inside is unknown."
