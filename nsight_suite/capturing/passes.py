"""The command lines of every pass.

All names in them are relative: a pass works in a folder of its own, which is empty when it starts, so that any
output that is there afterwards is fresh. The profilers' exit status is that of the driver they run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.capturing.tools import Tool
from nsight_suite.plan import Plan
from nsight_suite.protocol import DOMAIN, PassSettings, Protocol

PLAN_FILE = "plan.json"
SANITIZER_FOUND_ERRORS = 9

TOOL_OF_PASS = {"nsys": "nsys", "ncu": "ncu", "ncu-warm": "ncu", "sanitize": "compute-sanitizer"}


@dataclass(frozen=True)
class Step:
    """One command of a pass.

    It runs when all of `needs` exist. `records` is the driver's record file; a command without runs no driver.
    `stdout` names the file that takes standard output; without it, that goes to the log.
    """

    argv: tuple[str, ...]
    outputs: tuple[str, ...]
    records: str | None = None
    needs: tuple[str, ...] = ()
    stdout: str | None = None
    accepted: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class PassPlan:
    """Everything that is needed to make one pass. `plan` is what the driver reads."""

    name: str
    tool: str | None
    timeout_s: int
    plan: Plan
    steps: tuple[Step, ...]
    options: Mapping[str, str | None]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the files in reports/ that this pass may produce."""
        produced = [name for step in self.steps for name in step.outputs if name != step.records]
        return (f"{self.name}.jsonl", *produced)


def plan_pass(
    protocol: Protocol,
    settings: PassSettings,
    plan: Plan,
    *,
    driver: Path,
    tools: Mapping[str, Tool],
) -> PassPlan:
    """The commands of one pass. A profiler that was not found stands in them by its bare name."""
    tool = TOOL_OF_PASS.get(settings.name)
    program = str(tools[tool].path) if tool and tool in tools else str(tool)
    options = _options(settings)
    if tool == "nsys":
        steps = _nsys(settings.name, program, options, driver)
    elif tool == "ncu":
        steps = _ncu(settings, program, options, driver, protocol=protocol)
    elif tool == "compute-sanitizer":
        steps = _sanitizer(settings, program, driver)
    else:
        steps = (Step(_driver(driver, "records.jsonl"), ("records.jsonl",), "records.jsonl"),)
    return PassPlan(settings.name, tool, settings.timeout_s, plan, steps, options)


def _options(settings: PassSettings) -> dict[str, str | None]:
    """What the evidence must know of how the profiler was told to measure; None where it does not apply."""
    ncu = TOOL_OF_PASS.get(settings.name) == "ncu"
    warm = settings.name == "ncu-warm"
    defaults = {
        "cache_control": ("none" if warm else "all") if ncu else None,
        "clock_control": "none" if ncu else None,
        "graph_trace": "node" if settings.name == "nsys" else None,
        "graph_profiling": ("graph" if warm else "node") if ncu else None,
    }
    return {
        name: settings.options.get(name, default) if default else None for name, default in defaults.items()
    }


def _driver(driver: Path, records: str) -> tuple[str, ...]:
    return (sys.executable, str(driver), "--plan", PLAN_FILE, "--records", records)


def _nsys(name: str, nsys: str, options: Mapping[str, str | None], driver: Path) -> tuple[Step, ...]:
    report, export = f"{name}.nsys-rep", f"{name}.sqlite"
    profile = (
        nsys,
        "profile",
        "--trace=cuda,nvtx",
        "--sample=none",
        "--cpuctxsw=none",
        f"--cuda-graph-trace={options['graph_trace']}",
        "-o",
        name,
        *_driver(driver, "records.jsonl"),
    )
    return (
        Step(profile, (report, "records.jsonl"), "records.jsonl"),
        Step((nsys, "export", "--type=sqlite", "-o", export, report), (export,), needs=(report,)),
    )


def _ncu(
    settings: PassSettings,
    ncu: str,
    options: Mapping[str, str | None],
    driver: Path,
    *,
    protocol: Protocol,
) -> tuple[Step, ...]:
    report, table = f"{settings.name}.ncu-rep", f"{settings.name}.csv"
    whole_graphs = options["graph_profiling"] == "graph"
    # The ranges of all cases begin with the experiment's name. `regex:` stands before the domain: behind the
    # '@' it matches nothing. The slash means a push/pop range. With either wrong, ncu profiles nothing and
    # exits 0.
    named = re.escape(protocol.name).replace("\\-", "-")
    ranges = f"regex:{DOMAIN}@{named}:.*/"
    # Registers, shared memory and occupancy limits belong to a kernel; a whole graph has none.
    sections = () if whole_graphs else ("--section", "LaunchStats", "--section", "Occupancy")
    profile = (
        ncu,
        "--nvtx",
        *("--nvtx-include", ranges),
        *("--cache-control", str(options["cache_control"])),
        *("--clock-control", str(options["clock_control"])),
        *(("--graph-profiling", "graph") if whole_graphs else ()),
        *sections,
        *(("--metrics", ",".join(protocol.metrics)) if protocol.metrics else ()),
        "-o",
        settings.name,
        *_driver(driver, "records.jsonl"),
    )
    # Without --print-units base an imported report is scaled, each row as it likes.
    text = (ncu, "--import", report, "--csv", "--page", "raw", "--print-units", "base")
    return (
        Step(profile, (report, "records.jsonl"), "records.jsonl"),
        Step(text, (table,), needs=(report,), stdout=table),
    )


def _sanitizer(settings: PassSettings, program: str, driver: Path) -> tuple[Step, ...]:
    steps = []
    for tool in settings.options.get("tools", ["memcheck"]):
        log, records = f"{settings.name}.{tool}.log", f"records.{tool}.jsonl"
        argv = (
            program,
            "--tool",
            tool,
            "--log-file",
            log,
            "--error-exitcode",
            str(SANITIZER_FOUND_ERRORS),
            *_driver(driver, records),
        )
        # Errors that the tool found are evidence, not a failure to measure.
        steps.append(Step(argv, (log, records), records, accepted=(0, SANITIZER_FOUND_ERRORS)))
    return tuple(steps)
