"""Reports → a run folder: find them, make them readable, read each into one store, write the evidence."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from nsight_suite import __version__
from nsight_suite.capturing.environment import without_secrets
from nsight_suite.capturing.tools import Tool, find_tool
from nsight_suite.errors import BadReport, SuiteError, first_line
from nsight_suite.evidence import ingested
from nsight_suite.evidence.conditions import conditions
from nsight_suite.evidence.fingerprint import Fingerprint, fingerprint, size_and_time
from nsight_suite.evidence.ingested import LooseReport, Progress
from nsight_suite.evidence.readers.ncu_rep import can_read
from nsight_suite.evidence.sqlite import write_sqlite
from nsight_suite.evidence.store import Connection, DatabaseError
from nsight_suite.ingesting.background import ending_in_order, in_background
from nsight_suite.ingesting.draft import draft, refuse_taken
from nsight_suite.ingesting.exporting import Workshop, export, unpack
from nsight_suite.ingesting.inputs import LeftOut, look_for
from nsight_suite.ingesting.journal import journal_doubts
from nsight_suite.ingesting.merging import refuse_strangers
from nsight_suite.ingesting.naming import pass_names
from nsight_suite.ingesting.overview import Overview, overview
from nsight_suite.ingesting.pairing import Chosen, choose
from nsight_suite.ingesting.recognising import Form
from nsight_suite.ingesting.showing import Display, NoDisplay
from nsight_suite.manifest import assemble, write_manifest
from nsight_suite.runfolder import RunFolder, write_json

TOOL_TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class Options:
    """How to ingest.

    merge_anyway    read reports of different machines or programs into one run
    accept_stale    read an export that is older than the report beside it
    sqlite          write evidence.sqlite too
    tool_timeout_s  the longest that nsys may take to export one report, in seconds
    """

    merge_anyway: bool = False
    accept_stale: bool = False
    sqlite: bool = False
    tool_timeout_s: float = TOOL_TIMEOUT_S


@dataclass(frozen=True)
class Ingested:
    """A run that was made, what it holds, and which files of the folders given were not read."""

    run: RunFolder
    overview: Overview
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class _Prepared:
    """A report that can be read now. `named` reports must be readable."""

    report: LooseReport
    chosen: Chosen
    named: bool
    made_with: str | None


def ingest(
    reports: Sequence[Path],
    out: Path,
    options: Options | None = None,
    display: Display | None = None,
    argv: Sequence[str] = (),
) -> Ingested:
    """Make the run folder `out` of these reports, whole or not at all.

    Raises SuiteError: for what is no report, for reports that do not belong together, for a report that cannot
    be read (one that was named; in a folder such a report becomes a failed pass), and when `out` is taken.
    """
    options, display = options or Options(), display or NoDisplay()
    nsys = cache(lambda: find_tool("nsys"))
    given, left_out = look_for(reports)
    refuse_taken(out)
    chosen, not_needed = choose(
        given,
        accept_stale=options.accept_stale,
        can_export=lambda: nsys() is not None,
        can_load=can_read,
    )
    named = {one.path for one in given if one.named}
    with ending_in_order(), draft(out) as run:
        work = run.work
        work.mkdir()
        shop = Workshop(run.reports, work, options.tool_timeout_s, nsys)
        prepared = list(_prepare(shop, chosen, named, display))
        if not options.merge_anyway:
            refuse_strangers([one.report for one in prepared])
        asked = _asked(out, prepared, argv)
        with ingested.store_for([one.report for one in prepared], work) as connection:
            shown = in_background(
                connection,
                display.advanced,
                lambda progress: _fill(
                    connection, run, asked, prepared, options=options, display=display, progress=progress
                ),
                lambda: shutil.rmtree(run.path, ignore_errors=True),
            )
        shutil.rmtree(work)
    return Ingested(RunFolder(out), shown, (*left_out, *not_needed))


def _prepare(
    shop: Workshop, chosen: Sequence[Chosen], named: set[Path], display: Display
) -> Iterator[_Prepared]:
    """Make every report readable. What is made is kept in the run's reports/."""
    for number, (one, name) in enumerate(
        zip(chosen, pass_names([one.given for one in chosen]), strict=True), start=1
    ):
        path, form, made_with = one.read or one.given, one.form, None
        if form in (Form.NSYS_REP, Form.QDSTRM):
            display.started(f"{one.given.name} (export)", number, len(chosen))
            path, form = export(shop, one.given, name, display.advanced), Form.NSYS_SQLITE
            made_with = f"nsys {_version(shop.nsys())}"
        elif form is Form.GZIP:
            display.started(f"{one.given.name} (unpack)", number, len(chosen))
            path, form = unpack(shop, one.given, name, display.advanced)
            made_with = "gzip"
        doubts = (*one.doubts, *journal_doubts(path, form))
        report = LooseReport(name, path, str(form), one.given.name, doubts)
        yield _Prepared(report, one, one.given in named, made_with)


def _version(tool: Tool | None) -> str:
    return (tool.version if tool else None) or "of unknown version"


def _fill(
    connection: Connection,
    run: RunFolder,
    asked: dict[str, Any],
    prepared: Sequence[_Prepared],
    *,
    options: Options,
    display: Display,
    progress: Progress,
) -> Overview:
    """Read every report and write the run; runs beside the main thread."""
    try:
        ingested.note_run(connection, asked)
        sources = []
        for number, one in enumerate(prepared, start=1):
            display.started(one.report.file, number, len(prepared))
            _read(connection, one, progress)
            sources.append(_source(connection, run, one))
        if not any(_was_read(connection, one) for one in prepared):
            raise BadReport(
                "None of the reports can be read.", "\n  ".join(d.reason for d in overview(connection).doubts)
            )
        shown = overview(connection)
        progress(0, 0, "writing the evidence")
        ingested.write(connection, run)
        if options.sqlite:
            progress(0, 0, "writing evidence.sqlite")
            write_sqlite(connection, run)
    except DatabaseError as error:
        raise SuiteError(f"The reports could not be read to their end: {first_line(error)}.") from error
    write_json(run.run_json, {**asked, "reports": sources})
    read = (file for source in sources for file in (source["given"], source["read"]) if file)
    known = {file["path"]: file["sha256"] for file in read}
    write_manifest(run, assemble(run, conditions(run), known=known))
    return shown


def _read(connection: Connection, one: _Prepared, progress: Progress) -> None:
    try:
        ingested.read_report(connection, one.report, progress)
    except BadReport as error:
        if one.named:
            raise
        ingested.note_unreadable(connection, one.report, error)


def _was_read(connection: Connection, one: _Prepared) -> bool:
    found = connection.execute("SELECT count(*) FROM report WHERE pass = ?", [one.report.pass_name])
    return found.fetchall() != [(0,)]


def _asked(out: Path, prepared: Sequence[_Prepared], argv: Sequence[str]) -> dict[str, Any]:
    """run.json, but for the reports."""
    now = datetime.now(UTC)
    (name,) = pass_names([out])
    return {
        "format": 1,
        "run_id": f"{name}-{now:%Y%m%d-%H%M%S}",
        "experiment": "",
        "created_utc": now.isoformat(timespec="seconds"),
        "suite_version": __version__,
        "source": "reports",
        "quick": False,
        "state": "complete",
        "device": None,
        "argv": without_secrets(argv),
        "passes": [one.report.pass_name for one in prepared],
        "cases": [],
    }


def _source(connection: Connection, run: RunFolder, one: _Prepared) -> dict[str, Any]:
    """Where a report came from, for run.json, which stays private."""
    chosen, report = one.chosen, one.report
    read = None if report.path == chosen.given else _file(report.path, run.path)
    # The reader has hashed what it read: a large file is not read once more for that.
    hashes = connection.execute("SELECT sha256 FROM report WHERE pass = ?", [report.pass_name]).fetchall()
    if read is None and hashes and not chosen.given.is_dir():
        size, modified_ns = size_and_time(chosen.given)
        given = _as_json(chosen.given, Fingerprint(size, modified_ns, hashes[0][0]))
    else:
        given = _file(chosen.given, run.path)
    return {
        "pass": report.pass_name,
        "form": report.form,
        "given": given,
        "read": read,
        "made_with": one.made_with,
        "export_of": str(chosen.export_of.absolute()) if chosen.export_of else None,
        "doubts": [list(doubt) for doubt in report.doubts],
    }


def _file(path: Path, run: Path) -> dict[str, Any]:
    inside = path.relative_to(run) if path.is_relative_to(run) else path
    return _as_json(inside, fingerprint(path))


def _as_json(path: Path, known: Fingerprint) -> dict[str, Any]:
    shown = path if not path.is_absolute() and path.parts[0] == "reports" else path.absolute()
    return {
        "path": str(shown),
        "bytes": known.size,
        "modified_ns": known.modified_ns,
        "sha256": known.sha256,
    }
