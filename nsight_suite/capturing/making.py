"""Making one pass: run its steps, judge them, move their results to reports/, and write its record last."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nsight_suite.capturing.attempts import keep_attempt, note_files
from nsight_suite.capturing.diagnosis import StepResult, why_failed
from nsight_suite.capturing.environment import child_environment, package_root, without_secrets
from nsight_suite.capturing.outputs import artifacts, keep_outputs, places
from nsight_suite.capturing.passes import PLAN_FILE, PassPlan
from nsight_suite.capturing.process import Ended, run_child
from nsight_suite.capturing.records import Progress, RecordsFollower
from nsight_suite.runfolder import RunFolder, sha256, write_json
from nsight_suite.writing import cannot_write, sync

Report = Callable[[Progress], None]
PassRecord = dict[str, Any]


def make_pass(
    run: RunFolder, plan: PassPlan, versions: Mapping[str, str], report: Report, unmet: str | None = None
) -> PassRecord:
    """Run one pass and return its record, which is then in passes/ too.

    `versions` are those of the tools and libraries. `unmet` says why the pass cannot be made here; it is then
    recorded as failed and nothing is run. What an earlier attempt left of this pass is kept in attempts/.
    """
    keep_attempt(run, plan)
    _clear(run, plan)
    note_files(run)
    ordinal = _next_ordinal(run)
    started_utc = now_utc()
    started = time.monotonic_ns()
    results = [] if unmet else _run_steps(run, plan, report)
    log = run.logs / f"{plan.name}.log"
    work = run.work / plan.name
    reason = unmet or why_failed(plan, results, work, log)
    keep_outputs(run, plan)
    record = {
        "pass": plan.name,
        "ordinal": ordinal,
        "state": "failed" if reason else "ok",
        "reason": reason,
        "exit_status": _exit_status(results),
        "started_utc": started_utc,
        "duration_ns": time.monotonic_ns() - started,
        "steps": [_step_record(result) for result in results],
        "tools": dict(versions),
        "options": dict(plan.options),
        "artifacts": artifacts(run, places(run, plan.name, plan.outputs)),
    }
    _settle(run, record)
    write_json(run.passes / f"{plan.name}.json", record)
    note_files(run)
    shutil.rmtree(work, ignore_errors=True)
    return record


def _next_ordinal(run: RunFolder) -> int:
    """Which of the run's passes the next one is, counted as they are made: no clock tells that."""
    records = [*run.pass_records().values(), *run.attempt_records().values()]
    return 1 + max((record.get("ordinal", 0) for record in records), default=0)


def _settle(run: RunFolder, record: PassRecord) -> None:
    """Bring to the disk what a pass has measured, before its record says that it is there."""
    paths = [run.path / entry["path"] for entry in record["artifacts"]]
    try:
        for path in (*paths, *dict.fromkeys(path.parent for path in paths)):
            sync(path)
    except OSError as error:
        raise cannot_write(run.path, error) from error


def _clear(run: RunFolder, plan: PassPlan) -> None:
    """A pass begins with nothing of an earlier one around it."""
    for path in (run.passes / f"{plan.name}.json", *places(run, plan.name, plan.outputs)):
        path.unlink(missing_ok=True)
    for folder in (run.builds(plan.name), run.work / plan.name):
        shutil.rmtree(folder, ignore_errors=True)


def pass_is_finished(run: RunFolder, record: Mapping[str, Any] | None) -> bool:
    """Whether a pass ended well and everything that it produced is still as it was."""
    if record is None or record.get("state") != "ok":
        return False
    artifacts = record.get("artifacts", [])
    return bool(artifacts) and all(
        (run.path / artifact["path"]).is_file() and sha256(run.path / artifact["path"]) == artifact["sha256"]
        for artifact in artifacts
    )


def now_utc() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _run_steps(run: RunFolder, plan: PassPlan, report: Report) -> list[StepResult]:
    """Run the steps whose inputs exist, until the pass's time is up."""
    work = run.work / plan.name
    log = run.logs / f"{plan.name}.log"
    try:
        work.mkdir(parents=True)
        log.parent.mkdir(exist_ok=True)
        log.touch()
    except OSError as error:
        raise cannot_write(work, error) from error
    write_json(work / PLAN_FILE, plan.plan.as_json())
    environment = child_environment(os.environ, work.resolve(), package_root())
    left_s = float(plan.timeout_s)
    results = []
    for step in plan.steps:
        if not all((work / name).is_file() for name in step.needs):
            continue
        tick = _follow(work / step.records, report) if step.records else lambda: None
        try:
            ended = run_child(
                step.argv,
                folder=work,
                environment=environment,
                log=log,
                timeout_s=max(0.0, left_s),
                stdout=work / step.stdout if step.stdout else None,
                tick=tick,
            )
        except OSError as error:
            results.append(StepResult(step, None, error.strerror or str(error)))
            continue
        results.append(StepResult(step, ended))
        left_s -= ended.duration_ns / 1e9
        if ended.timed_out:
            break
    return results


def _follow(records: Path, report: Report) -> Callable[[], None]:
    follower = RecordsFollower(records)

    def tick() -> None:
        if progress := follower.latest():
            report(progress)

    return tick


def _exit_status(results: list[StepResult]) -> int | None:
    """Of the first step that did not return 0, else 0; None when the suite ended it or nothing ran."""
    statuses = [result.ended.exit_status if result.ended else None for result in results]
    return next((status for status in statuses if status != 0), 0) if statuses else None


def _step_record(result: StepResult) -> dict[str, object]:
    ended = result.ended or Ended(None, 0, False)
    return {
        "argv": without_secrets(result.step.argv),
        "exit_status": ended.exit_status,
        "duration_ns": ended.duration_ns if result.ended else None,
        "timed_out": ended.timed_out,
    }
