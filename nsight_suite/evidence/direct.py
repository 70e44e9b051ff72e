"""A report opened for one question: only what the question reads is built, in memory, and nothing is
written."""

from __future__ import annotations

from nsight_suite.evidence.ingested import LooseReport, read_report
from nsight_suite.evidence.needs import needs_of
from nsight_suite.evidence.readers import nsys
from nsight_suite.evidence.store import Store, create_shared_views, empty_store, lock

_NSYS = ("nsys-sqlite", "nsys-parquet")


def open_report(report: LooseReport, sql: str) -> Store:
    """An open store with the evidence of one report that `sql`, one SELECT, reads.

    Other tables may be empty and other columns NULL, so it answers this SQL and no other. Raises BadReport for
    a report that cannot be read.
    """
    connection = empty_store()
    if report.form in _NSYS:
        nsys.read(connection, report.path, report.pass_name, needs=needs_of(connection, sql))
    else:
        read_report(connection, report, lambda done, total, what: None)
    create_shared_views(connection)
    lock(connection)
    return Store(connection, {})
