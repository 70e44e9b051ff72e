"""Asking an nsys export as a user does: `query REPORT NAME`, with the whole report behind every answer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nsight_suite.evidence.direct import open_report
from nsight_suite.evidence.store import Store
from nsight_suite.ingesting.single import report_at
from nsight_suite.querying import find_query, run_named

Row = dict[str, Any]


class Asked:
    """A report that is open for any question."""

    def __init__(self, path: Path) -> None:
        report = report_at(path)
        assert report is not None
        # This query reads all of a report, so that others find all of it.
        self.store: Store = open_report(report, find_query("report_completeness").sql)

    def rows(self, query: str) -> list[Row]:
        return run_named(self.store, query).records()

    def row(self, query: str) -> Row:
        (row,) = self.rows(query)
        return row

    def table(self, query: str, columns: str) -> list[Any]:
        """Of each row these columns; bare values for one column."""
        names = columns.split()
        rows = self.rows(query)
        return [row[columns] if len(names) == 1 else tuple(row[name] for name in names) for row in rows]

    def findings(self) -> dict[str, str]:
        """Codes with their reasons."""
        return {row["code"]: row["reason"] for row in self.rows("findings")}

    def sql(self, text: str) -> list[Any]:
        found = self.store.connection.execute(text).fetchall()
        return [row[0] if len(row) == 1 else row for row in found]


def at_once(path: Path, query: str) -> list[Row]:
    """The answer to one question that reads no more of the report than it needs."""
    report = report_at(path)
    assert report is not None
    return run_named(open_report(report, find_query(query).sql), query).records()


def only(rows: Iterable[Row], **which: object) -> Row:
    """The one row with these values."""
    (found,) = [row for row in rows if all(row[name] == value for name, value in which.items())]
    return found
