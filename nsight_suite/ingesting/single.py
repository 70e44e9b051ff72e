"""A report where a run could stand: `query REPORT NAME` asks it at once, without making a run of it."""

from __future__ import annotations

from pathlib import Path

from nsight_suite.errors import UsageError
from nsight_suite.evidence.ingested import FORMS, LooseReport
from nsight_suite.ingesting.journal import journal_doubts
from nsight_suite.ingesting.naming import pass_names
from nsight_suite.ingesting.pairing import StaleExport, refuse_stale
from nsight_suite.ingesting.recognising import Form, recognise
from nsight_suite.sources import may_be_report


def report_at(path: Path) -> LooseReport | None:
    """The report at a path; None when what stands there may be a run, or nothing does.

    Raises UsageError for a file that must be exported first, and for an export that is older than the report
    beside it; BadReport for a file that is no report.
    """
    if not may_be_report(path):
        return None
    path = path if path.name else path.resolve()  # `.` is told by its name
    form = recognise(path)
    if form.value not in FORMS:
        ingest = f"python -m nsight_suite.ingest {path} --out RUN"
        if form is Form.GZIP:
            raise UsageError(
                f"{path.name} is compressed by gzip.",
                f"Unpack it: gunzip -k {path}\n  or make a run of it, which unpacks it: {ingest}",
            )
        raise UsageError(
            f"{path.name} is a report as nsys recorded it: it must be exported before it can be asked.",
            f"Make a run of it, which exports it where nsys is on PATH: {ingest}",
        )
    try:
        refuse_stale(path, form)
    except StaleExport as error:
        otherwise = f"Or make a run of it: python -m nsight_suite.ingest {path} --out RUN --accept-stale"
        raise StaleExport(error.what, error.again, otherwise) from error
    (name,) = pass_names([path])
    return LooseReport(name, path, form.value, path.name, tuple(journal_doubts(path, form)))
