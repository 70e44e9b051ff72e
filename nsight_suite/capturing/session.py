"""A run from its first file to its last: starting, the passes in order, resuming, and how it ended."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import nsight_suite
from nsight_suite.capturing.attempts import note_files
from nsight_suite.capturing.environment import without_secrets
from nsight_suite.capturing.folder import copy_protocol
from nsight_suite.capturing.making import make_pass, now_utc, pass_is_finished
from nsight_suite.capturing.origin import made_with
from nsight_suite.capturing.passes import PassPlan, plan_pass
from nsight_suite.capturing.plan import Selection, driver_plan, selection_of
from nsight_suite.capturing.progress import Display
from nsight_suite.capturing.tools import Tool
from nsight_suite.errors import UsageError
from nsight_suite.protocol import Protocol
from nsight_suite.runfolder import RunFolder, write_json
from nsight_suite.sources import ExperimentSource


@dataclass(frozen=True)
class Request:
    """What a run is to cover."""

    source: ExperimentSource
    protocol: Protocol
    selection: Selection
    device: int
    argv: tuple[str, ...]


def start_run(run: RunFolder, run_id: str, request: Request, origin: str = "capture") -> dict[str, Any]:
    """Make the folder and everything in it that is known before the first pass; returns run.json.

    The caller holds the lock. Raises UsageError when another process was quicker to start a run here.
    """
    if run.run_json.exists():
        raise UsageError(f"'{run.path}' already holds a run.", f"Continue it with --resume {run.path}.")
    info = {
        "format": 1,
        "run_id": run_id,
        "experiment": request.protocol.name,
        "created_utc": now_utc(),
        "suite_version": nsight_suite.__version__,
        "source": origin,
        "quick": request.selection.quick,
        "state": "running",
        "device": request.device,
        "protocol_sha256": request.protocol.sha256,
        "made_with": made_with(request.source) if origin == "capture" else None,
        "argv": without_secrets(request.argv),
        "passes": list(request.selection.passes),
        "cases": [case.case_id for case in request.selection.cases],
    }
    write_json(run.run_json, info)
    copy_protocol(run, request.source.protocol, request.source.expected)
    return info


def reopen_run(run: RunFolder, request: Request) -> None:
    """Make good what a kill may have left: no copy of the protocol."""
    copy_protocol(run, request.source.protocol, request.source.expected)


def resume_request(
    run: RunFolder, source: ExperimentSource, protocol: Protocol, argv: Sequence[str]
) -> Request:
    """What an interrupted run still is to cover. Raises UsageError when its protocol is no longer the same."""
    info = run.read_run()
    if info.get("source") != "capture":
        raise UsageError(f"{run.path} was not captured here; there is nothing to resume.")
    if info.get("protocol_sha256") != protocol.sha256:
        raise UsageError(
            f"The protocol {source.protocol} has changed since {run.path} was begun.",
            "Passes of two protocols do not belong into one run: start a new one.",
        )
    selection = selection_of(protocol, info["cases"], info["passes"], bool(info["quick"]))
    return Request(source, protocol, selection, int(info["device"]), tuple(argv))


def plan_passes(run: RunFolder, request: Request, tools: Mapping[str, Tool]) -> list[PassPlan]:
    """The commands of every pass of a run."""
    plans = []
    for name in request.selection.passes:
        settings = request.protocol.pass_settings(name)
        plan = driver_plan(
            request.protocol,
            settings,
            request.selection,
            protocol_path=run.protocol.resolve(),
            kernels=request.source.kernels.resolve(),
            device=request.device,
        )
        driver = request.source.driver.resolve()
        plans.append(plan_pass(request.protocol, settings, plan, driver=driver, tools=tools))
    return plans


def unfinished(run: RunFolder, passes: Sequence[str]) -> list[str]:
    """The passes that still are to be made."""
    records = run.pass_records()
    return [name for name in passes if not pass_is_finished(run, records.get(name))]


def run_passes(
    run: RunFolder,
    plans: Sequence[PassPlan],
    display: Display,
    *,
    tools: Mapping[str, Tool],
    libraries: Mapping[str, str],
    unmet: Mapping[str, str],
) -> None:
    """Make every pass that is not finished, then write whether the run is complete.

    `libraries` gives their versions, `unmet` why a pass cannot be made on this machine. A pass that fails does
    not keep the others from being made.
    """
    info = run.read_run()
    write_json(run.run_json, {**info, "state": "running"})
    todo = unfinished(run, [plan.name for plan in plans])
    states = []
    for number, plan in enumerate(plans, 1):
        if plan.name not in todo:
            display.pass_kept(plan.name, number, len(plans))
            states.append("ok")
            continue
        display.pass_started(plan.name, number, len(plans))
        versions = {**libraries, **_tool_version(plan, tools)}
        record = make_pass(run, plan, versions, display.advanced, unmet.get(plan.name))
        display.pass_ended(plan.name, record["reason"], record["duration_ns"])
        states.append(record["state"])
    finish_run(run, info, states)


def _tool_version(plan: PassPlan, tools: Mapping[str, Tool]) -> dict[str, str]:
    tool = tools.get(plan.tool or "")
    return {tool.name: tool.version} if tool and tool.version else {}


def finish_run(run: RunFolder, info: Mapping[str, Any], states: Sequence[str]) -> None:
    """Write the state that a run ends in, and its manifest so far."""
    complete = all(state == "ok" for state in states)
    write_json(run.run_json, {**info, "state": "complete" if complete else "incomplete"})
    note_files(run)
    shutil.rmtree(run.work, ignore_errors=True)


def is_complete(run: RunFolder) -> bool:
    """Whether every pass that was asked for ended well."""
    return run.read_run().get("state") == "complete"
