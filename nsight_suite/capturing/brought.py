"""Runs that were not measured here: built from reports made elsewhere, or copied from a recorded run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsight_suite.capturing.diagnosis import why_no_output
from nsight_suite.capturing.environment import without_secrets
from nsight_suite.capturing.folder import copy_protocol
from nsight_suite.capturing.making import now_utc
from nsight_suite.capturing.outputs import artifacts, places
from nsight_suite.capturing.records import end_of_records
from nsight_suite.capturing.session import Request, finish_run, start_run
from nsight_suite.capturing.tools import Tool
from nsight_suite.errors import UsageError
from nsight_suite.protocol import KNOWN_PASSES
from nsight_suite.runfolder import RunFolder, replacing, write_json

# Per pass the suffixes of its files in reports/.
_SUFFIXES = {
    "nsys": (".jsonl", ".nsys-rep", ".sqlite"),
    "ncu": (".jsonl", ".ncu-rep", ".csv"),
    "ncu-warm": (".jsonl", ".ncu-rep", ".csv"),
    "sanitize": (".jsonl", ".log"),
}


@dataclass(frozen=True)
class Brought:
    """A folder of reports: its files by pass, those that are not known, and the run that it belongs to."""

    files: Mapping[str, tuple[Path, ...]]
    unknown: tuple[Path, ...]
    run: RunFolder | None


def look_through(folder: Path) -> Brought:
    """Sort the files of a folder by pass. The folder may be a run, or the reports/ folder of one.

    Raises UsageError when there is no such folder, or nothing in it that is known.
    """
    if (folder / "run.json").is_file() and (folder / "reports").is_dir():
        folder = folder / "reports"
    if not folder.is_dir():
        raise UsageError(f"There is no folder '{folder}'.", "--reports takes a folder with reports.")
    above = RunFolder(folder.resolve().parent)
    is_run = folder.resolve().name == "reports" and above.run_json.is_file()
    files: dict[str, list[Path]] = {}
    unknown = []
    for path in sorted(folder.iterdir()):
        name = _pass_of(path)
        if name:
            files.setdefault(name, []).append(path)
        elif not (is_run and path.name == "builds" and path.is_dir()):  # those of a run are taken along
            unknown.append(path)
    if not files:
        raise UsageError(
            f"'{folder}' holds no report that the suite knows.",
            "Known names: timing.jsonl, nsys.sqlite, nsys.nsys-rep, ncu.csv, ncu.ncu-rep, sanitize.TOOL.log …",
        )
    return Brought(
        {name: tuple(files[name]) for name in KNOWN_PASSES if name in files},
        tuple(unknown),
        above if is_run else None,
    )


def build_from_reports(
    run: RunFolder, run_id: str, brought: Brought, request: Request, tools: Mapping[str, Tool]
) -> None:
    """Make a run of what was brought. Pass records of the run that it came from are taken along.

    Raises UsageError when the reports belong to another experiment.
    """
    _refuse_foreign(brought, request)
    if brought.run:
        copy_protocol(run, brought.run.protocol, brought.run.expected)
    info = start_run(run, run_id, request, "reports")
    if brought.run:
        info = {**brought.run.read_run(), "source": "reports", "argv": without_secrets(request.argv)}
    else:
        info = {**info, "passes": list(brought.files)}
    earlier = brought.run.pass_records() if brought.run else {}
    if brought.run and (builds := brought.run.reports / "builds").is_dir():
        shutil.copytree(builds, run.reports / "builds", symlinks=True, dirs_exist_ok=True)
    states = []
    for name in info["passes"]:
        for path in brought.files.get(name, ()):
            with replacing(run.reports / path.name) as temporary:
                shutil.copyfile(path, temporary)
        record = earlier.get(name)
        if record is None:
            problem = _export(run, name, tools) or _what_is_lacking(run, name, brought.files.get(name, ()))
            record = _record(run, name, problem)
        write_json(run.passes / f"{name}.json", record)
        states.append(record["state"])
    finish_run(run, info, states)


def _pass_of(path: Path) -> str | None:
    if not path.is_file():
        return None
    name, *rest = path.name.split(".")
    if name == "sanitize" and path.suffix == ".log" and len(rest) != 2:
        return None  # of which of its tools?
    suffixes = _SUFFIXES.get(name, (".jsonl",))
    return name if name in KNOWN_PASSES and path.suffix in suffixes else None


def _refuse_foreign(brought: Brought, request: Request) -> None:
    if brought.run is None:
        return
    experiment = brought.run.read_run().get("experiment")
    if experiment != request.protocol.name:
        raise UsageError(
            f"These reports are of the experiment '{experiment}', not of '{request.protocol.name}'.",
            f"Say: capture {experiment} --reports …",
        )


def _export(run: RunFolder, name: str, tools: Mapping[str, Tool]) -> str | None:
    """Export an .nsys-rep that came without its export; returns why that was impossible."""
    report, export = run.reports / f"{name}.nsys-rep", run.reports / f"{name}.sqlite"
    if not report.is_file() or export.is_file():
        return None
    advice = f"On the machine that made it: nsys export --type=sqlite -o {export.name} {report.name}"
    if "nsys" not in tools:
        return f"{report.name} needs nsys to be read, which is not installed. {advice}"
    unfinished = export.with_stem(f".{name}")
    argv = [str(tools["nsys"].path), "export", "--type=sqlite", "-o", unfinished.name, report.name]
    try:
        answer = subprocess.run(
            argv, cwd=run.reports, capture_output=True, text=True, errors="replace", timeout=600, check=False
        )
        if answer.returncode == 0 and not why_no_output(unfinished):
            unfinished.replace(export)
            return None
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"nsys could not export {report.name}: {error}. {advice}"
    finally:
        unfinished.unlink(missing_ok=True)
    lines = (answer.stderr + answer.stdout).strip().splitlines()
    return f"nsys {tools['nsys'].version} could not export {report.name}: {' '.join(lines[:3])}. {advice}"


def _what_is_lacking(run: RunFolder, name: str, files: Sequence[Path]) -> str | None:
    """Why files that were brought make no whole pass."""
    records = run.reports / f"{name}.jsonl"
    if records.is_file():
        end = end_of_records(records)
        if end is None:
            return f"{records.name} was cut off: it has no last line '_end'."
        if end.get("state") != "ok":
            return str(end.get("reason") or f"{records.name} says that its driver failed.")
    if all(path.suffix == ".jsonl" for path in files) and name in _SUFFIXES:
        return f"Only the driver's records of the pass {name} were brought, not its report."
    return None


def _record(run: RunFolder, name: str, problem: str | None) -> dict[str, Any]:
    """A pass record for reports of unknown making: whatever only the maker can know is NULL."""
    produced = tuple(sorted(path.name for path in run.reports.iterdir() if _pass_of(path) == name))
    return {
        "pass": name,
        "state": "failed" if problem else "ok",
        "reason": problem,
        "exit_status": None,
        "started_utc": now_utc(),
        "duration_ns": None,
        "steps": [],
        "tools": {},
        "options": dict.fromkeys(("cache_control", "clock_control", "graph_trace", "graph_profiling")),
        "artifacts": artifacts(run, places(run, name, produced)),
    }
