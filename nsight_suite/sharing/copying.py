"""What of a run goes into a copy of it, reduced to what may be published."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from nsight_suite.errors import UsageError
from nsight_suite.evidence.paths import argument_without_path, without_paths
from nsight_suite.evidence.reduction import reduce_report
from nsight_suite.evidence.tables import tables
from nsight_suite.evidence.versions import Version
from nsight_suite.protocol import load
from nsight_suite.runfolder import RunFolder, sha256, write_json

_RUN_KEYS = (
    *("format", "run_id", "experiment", "created_utc", "suite_version", "source", "quick", "state", "device"),
    *("protocol_sha256", "made_with", "passes", "cases"),
)
_PASS_KEYS = ("pass", "ordinal", "state", "exit_status", "started_utc", "duration_ns", "options")
_STEP_KEYS = ("exit_status", "duration_ns", "timed_out")
# Of the builds: everything in them is made from the kernels' sources under names of the suite's own.
BUILDS = (".cu", ".cuh", ".log", ".ptx", ".cubin", ".sass", ".dot")


def copy_sources(run: RunFolder, draft: RunFolder, without: Collection[str]) -> None:
    """Everything that evidence is built from, reduced. `without` are paths of builds that stay behind."""
    draft.reports.mkdir(parents=True)
    draft.protocol.parent.mkdir()
    for source, target in ((run.protocol, draft.protocol), (run.expected, draft.expected)):
        if source.is_file():
            shutil.copyfile(source, target)
    asked = run.read_run()
    arguments = [argument_without_path(str(part)) for part in asked.get("argv", [])]
    write_json(draft.run_json, {**_only(asked, _RUN_KEYS), "argv": arguments})
    requested = load(run.protocol).metrics
    for path in sorted(run.reports.glob("*")):
        if path.is_file() and not path.name.startswith("."):
            reduce_report(path, draft.reports / path.name, requested)
    for path in builds_of(run):
        inside = path.relative_to(run.path)
        if inside.as_posix() not in without:
            target = draft.path / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    for name, record in run.pass_records().items():
        write_json(draft.passes / f"{name}.json", _pass_record(draft, record))
    for path, record in run.attempt_records().items():
        write_json(draft.path / path.relative_to(run.path), _pass_record(draft, record))


def builds_of(run: RunFolder) -> Iterator[Path]:
    """The files of the builds that may be published. What a link leads to, or lies in a linked folder, may be
    anybody's."""
    for path in sorted(run.reports.glob("builds/*/*")):
        inside = path.relative_to(run.path)
        if path.is_file() and path.suffix in BUILDS and path.resolve() == run.path.resolve() / inside:
            yield path


def copy_evidence(run: RunFolder, draft: RunFolder) -> None:
    """The tables of an ingested run, and of run.json what does not tell where its reports lie.

    Raises EvidenceReplaced when another process replaced the tables meanwhile.
    """
    version = Version(run.evidence)
    draft.evidence.mkdir(parents=True)
    files = [file for name in tables() if (file := run.evidence / f"{name}.parquet").is_file()]
    if not files:
        raise UsageError(
            f"The run {run.path} holds no evidence.", f"Build it: python -m nsight_suite.evidence {run.path}"
        )
    for file in files:
        shutil.copyfile(file, draft.evidence / file.name)
    version.check()
    write_json(draft.run_json, _only(run.read_run(), _RUN_KEYS))


def _pass_record(draft: RunFolder, record: Mapping[str, Any]) -> dict[str, Any]:
    reason = record.get("reason")
    kept = [entry["path"] for entry in record.get("artifacts") or [] if (draft.path / entry["path"]).is_file()]
    return {
        **_only(record, _PASS_KEYS),
        "reason": reason and without_paths(str(reason)),
        "steps": [
            {"argv": [argument_without_path(str(part)) for part in step["argv"]], **_only(step, _STEP_KEYS)}
            for step in record.get("steps") or []
        ],
        "tools": {name: without_paths(str(version)) for name, version in (record.get("tools") or {}).items()},
        "artifacts": [
            {
                "path": path,
                "bytes": (draft.path / path).stat().st_size,
                "sha256": sha256(draft.path / path),
                "private": False,
            }
            for path in kept
        ],
    }


def _only(data: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: data[key] for key in keys if key in data}
