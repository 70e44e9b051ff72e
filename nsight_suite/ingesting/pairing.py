"""A report and the exports beside it are one report: which of them is read, and whether it is current."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nsight_suite.errors import BadReport, SuiteError, UsageError
from nsight_suite.evidence.fingerprint import size_and_time
from nsight_suite.evidence.notes import Doubt
from nsight_suite.ingesting.inputs import Given, LeftOut
from nsight_suite.ingesting.recognising import Form, recognise

# What is read of each kind of report in its place.
_EXPORTS = {Form.NSYS_REP: (Form.NSYS_SQLITE, Form.NSYS_PARQUET), Form.NCU_REP: (Form.NCU_CSV,)}
_FOLDER_SUFFIX = "_pqtdir"
# ncu may print its page a moment before it closes its report; nsys exports a report that is closed.
_SLACK_NS = {Form.NCU_CSV: 2_000_000_000}


class StaleExport(UsageError):
    """An export is older than the report it lies beside, so it may be that of an earlier report.

    `again` is how to export it anew.
    """

    def __init__(self, what: str, again: str, otherwise: str) -> None:
        super().__init__(what, f"{again}\n  {otherwise}")
        self.again = again


@dataclass(frozen=True)
class Chosen:
    """A report, and what is read of it.

    given      the file that was given
    form       what is read
    read       what lies beside `given` and is read in its place; None when it is `given`, or must be made
    export_of  the report that lies beside a given export
    """

    given: Path
    form: Form
    read: Path | None = None
    export_of: Path | None = None
    doubts: tuple[Doubt, ...] = ()


def choose(
    given: Sequence[Given],
    *,
    accept_stale: bool,
    can_export: Callable[[], bool],
    can_load: Callable[[], bool],
) -> tuple[list[Chosen], list[LeftOut]]:
    """What is read of each report, and which files are then not needed.

    Of an nsys report that is the export beside it, which saves exporting it; of an ncu report it is the report
    where that can be loaded, since a page may have been printed in part, or rounded, and else the page beside
    it. Raises StaleExport for an export that is older than the report beside it, unless `accept_stale`, or
    unless the report itself was given too and can be read without it.
    """
    reports = {one.path.resolve() for one in given if one.form in _EXPORTS}
    readable = {Form.NSYS_REP: can_export, Form.NCU_REP: can_load}
    chosen: list[Chosen] = []
    left_out: list[LeftOut] = []
    for one in given:
        if one.form in _EXPORTS:
            choice = _of_report(one, given, accept_stale, readable[one.form])
            chosen.append(choice)
            if choice.read:
                left_out.append(LeftOut(one.path, f"{choice.read.name} beside it is its export, and is read."))
            continue
        source = _report_beside(one.path, one.form)
        if source and source.resolve() in reports:
            if one.form is Form.NCU_CSV:
                left_out.append(LeftOut(one.path, f"{one.path.name} is a page of {source.name} beside it."))
            continue  # read, or exported anew, with the report itself
        doubts = _age(one.path, source, one.form, accept_stale) if source else ()
        chosen.append(Chosen(one.path, one.form, export_of=source, doubts=doubts))
    read = {choice.read for choice in chosen}
    return chosen, [one for one in left_out if one.path not in read]


def refuse_stale(path: Path, form: Form) -> None:
    """Raise StaleExport for an export that is older than the report beside it."""
    if source := _report_beside(path, form):
        _age(path, source, form, accept_stale=False)


def _of_report(one: Given, given: Sequence[Given], accept_stale: bool, can_read: Callable[[], bool]) -> Chosen:
    if one.form is Form.NCU_REP and can_read():
        return Chosen(one.path, one.form)
    stale: StaleExport | None = None
    for form, path in _exports_beside(one, given):
        try:
            return Chosen(one.path, form, read=path, doubts=_age(path, one.path, form, accept_stale))
        except StaleExport as error:
            stale = stale or error
    if stale and not can_read():
        raise stale
    return Chosen(one.path, one.form)


def _exports_beside(report: Given, given: Sequence[Given]) -> Iterator[tuple[Form, Path]]:
    """The exports of a report that lie beside it, those that were given too before others."""
    exports, there = _EXPORTS[report.form], report.path.resolve()
    for one in given:
        source = _report_beside(one.path, one.form)
        if one.form in exports and source and source.resolve() == there:
            yield one.form, one.path
    names = (f"{report.path.stem}{suffix}" for suffix in (".sqlite", _FOLDER_SUFFIX, ".csv"))
    for path in (report.path.with_name(name) for name in names):
        try:
            form = recognise(path)
        except (BadReport, UsageError):
            continue
        if form in exports:
            yield form, path


def _report_beside(path: Path, form: Form) -> Path | None:
    match form:
        case Form.NSYS_SQLITE:
            stem, suffixes = path.stem, (".nsys-rep", ".qdrep")
        case Form.NSYS_PARQUET:
            stem, suffixes = path.name.removesuffix(_FOLDER_SUFFIX), (".nsys-rep", ".qdrep")
        case Form.NCU_CSV:
            stem, suffixes = path.stem, (".ncu-rep", ".ncu-repz")
        case _:
            return None
    beside = (path.with_name(stem + suffix) for suffix in suffixes)
    return next((found for found in beside if found.is_file()), None)


def _age(export: Path, report: Path, form: Form, accept_stale: bool) -> tuple[Doubt, ...]:
    try:
        made, written = size_and_time(export)[1], size_and_time(report)[1]
    except OSError as error:
        raise SuiteError(f"{export.name} cannot be read: {error.strerror}.") from error
    if made + _SLACK_NS.get(form, 0) >= written:
        return ()
    what = (
        f"{export.name} (written {_time(made)}) is older than {report.name} beside it (written "
        f"{_time(written)}), so it may be the export of an earlier report, unless the clock was set back."
    )
    if accept_stale:
        return (("stale-export", export.name, f"{what} It was read because --accept-stale was given."),)
    again = f"Export it again: {_command(export, report, form)}"
    raise StaleExport(what, again, "Or read it: --accept-stale")


def _command(export: Path, report: Path, form: Form) -> str:
    match form:
        case Form.NCU_CSV:
            options = f"--import {report.name} --csv --page raw --print-units base --log-file {export.name}"
            return f"ncu {options}"
        case Form.NSYS_PARQUET:
            return f"nsys export --type parquetdir --force-overwrite true --output {export.name} {report.name}"
    return f"nsys export --type sqlite --force-overwrite true --output {export.name} {report.name}"


def _time(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9).isoformat(" ", "milliseconds")
