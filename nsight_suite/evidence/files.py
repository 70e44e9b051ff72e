"""The files that a run's evidence is built from: which are there, and whether they are unchanged."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nsight_suite.evidence.notes import note_doubts
from nsight_suite.evidence.store import Connection
from nsight_suite.runfolder import RunFolder, files_of, sha256

PassRecord = Mapping[str, Any]


def note_missing_report(connection: Connection, run: RunFolder, name: str, record: PassRecord | None) -> None:
    """A profiler's pass that ended well must have left its report."""
    readable = {"nsys": ("sqlite",), "ncu": ("csv", "ncu-rep")}.get(name.partition("-")[0])
    if record is None or record.get("state") != "ok" or readable is None:
        return
    files = [f"{name}.{suffix}" for suffix in readable]
    told = {Path(entry["path"]).name for entry in record.get("artifacts") or [] if not entry["private"]}
    if any(os.path.lexists(run.reports / file) or file in told for file in files):
        return  # a recorded file that is gone is told of by note_changed_files
    file = files[0]
    reason = f"reports/{file} is missing."
    if (run.reports / f"{name}.nsys-rep").exists():
        reason += f" Make it: nsys export --type sqlite --output {file} {name}.nsys-rep"
    note_doubts(connection, name, [("missing-report", file, reason)])


def artifacts(run: RunFolder, records: Mapping[str, PassRecord]) -> Iterator[dict[str, object]]:
    """The rows of `artifact`: every file of protocol/ and reports/ as it is now."""
    private = {entry["path"]: bool(entry["private"]) for entry in recorded_files(records)}
    builds = sorted(run.reports.glob("builds/*/*"))
    for path in [*files_of(run.protocol.parent), *files_of(run.reports), *builds]:
        if path.is_file() and not path.name.startswith("."):
            inside = path.relative_to(run.path).as_posix()
            yield {
                "path": inside,
                "role": _role(path),
                "bytes": path.stat().st_size,
                "sha256": _sha256_if_readable(path),
                "private": private.get(inside, path.parent != run.protocol.parent),
            }


def _sha256_if_readable(path: Path) -> str | None:
    try:
        return sha256(path)
    except OSError:
        return None


def _role(path: Path) -> str:
    if path.parent.name == "protocol":
        return "protocol"
    if path.parent.parent.name == "builds":
        return "build"
    return {".jsonl": "records", ".log": "log"}.get(path.suffix, "report")


def note_changed_files(connection: Connection, run: RunFolder, records: Mapping[str, PassRecord]) -> None:
    """What a pass left must still be as it was. Private files may stay behind when a run is shared."""
    for entry in recorded_files(records):
        path = run.path / entry["path"]
        if os.path.lexists(path):
            digest = _sha256_if_readable(path)
            if digest is None:
                _note_unreadable(connection, entry["pass"], path)
            elif digest != entry["sha256"]:
                reason = (
                    f"{entry['path']} is not the file that its pass left: it was changed or cut afterwards."
                )
                note_doubts(connection, entry["pass"], [("changed-report", path.name, reason)])
        elif not entry["private"]:
            note_doubts(
                connection, entry["pass"], [("missing-report", path.name, f"{entry['path']} is missing.")]
            )


def _note_unreadable(connection: Connection, pass_name: str, path: Path) -> None:
    """Unless its reader has told already why a file cannot be read."""
    told = "SELECT count(*) FROM finding WHERE code = 'unreadable-report' AND pass = ? AND subject = ?"
    if connection.execute(told, [pass_name, path.name]).fetchall() == [(0,)]:
        reason = f"{path.name} is there, but it cannot be read."
        note_doubts(connection, pass_name, [("unreadable-report", path.name, reason)])


def recorded_files(records: Mapping[str, PassRecord]) -> Iterator[dict[str, Any]]:
    """What the passes left, by their records: path inside the run, bytes, sha256, private, and the pass."""
    for name, record in records.items():
        for entry in record.get("artifacts") or []:
            yield {**entry, "pass": name}
