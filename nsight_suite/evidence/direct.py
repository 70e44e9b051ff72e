"""A report opened for one question: only what the question reads is built, in memory, and nothing is
written."""

from __future__ import annotations

from nsight_suite.evidence.ingested import LooseReport, read_report
from nsight_suite.evidence.needs import needs_of
from nsight_suite.evidence.readers import nsys
from nsight_suite.evidence.store import (
    Connection,
    Store,
    bare_connection,
    create_shared_views,
    create_tables,
    lock,
)

_NSYS = ("nsys-sqlite", "nsys-parquet")


def open_report(report: LooseReport, sql: str) -> Store:
    """An open store with the evidence of one report that `sql`, one SELECT, reads.

    Other tables may be empty and other columns NULL, so it answers this SQL and no other. Raises BadReport for
    a report that cannot be read.
    """
    connection = bare_connection()
    if report.form not in _NSYS:
        create_tables(connection)
        read_report(connection, report, lambda done, total, what: None)
        return _closed(connection)
    needs = needs_of(connection, sql)
    only = needs.tables | nsys.ALONE if needs and nsys.suffices_alone(needs) else None
    create_tables(connection, only)
    nsys.read(connection, report.path, report.pass_name, needs=needs)
    return _closed(connection, only)


def _closed(connection: Connection, only: frozenset[str] | None = None) -> Store:
    create_shared_views(connection, only=only)
    lock(connection)
    return Store(connection, {})
