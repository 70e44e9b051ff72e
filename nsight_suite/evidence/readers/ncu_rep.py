"""An `.ncu-rep` or `.ncu-repz` → counters: by NVIDIA's `ncu-report` package, else by an `ncu` on PATH.

The package gives values in base units, unrounded. The program prints a page, which is then read as any other.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.errors import BadReport
from nsight_suite.evidence.notes import note_doubts, note_report
from nsight_suite.evidence.paths import without_paths
from nsight_suite.evidence.readers import ncu_csv, ncu_program
from nsight_suite.evidence.readers.ncu_advice import insert_advice
from nsight_suite.evidence.readers.ncu_blocks import MAGIC, Extent, Session, extent, session
from nsight_suite.evidence.readers.ncu_numbers import DEFAULT
from nsight_suite.evidence.readers.ncu_options import policies_of
from nsight_suite.evidence.readers.ncu_package import Package, package, survives
from nsight_suite.evidence.readers.ncu_settings import Identity, Policies
from nsight_suite.evidence.readers.workloads import Cells
from nsight_suite.evidence.readers.zstd_frame import MAGIC as ZSTD
from nsight_suite.evidence.store import Connection


def read(
    connection: Connection,
    path: Path,
    pass_name: str,
    requested: Sequence[str] | None = None,
    *,
    instances: bool = False,
) -> None:
    """Insert the counters of one report: all, or of the metrics `requested` by exact name and of the launch.

    `instances` also takes the values of each metric's instances, of which a source-level metric has thousands.
    Raises BadReport when the report cannot be loaded, and when neither ncu-report nor an ncu is at hand.
    """
    try:
        announced, made = extent(path), session(path)
    except OSError as error:
        raise BadReport(f"{path.name} cannot be read: {error.strerror}.") from error
    _refuse_foreign(path)
    report = _Report(path, pass_name, announced, made)
    reader = package()
    if isinstance(reader, Package):
        _read_by_package(connection, reader, report, requested, instances=instances)
    elif ncu := shutil.which("ncu"):
        if report.cut:
            raise _cut_off(path)
        with ncu_program.exported(ncu, path) as page:
            _read_page(connection, page, report, requested)
    else:
        raise BadReport(
            f"{path.name} needs the package ncu-report, {reader}, or an ncu on PATH, and there is none.",
            "Install the package (in the checkout: pip install '.[ncu]'), or print the report as CSV: "
            f"ncu --import {path.name} --csv --page raw --print-units base --log-file {path.stem}.csv",
        )


def can_read() -> bool:
    """Whether there is something to read a report with: the package, or an ncu on PATH."""
    return isinstance(package(), Package) or shutil.which("ncu") is not None


def policies(path: Path) -> Policies:
    """How the counters were taken, by the options of ncu on the command line that the report holds."""
    return policies_of(session(path).command_line)


def identity(path: Path) -> Identity:
    """Host, programs and GPUs that the report names: to compare reports with, never to be kept."""
    made = session(path)
    programs = frozenset(re.split(r"[/\\]", program)[-1] for program in made.programs)
    return Identity(made.computers, programs, made.gpus)


@dataclass(frozen=True)
class _Report:
    """A report that is to be read, and what its outer layout tells."""

    path: Path
    pass_name: str
    announced: Extent | None
    made: Session

    @property
    def cut(self) -> bool:
        return self.announced is not None and not self.announced.whole

    @property
    def doubtful(self) -> bool:
        return self.announced is None or not (self.announced.whole and self.announced.plain)

    def note(self, connection: Connection, rows: int, complete: bool | None) -> None:
        note_report(
            connection,
            self.pass_name,
            self.path,
            "ncu-rep",
            rows=rows,
            complete=complete,
            tool_version=self.made.tool_version,
        )


def _read_by_package(
    connection: Connection,
    reader: Package,
    report: _Report,
    requested: Sequence[str] | None,
    *,
    instances: bool,
) -> None:
    path = report.path
    most = (
        report.announced.results if report.announced and report.cut else None
    )  # it would load a cut result too
    if report.cut and most is None:
        raise _cut_off(path)
    with Cells(requested) as cells, _suffixed(path) as loadable:
        if report.doubtful and not survives(loadable):
            raise BadReport(
                f"{path.name} is damaged: NVIDIA's package cannot load it.",
                "Copy it again, or make the report again. It may also be of a newer ncu than ncu-report knows.",
            )
        try:
            advice = reader.gather(
                loadable, cells, instances=instances, most=most, process_ids=report.made.process_ids
            )
        except Exception as error:  # the package tells of damage by any exception of its own, or not at all
            detail = without_paths(str(error).replace(str(loadable), path.name))
            raise BadReport(
                f"{path.name} cannot be loaded: {detail}.",
                "It is cut off, or of a newer ncu than ncu-report knows.",
            ) from error
        if not cells.workloads:
            raise BadReport(
                f"{path.name} holds no whole result of a profiled kernel.",
                "It is cut off, or of a newer ncu than ncu-report knows.",
            )
        count = cells.insert(connection, path, report.pass_name, (DEFAULT,))
    if requested is None:
        insert_advice(connection, report.pass_name, advice)
    report.note(connection, count, None if report.announced is None else not report.cut)
    if report.cut:
        told = f"{path.name} is cut off after {count} whole results. They are kept. Copy it again."
        note_doubts(connection, report.pass_name, [("truncated-report", path.name, told)])


def _read_page(connection: Connection, page: Path, report: _Report, requested: Sequence[str] | None) -> None:
    """Read the page that an ncu printed of a report; the evidence tells of the report."""
    ncu_csv.read(connection, page, report.pass_name, requested)
    which = [report.pass_name, page.name]
    rows, complete = connection.execute(
        "SELECT rows, complete FROM report WHERE pass = ? AND file = ?", which
    ).fetchall()[0]
    connection.execute("DELETE FROM report WHERE pass = ? AND file = ?", which)
    connection.execute(
        "UPDATE finding SET subject = ? WHERE pass = ? AND subject = ?", [report.path.name, *which]
    )
    report.note(connection, rows, complete)


def _refuse_foreign(path: Path) -> None:
    with path.open("rb") as file:
        magic = file.read(4)
    if not magic:
        raise BadReport(f"{path.name} is empty.", "Make the report again, or copy it again.")
    if magic not in (MAGIC, ZSTD):
        raise BadReport(f"{path.name} is no Nsight Compute report.", "Give the .ncu-rep that ncu wrote.")


def _cut_off(path: Path) -> BadReport:
    return BadReport(f"{path.name} is cut off.", "Copy it again; nothing of it can be trusted.")


@contextmanager
def _suffixed(path: Path) -> Iterator[Path]:
    """The report under a name with the suffix of its contents, by which the package chooses how to load it."""
    with path.open("rb") as file:
        suffix = ".ncu-repz" if file.read(4) == ZSTD else ".ncu-rep"
    if path.suffix == suffix:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / f"report{suffix}"
        link.symlink_to(path.resolve())
        yield link
