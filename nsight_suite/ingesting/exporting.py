"""What cannot be read as it is, made readable: .nsys-rep and .qdstrm by nsys, .gz by unpacking.

Everything is made inside the run that is being drafted, under a temporary name, and renamed when it is whole.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.capturing.environment import child_environment
from nsight_suite.capturing.process import run_child
from nsight_suite.capturing.tools import Tool
from nsight_suite.errors import BadReport, SuiteError
from nsight_suite.evidence.ingested import Progress
from nsight_suite.ingesting.recognising import Form, recognise

_CHUNK = 1 << 20
_SHOWN_LINES = 6
# "NVIDIA Tegra Profiler Report 2023@4@4@54-…" and "NVIDIA Nsight Systems Stream 2023.4.4.54-…".
_MADE_BY = re.compile(rb"(?:Profiler Report|Systems Stream) (\d{4})[.@](\d+)(?:[.@](\d+))?(?:[.@](\d+))?")
_BAR = re.compile(r"\[[=\s]*\d+%\s*\]|\[\d+/\d+\]")


class ToolTooOld(SuiteError):
    """The installed tool cannot read a report that a newer one wrote."""


@dataclass(frozen=True)
class Workshop:
    """Where and with what reports are made readable.

    folder     where results go
    work       for what is not finished
    timeout_s  the longest that one tool may take, in seconds
    nsys       finds the installed nsys, or tells that there is none
    """

    folder: Path
    work: Path
    timeout_s: float
    nsys: Callable[[], Tool | None]


def export(shop: Workshop, report: Path, name: str, progress: Progress) -> Path:
    """Export an .nsys-rep or .qdstrm as `name`.sqlite.

    Raises SuiteError when there is no nsys, and with what it printed when it fails; ToolTooOld when it is older
    than the nsys that wrote the report.
    """
    target = shop.folder / f"{name}.sqlite"
    nsys = shop.nsys()
    if nsys is None:
        command = f"nsys export --type sqlite --output {report.stem}.sqlite {report.name}"
        raise BadReport(
            f"{report.name} is a report of Nsight Systems that only nsys can read, and there is no nsys here.",
            f"Put nsys on PATH, or export it where nsys is: {command}\n  and give {report.stem}.sqlite",
        )
    _refuse_older(nsys, report)
    source = _import(shop, nsys, report, progress) or report.absolute()
    unfinished = shop.work / f"{name}.sqlite"
    argv = [str(nsys.path), "export", "--type=sqlite", "-o", str(unfinished), str(source)]
    _run(shop, nsys, report, argv, output=unfinished, progress=progress)
    try:
        recognise(unfinished)
    except BadReport as error:
        raise BadReport(
            f"nsys {nsys.version} ended well over {report.name}, but left no export: {error.what}",
            "Is the report whole? Was it written by a newer nsys?",
        ) from error
    shop.folder.mkdir(exist_ok=True)
    unfinished.replace(target)
    return target


def unpack(shop: Workshop, packed: Path, name: str, progress: Progress) -> tuple[Path, Form]:
    """Unpack a .gz; the path and the kind of what was in it."""
    inner = Path(packed.stem) if packed.suffix.lower() == ".gz" else Path(packed.name)
    unfinished = shop.work / f"{name}{inner.suffix}"
    size = packed.stat().st_size
    try:
        with packed.open("rb") as raw, gzip.open(raw) as source, unfinished.open("wb") as sink:
            while chunk := source.read(_CHUNK):
                sink.write(chunk)
                progress(raw.tell(), size, "unpacking")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadReport(f"{packed.name} cannot be unpacked: {error}", "Copy it again.") from error
    form = recognise(unfinished)
    if form not in (Form.NSYS_SQLITE, Form.NCU_CSV, Form.NSIGHT_PYTHON, Form.NCU_REP):
        raise BadReport(f"{packed.name} holds a report of the kind {form}.", "Unpack it: gunzip -k FILE")
    shop.folder.mkdir(exist_ok=True)
    return unfinished.replace(shop.folder / unfinished.name), form


def _import(shop: Workshop, nsys: Tool, report: Path, progress: Progress) -> Path | None:
    """A .qdstrm as .nsys-rep, by the importer that comes with nsys; None when not needed, or not there."""
    if recognise(report) is not Form.QDSTRM:
        return None
    folder = Path(os.path.realpath(nsys.path)).parent
    beside = sorted(folder.parent.glob("host-*/QdstrmImporter"))
    importer = shutil.which("QdstrmImporter") or next((str(path) for path in beside), None)
    if importer is None:
        return None
    made = shop.work / "imported.nsys-rep"
    argv = [importer, "-i", str(report.absolute()), "-o", str(made)]
    _run(shop, nsys, report, argv, output=made, progress=progress)
    return made


def _run(
    shop: Workshop, nsys: Tool, report: Path, argv: Sequence[str], *, output: Path, progress: Progress
) -> None:
    log = shop.work / "tool.log"
    log.unlink(missing_ok=True)

    def tick() -> None:
        written = output.stat().st_size if output.exists() else 0
        progress(0, 0, f"exporting with nsys, {written / 1e6:.0f} MB written")

    try:
        ended = run_child(
            argv,
            folder=shop.work,
            environment=child_environment(os.environ, shop.work),
            log=log,
            timeout_s=shop.timeout_s,
            tick=tick,
        )
    except OSError as error:
        raise SuiteError(f"{argv[0]} cannot be started: {error.strerror}.") from error
    if ended.timed_out:
        raise SuiteError(
            f"nsys was ended after {shop.timeout_s:g} s of exporting {report.name}.",
            "Give it more time with --tool-timeout, or export the report yourself and give the export.",
        )
    lines = _last_lines(log)
    if ended.exit_status != 0:
        told = "\n    ".join(lines) or "It printed nothing."
        if re.search(r"\bnewer\b", " ".join(lines), re.IGNORECASE):
            raise _too_old(nsys, report, told)
        raise BadReport(
            f"nsys {nsys.version or ''} could not export {report.name} (exit status {ended.exit_status}):\n"
            f"    {told}",
            "Copy the report again if it was cut off, or export it with the nsys that wrote it.",
        )
    if not output.is_file() or output.is_symlink():
        told = "\n    ".join(lines) or "It printed nothing."
        raise BadReport(f"nsys ended well over {report.name} and wrote no export:\n    {told}")


def _last_lines(log: Path) -> list[str]:
    """The last lines that a tool printed, without its progress bars and without our own line above them."""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _CHUNK))
        text = file.read().decode(errors="replace")
    lines = (line.strip() for line in re.split(r"[\r\n]+", text))
    return [line for line in lines if line and not line.startswith("$ ") and not _BAR.search(line)][
        -_SHOWN_LINES:
    ]


def _refuse_older(nsys: Tool, report: Path) -> None:
    """An nsys older than the report fails, or worse: leaves a well-formed export of nothing."""
    if (made_by := _version_in(report)) and nsys.version and _numbers(nsys.version)[:2] < made_by[:2]:
        raise _too_old(nsys, report, "")


def _too_old(nsys: Tool, report: Path, told: str) -> ToolTooOld:
    made_by = _version_in(report)
    version = ".".join(map(str, made_by)) if made_by else "a newer one (it does not say which)"
    return ToolTooOld(
        f"nsys is too old for {report.name}: the report was written by nsys {version}, and here is nsys "
        f"{nsys.version or 'of unknown version'}." + (f"\n    {told}" if told else ""),
        "Export it where it was captured: nsys export --type sqlite "
        f"--output {report.stem}.sqlite {report.name}\n  or put a newer nsys on PATH.",
    )


def _version_in(report: Path) -> tuple[int, ...]:
    with report.open("rb") as file:
        found = _MADE_BY.search(file.read(256))
    return tuple(int(part) for part in found.groups() if part) if found else ()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:4])
