"""Check GPU, driver, libraries, profilers, permissions and disk, and say the remedy for whatever is missing.

Exit status: 0 when everything that a capture needs is there, else 2.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from nsight_suite.capturing.preflight import ALL_PASSES, Check, Inspect, inspect_machine
from nsight_suite.capturing.tools import find_tools
from nsight_suite.command import run_command
from nsight_suite.protocol import load
from nsight_suite.sources import experiments, find_experiment

_MARKS = {"ok": "ok", "warning": "!", "missing": "missing"}
_STYLES = {"ok": "green", "warning": "yellow", "missing": "red"}


def main(argv: Sequence[str] | None = None, *, inspect: Inspect = inspect_machine) -> int:
    parser = argparse.ArgumentParser(prog="nsight-suite doctor", description=__doc__)
    parser.add_argument(
        "experiment", nargs="?", help="name of an experiment, or its folder: what it alone needs is then needed"
    )
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")
    parser.add_argument(
        "--out", type=Path, default=Path("runs"), metavar="DIR", help="where a run would be written"
    )
    parser.add_argument("--device", type=int, default=0, metavar="N", help="CUDA device that would be used")
    options = parser.parse_args(argv)
    return run_command(lambda: _doctor(_checks(options, inspect), options.json), unheard=2)


def _checks(options: argparse.Namespace, inspect: Inspect) -> list[Check]:
    """The checks for one experiment, or for all: what only some variants need is then optional."""
    named = options.experiment
    libraries: dict[str, tuple[str, ...]] = {}
    for source in [find_experiment(named)] if named else experiments():
        protocol = load(source.protocol)
        for library, variants in protocol.libraries(protocol.variants).items():
            libraries[library] = (*libraries.get(library, ()), *variants)
    checks = inspect(find_tools(), options.out, options.device, libraries)
    return [
        replace(check, state="warning") if check.variants and check.state == "missing" and not named else check
        for check in checks
    ]


def _doctor(checks: Sequence[Check], as_json: bool) -> int:
    ready = all(check.state != "missing" for check in checks)
    if as_json:
        print(json.dumps({"ready": ready, "checks": [asdict(check) for check in checks]}, indent=2))
    elif sys.stdout.isatty():
        _print_table(checks)
    else:
        print("\n".join(plain_lines(checks)))
    if not as_json:
        print(
            "Everything that a capture needs is there."
            if ready
            else "A capture would lack what is missing above."
        )
    return 0 if ready else 2


def plain_lines(checks: Sequence[Check]) -> list[str]:
    """A line per check, and one below it with the remedy."""
    lines = []
    width = max(len(check.name) for check in checks)
    for check in checks:
        lines.append(f"{_MARKS[check.state]:<8} {check.name:<{width}}  {check.seen}  ({_needed(check)})")
        if check.state != "ok" and check.remedy:
            lines.append(f"{'':<8} {'':<{width}}  → {check.remedy}")
    return lines


def _print_table(checks: Sequence[Check]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("", "check", "seen", "needed by"):
        table.add_column(heading, overflow="fold")
    for check in checks:
        remedy = f"\n→ {check.remedy}" if check.state != "ok" and check.remedy else ""
        mark = Text(_MARKS[check.state], style=_STYLES[check.state])
        table.add_row(mark, check.name, Text(check.seen + remedy), _needed(check))
    Console().print(table)


def _needed(check: Check) -> str:
    if check.variants:
        return f"variant {', '.join(check.variants)}"
    return "every pass" if check.needed_by == ALL_PASSES else ", ".join(check.needed_by)


if __name__ == "__main__":
    sys.exit(main())
