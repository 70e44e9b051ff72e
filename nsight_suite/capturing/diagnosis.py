"""Why a pass failed, read from what its tools printed and left behind.

An exit status alone proves little: ncu returns 0 when it profiled nothing or lacked permission, nsys returns
whatever the driver returned, and both can leave a well-formed report of almost nothing.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.capturing.passes import PassPlan, Step
from nsight_suite.capturing.process import Ended
from nsight_suite.capturing.records import end_of_records

PERMISSION_REMEDY = (
    "Run as root, give the process CAP_SYS_ADMIN, or let all users read counters: put 'options nvidia "
    "NVreg_RestrictProfilingToAdminUsers=0' into /etc/modprobe.d/nvidia-profiling.conf and reload the driver."
)
_LOG_TAIL_BYTES = 1 << 20


@dataclass(frozen=True)
class StepResult:
    """A step that was tried. `ended` is None when its program could not be started: `problem` says why."""

    step: Step
    ended: Ended | None
    problem: str | None = None


def why_failed(plan: PassPlan, results: Sequence[StepResult], work: Path, log: Path) -> str | None:
    """Why a pass is not ok, with the way out; None when it is."""
    text = _tail(log)
    if plan.tool == "ncu" and "ERR_NVGPUCTRPERM" in text:
        return f"No permission to read the GPU's counters (ERR_NVGPUCTRPERM). {PERMISSION_REMEDY}"
    for result in results:
        reason = _did_not_end_well(plan, result, text) or _driver_failed(plan, result, work, text)
        if reason:
            return reason
    for result in results:
        if result.ended and result.ended.exit_status not in result.step.accepted:
            return f"{_program(result.step)} ended with {_status(result.ended)}. {_last_line(text)}"
    for step in plan.steps:
        for name in step.outputs:
            if reason := why_no_output(work / name):
                return f"{_program(step)} ended well but {reason}. {_last_line(text)}"
    return None


def why_no_output(path: Path) -> str | None:
    """Why what a program should have written is no output of its own; None when it is one."""
    if path.is_symlink():
        return f"left a symbolic link in place of {path.name}"
    if not path.is_file() or not path.stat().st_size:
        return f"wrote no {path.name}"
    return _why_no_export(path) if path.suffix == ".sqlite" else None


def _why_no_export(path: Path) -> str | None:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as export:
            tables = export.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
            ).fetchall()
            if not tables:
                return f"wrote a {path.name} without any table"
            export.execute(f'SELECT * FROM "{tables[0][0]}" LIMIT 1').fetchall()
    except sqlite3.Error as error:
        return f"wrote a {path.name} that is no whole SQLite database: {error}"
    return None


def _did_not_end_well(plan: PassPlan, result: StepResult, text: str) -> str | None:
    if result.ended is None:
        return f"{_program(result.step)} could not be started: {result.problem}."
    if result.ended.timed_out:
        return (
            f"{_program(result.step)} was ended after {plan.timeout_s} s, the time-out of this pass. "
            f"Raise timeout_s in the protocol, or choose fewer cases. {_last_line(text)}"
        )
    return None


def _driver_failed(plan: PassPlan, result: StepResult, work: Path, text: str) -> str | None:
    if result.step.records is None or result.ended is None:
        return None
    end = end_of_records(work / result.step.records)
    if end is not None and end.get("state") != "ok":
        return str(end.get("reason") or "The driver failed without a reason.")
    if reason := _profiled_nothing(plan, text):
        return reason
    if end is None:
        return f"The driver was cut off ({_status(result.ended)}). {_last_line(text)}"
    return None


def _profiled_nothing(plan: PassPlan, text: str) -> str | None:
    if plan.tool == "ncu" and "No kernels were profiled" in text:
        available = re.search(r"Available Kernels:\s*\n((?:\s*\d+\..*\n?)+)", text)
        names = re.findall(r"\d+\.\s*(.+)", available[1]) if available else []
        seen = f" Kernels that ran outside: {', '.join(names)}." if names else ""
        return (
            f"ncu profiled no kernel: no launch was inside the cases' NVTX ranges.{seen} "
            "Check that the driver pushes its ranges in the domain nsight_suite."
        )
    if plan.tool == "nsys" and "No reports were generated" in text:
        return (
            "nsys generated no report: its capture never started. With a capture range of unregistered NVTX "
            "strings, set NSYS_NVTX_PROFILER_REGISTER_ONLY=0."
        )
    return None


def _program(step: Step) -> str:
    name = Path(step.argv[0]).name
    return f"{name} {step.argv[1]}" if step.argv[1:] and step.argv[1].isalpha() else name


def _status(ended: Ended) -> str:
    status = ended.exit_status
    return f"signal {-status}" if status is not None and status < 0 else f"exit status {status}"


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LOG_TAIL_BYTES))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def _last_line(text: str) -> str:
    """The last thing that was printed: most often the error itself."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("$ ")]
    return f"Last line of the log: {lines[-1][:300]}" if lines else "The log is empty."
