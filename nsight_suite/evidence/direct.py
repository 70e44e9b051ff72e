"""A report opened for one question: only what the question reads is built, in memory, and nothing is
written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from nsight_suite.evidence.doubting import doubts_among
from nsight_suite.evidence.ingested import LooseReport, read_report
from nsight_suite.evidence.memory import freed_memory_kept
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
_REMEDY = (
    "The report was read, but this question of it fails. What it holds: query {path} report_completeness; to "
    "ask it as a run: python -m nsight_suite.ingest {path} --out RUN"
)
# What a range tells of the device: unknown where graphs were replayed inside that were not traced.
_OF_DEVICE = frozenset({"kernels", "operations", "device_ns", "projected_start_ns", "projected_end_ns"})


def open_report(report: LooseReport, sql: str, writes: Path | None = None) -> Store:
    """An open store with the evidence of one report that `sql`, one SELECT, reads.

    Other tables may be empty and other columns NULL, so it answers this SQL and no other. The answer may be
    copied to the one file `writes`. Raises BadReport for a report that cannot be read.
    """
    connection = answering_connection()
    needs = needs_of(connection, sql)
    alone = needs is not None and report.form in _NSYS and _suffices_alone(report, needs)
    only = needs.tables | nsys.ALONE if needs and alone else None
    create_tables(connection, only)
    if only is None:
        read_report(connection, report, lambda done, total, what: None)
    else:
        with freed_memory_kept():
            nsys.read(connection, report.path, report.pass_name, needs=needs)
    create_shared_views(connection, only=only)
    lock(connection, [str(writes)] if writes else [])
    return Store(connection, {}, _REMEDY.format(path=report.path), needs=needs)


def doubts_about(report: LooseReport, store: Store) -> list[str]:
    """Codes of what the report leaves in doubt that the answer may rest on for which `open_report` opened the
    store, each once."""
    if store.needs and not _was_read_whole(store):
        return doubts_among([*_codes(report.doubts), *_codes(_doubts_of_shape(report.path))], store.needs)
    codes = [row["code"] for row in store.rows("SELECT DISTINCT code FROM finding ORDER BY code")]
    return doubts_among(codes, store.needs)


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
