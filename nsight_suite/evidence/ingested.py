"""Loose reports → evidence: each report is a pass of its own, and nothing was declared of any of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsight_suite import __version__
from nsight_suite.errors import BadReport, SuiteError, UsageError
from nsight_suite.evidence.fingerprint import Fingerprint
from nsight_suite.evidence.notes import Doubt, note_doubts
from nsight_suite.evidence.sqlite import replacing_sqlite
from nsight_suite.evidence.store import (
    Connection,
    DatabaseError,
    empty_store,
    insert_rows,
    write_duckdb,
    write_parquet,
)
from nsight_suite.evidence.tables import tables
from nsight_suite.runfolder import RunFolder
from nsight_suite.writing import cannot_write

# What is read of a report takes several times its size in memory; this much fits everywhere.
_SMALL_BYTES = 32 << 20
# How far a reader is: done, total, what.
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class LooseReport:
    """A report to be read.

    path    the file, or the folder of Parquet files
    form    one of FORMS
    file    the name that it was given under: that of the report when `path` is an export of it
    doubts  what is already known against it, as rows of `finding`
    """

    pass_name: str
    path: Path
    form: str
    file: str
    doubts: tuple[Doubt, ...] = ()


# Each reader is imported by who meets its kind of report: all of them take longer than many a question.
def _read_nsys(connection: Connection, path: Path, pass_name: str, progress: Progress) -> None:
    from nsight_suite.evidence.readers import nsys

    nsys.read(connection, path, pass_name, progress)


def _read_ncu_csv(connection: Connection, path: Path, pass_name: str, progress: Progress) -> None:
    from nsight_suite.evidence.readers import ncu_csv

    ncu_csv.read(connection, path, pass_name)


def _read_ncu_rep(connection: Connection, path: Path, pass_name: str, progress: Progress) -> None:
    from nsight_suite.evidence.readers import ncu_rep

    ncu_rep.read(connection, path, pass_name)


def _read_nsight_python(connection: Connection, path: Path, pass_name: str, progress: Progress) -> None:
    from nsight_suite.evidence.readers import nsight_python_csv

    nsight_python_csv.read(connection, path, pass_name)


FORMS: Mapping[str, Callable[[Connection, Path, str, Progress], None]] = {
    "nsys-sqlite": _read_nsys,
    "nsys-parquet": _read_nsys,
    "ncu-csv": _read_ncu_csv,
    "ncu-rep": _read_ncu_rep,
    "nsight-python-csv": _read_nsight_python,
}


def read_report(connection: Connection, report: LooseReport, progress: Progress) -> None:
    """Read one report into an open store, with its row of `pass`.

    Raises BadReport for one that cannot be read; then nothing of it stays in the store.
    """
    try:
        FORMS[report.form](connection, report.path, report.pass_name, progress)
    except BadReport:
        forget(connection, report.pass_name)
        raise
    except OSError as error:
        forget(connection, report.pass_name)
        raise BadReport(f"{report.file} cannot be read: {error.strerror or error}.") from error
    insert_rows(connection, "pass", [{"pass": report.pass_name, "state": "ok", **_settings(report)}])
    note_doubts(connection, report.pass_name, report.doubts)
    if report.file != report.path.name:
        connection.execute(
            "UPDATE report SET file = ? WHERE pass = ?", [report.file, report.pass_name]
        ).fetchall()
        connection.execute(
            "UPDATE finding SET subject = ? WHERE pass = ? AND subject = ?",
            [report.file, report.pass_name, report.path.name],
        ).fetchall()


def note_unreadable(connection: Connection, report: LooseReport, error: BadReport) -> None:
    """Keep a report that could not be read in mind: as a failed pass, with the reason."""
    reason = f"{error.what} {error.way_out}".strip()
    insert_rows(connection, "pass", [{"pass": report.pass_name, "state": "failed", "reason": reason}])
    note_doubts(connection, report.pass_name, [("unreadable-report", report.file, reason)])


def forget(connection: Connection, pass_name: str) -> None:
    """Remove every row of a pass."""
    for table in tables().values():
        if "pass" in table.column_names:
            connection.execute(f'DELETE FROM "{table.name}" WHERE pass = ?', [pass_name])


def note_run(connection: Connection, asked: Mapping[str, Any]) -> None:
    """Insert the row of `run`; `asked` is what run.json says."""
    columns = ("run_id", "created_utc", "source", "quick")
    row = {column: asked.get(column) for column in columns}
    insert_rows(
        connection,
        "run",
        [{**row, "suite_version": __version__, "complete": asked.get("state") == "complete"}],
    )


@contextmanager
def store_for(reports: Iterable[LooseReport], place: Path) -> Iterator[Connection]:
    """An empty store: in memory for small reports, else in a file below `place`, which goes at the end."""
    if sum(_size(report) for report in reports) <= _SMALL_BYTES:
        with empty_store() as connection:
            yield connection
        return
    # DuckDB takes what follows a question mark in a path for options.
    parent = None if "?" in str(place.resolve()) else place
    with (
        tempfile.TemporaryDirectory(prefix=".store-", dir=parent) as folder,
        empty_store(Path(folder)) as connection,
    ):
        yield connection


def _size(report: LooseReport) -> int:
    files = report.path.iterdir() if report.path.is_dir() else [report.path]
    size = sum(file.stat().st_size for file in files if file.is_file())
    # A cell of a CSV page, some bytes long, becomes a row of many columns.
    return size * 8 if report.form == "ncu-csv" else size


def write(connection: Connection, run: RunFolder) -> None:
    """Write an open store as the evidence of an ingested run. evidence.sqlite is made only when asked for."""
    try:
        write_parquet(connection, run.evidence)
    except DatabaseError as error:
        raise cannot_write(run.evidence, error) from error
    with suppress(SuiteError):  # DuckDB cannot write into every path, and no answer depends on these views
        write_duckdb(run)


def rebuild(run: RunFolder) -> None:
    """Make the evidence of an ingested run again, from its reports where they lay when it was made.

    evidence.sqlite is made again where there is one.

    Raises UsageError when one of them is gone or was changed since, and for a copy made by `share`.
    """
    asked = run.read_run()
    if "reports" not in asked:
        raise UsageError(
            f"{run.path} does not tell where its reports are: it is a copy that was made by `share`.",
            "Its evidence can be asked as it is; only the run that it was copied from can be built again.",
        )
    reports = [_as_it_was(run, entry) for entry in asked["reports"]]
    with store_for(reports, run.path) as connection:
        note_run(connection, asked)
        for report in reports:
            try:
                read_report(connection, report, lambda done, total, what: None)
            except BadReport as error:
                note_unreadable(connection, report, error)
        with replacing_sqlite(connection, run) if run.sqlite.exists() else nullcontext():
            write(connection, run)


def _as_it_was(run: RunFolder, entry: Mapping[str, Any]) -> LooseReport:
    given = entry["read"] or entry["given"]
    path = run.path / given["path"]  # an absolute path stays what it is
    was = Fingerprint(given["bytes"], given["modified_ns"], given["sha256"])
    try:
        same = was.still_holds(path)
    except OSError as error:
        raise UsageError(
            f"{path} is no longer there to be read: {error.strerror}.",
            "Put the report back, or ingest it again from where it is now.",
        ) from error
    if not same:
        raise UsageError(
            f"{path} is no longer the file that was ingested.", "Ingest it again, into a new folder."
        )
    doubts = tuple((code, subject, reason) for code, subject, reason in entry["doubts"])
    return LooseReport(entry["pass"], path, entry["form"], Path(entry["given"]["path"]).name, doubts)


def recorded_files(reports: Iterable[Mapping[str, Any]]) -> list[Path]:
    """The files that an ingested run was made from, as run.json tells them."""
    return [Path(entry["given"]["path"]) for entry in reports]


def _settings(report: LooseReport) -> dict[str, str]:
    """What the report itself tells of the options it was made with, as columns of `pass`."""
    if report.form not in ("ncu-csv", "ncu-rep"):
        return {}
    from nsight_suite.evidence.readers import ncu_csv, ncu_rep

    reader = ncu_csv if report.form == "ncu-csv" else ncu_rep
    told = reader.policies(report.path)
    return {
        "cache_control": told.cache_control,
        "clock_control": told.clock_control,
        "graph_profiling": told.graph_profiling,
    }
