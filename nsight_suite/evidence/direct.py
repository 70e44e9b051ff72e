"""A report opened for one question: only what the question reads is built, in memory, and nothing is
written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nsight_suite.evidence.ingested import LooseReport, read_report
from nsight_suite.evidence.needs import Needs, needs_of
from nsight_suite.evidence.notes import Doubt
from nsight_suite.evidence.readers import nsys
from nsight_suite.evidence.readers.nsys_diagnosis import doubts_of_export, origin_of
from nsight_suite.evidence.readers.nsys_export import open_export
from nsight_suite.evidence.readers.nsys_replays import replays_untraced
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
# Tables that hold what one of the tools recorded: doubts about reports of the other do not concern them.
_OF_NCU = frozenset({"counter", "advice"})
_OF_NSYS = frozenset(
    {
        *("range", "launch", "kernel", "memory_operation", "sync", "api_call", "path", "mark", "graph_run"),
        *("graph_origin", "process", "overhead"),
    }
)
# The tables that tell the doubts of a run.
DOUBTS = ("finding", "report")
# What a range tells of the device: unknown where graphs were replayed inside that were not traced.
_OF_DEVICE = frozenset({"kernels", "operations", "device_ns", "projected_start_ns", "projected_end_ns"})


def open_report(report: LooseReport, sql: str, writes: Path | None = None) -> Store:
    """An open store with the evidence of one report that `sql`, one SELECT, reads.

    Other tables may be empty and other columns NULL, so it answers this SQL and no other. The answer may be
    copied to the one file `writes`. Raises BadReport for a report that cannot be read.
    """
    connection = answering_connection()
    needs = needs_of(connection, sql) if report.form in _NSYS else None
    only = needs.tables | nsys.ALONE if needs and _suffices_alone(report, needs) else None
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
    if needs and not _was_read_whole(store):
        aside = _MINOR | (_NOT_OF_KERNELS if needs.tables <= {"kernel"} else frozenset())
        codes = [*_codes(report.doubts), *_codes(_doubts_of_shape(report.path))]
    else:
        aside = _MINOR
        codes = [row["code"] for row in store.rows("SELECT DISTINCT code FROM finding ORDER BY code")]
    return [code for code in dict.fromkeys(codes) if code not in aside]


def doubts_of_run(store: Store, sql: str) -> list[str]:
    """The same of a run that was ingested, by the findings that its reports left: its store holds DOUBTS."""
    needs = needs_of(store.connection, sql)
    if needs and ("finding" in needs.tables or not needs.tables):
        return []
    aside = _MINOR | (_NOT_OF_KERNELS if needs and needs.tables <= {"kernel"} else frozenset())
    strange = None
    if needs and needs.tables & (_OF_NCU | _OF_NSYS):
        strange = "ncu" if not needs.tables & _OF_NCU else "nsys" if not needs.tables & _OF_NSYS else None
    forms = {row["pass"]: row["format"] for row in _rows_if_there(store, "report", "pass, format")}
    codes = (
        row["code"]
        for row in _rows_if_there(store, "finding", "code, pass")
        if not (strange and (forms.get(row["pass"]) or "").startswith(strange))
    )
    return [code for code in dict.fromkeys(codes) if code not in aside]


def _rows_if_there(store: Store, table: str, columns: str) -> list[dict[str, Any]]:
    """The distinct rows of these columns; none where the table is missing."""
    if table in store.missing:
        return []
    return store.rows(f"SELECT DISTINCT {columns} FROM {table} ORDER BY ALL")


def _suffices_alone(report: LooseReport, needs: Needs) -> bool:
    """Whether kernels or ranges can be read alone. Which ranges hold replays that were not traced is only known
    from all launches."""
    if not nsys.suffices_alone(needs):
        return False
    if "range" not in needs.tables or not needs.columns_of("range") & _OF_DEVICE:
        return True
    with open_export(report.path) as export:
        return not replays_untraced(export, origin_of(export))


def _was_read_whole(store: Store) -> bool:
    found = store.rows("SELECT count(*) AS tables FROM duckdb_tables() WHERE table_name = 'finding'")
    return bool(found[0]["tables"])


def _codes(doubts: Iterable[Doubt]) -> Iterator[str]:
    return (code for code, _, _ in doubts)


def _doubts_of_shape(path: Path) -> Iterator[Doubt]:
    """What an nsys export's tables, columns and metadata tell, without reading its rows."""
    with open_export(path) as export:
        origin = origin_of(export)
        yield from doubts_of_export(export, origin, {**nsys.STAGED, "kernel": nsys.KERNELS})
        if replays_untraced(export, origin):
            told = "Graphs were replayed that were not traced node by node, so what ran inside is unknown."
            yield "graph-level-trace", "graph launches", told
