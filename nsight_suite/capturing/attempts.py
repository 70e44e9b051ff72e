"""Attempts at passes that are made again: what they left is kept, where no evidence is built from it."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

from nsight_suite.capturing.environment import without_secrets
from nsight_suite.capturing.outputs import artifacts, keep_outputs, places
from nsight_suite.capturing.passes import PassPlan
from nsight_suite.capturing.process import end_family
from nsight_suite.manifest import assemble, write_manifest
from nsight_suite.runfolder import RunFolder, write_json
from nsight_suite.writing import cannot_write

ABANDONED = "abandoned"
_ENDED_EARLY = "The suite was ended before the pass was, so nobody knows what of it was still to come."
_CHANGED = "A file was no longer what the pass had left, so the pass was made again."


def keep_attempt(run: RunFolder, plan: PassPlan) -> None:
    """Move all that an earlier attempt at a pass left to attempts/, and end what of it still runs.

    An attempt that was never begun leaves nothing. When this is cut short, doing it again completes it.
    """
    work = run.work / plan.name
    end_family(str(work.resolve()))
    record = run.pass_records().get(plan.name)
    if record is None:
        if not work.is_dir():
            return
        keep_outputs(run, plan)
        record = _abandoned(plan)
    elif record["state"] == "ok":
        record = {**record, "state": ABANDONED, "reason": _CHANGED}
    try:
        _move(run, plan, record)
    except OSError as error:
        raise cannot_write(run.attempts, error) from error
    (run.passes / f"{plan.name}.json").unlink(missing_ok=True)


def note_files(run: RunFolder) -> None:
    """Write the manifest of a run in the making: its files as the passes left them, and how these ended."""
    records = [*run.pass_records().values(), *run.attempt_records().values()]
    known = {entry["path"]: entry["sha256"] for record in records for entry in record["artifacts"]}
    write_manifest(run, assemble(run, {}, known=known))


def _move(run: RunFolder, plan: PassPlan, record: dict[str, Any]) -> None:
    folder = _free_folder(run, plan.name)
    for path in places(run, plan.name, plan.outputs):
        if path.is_file():
            built = path.parent == run.builds(plan.name)
            target = folder / "builds" / path.name if built else folder / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
    # A pass that was begun has left its log at least.
    if kept := sorted(path for path in folder.rglob("*") if path.is_file()):
        write_json(folder / "pass.json", {**record, "pass": plan.name, "artifacts": artifacts(run, kept)})


def _free_folder(run: RunFolder, name: str) -> Path:
    """The folder of the next attempt; one without its record is that of a move that was cut short."""
    folders = (run.attempts / f"{name}-{number}" for number in count(1))
    return next(folder for folder in folders if not (folder / "pass.json").exists())


def _abandoned(plan: PassPlan) -> dict[str, Any]:
    """The record of a pass that never came to its own."""
    return {
        "state": ABANDONED,
        "reason": _ENDED_EARLY,
        "exit_status": None,
        "started_utc": None,
        "duration_ns": None,
        "steps": [{"argv": without_secrets(step.argv)} for step in plan.steps],
        "tools": {},
        "options": dict(plan.options),
    }
