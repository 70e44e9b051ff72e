"""The protocol of a run as the report shows it: what was declared, and how the run was made."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsight_suite import protocol
from nsight_suite.errors import SuiteError
from nsight_suite.reporting.tables import TextTable, text_table
from nsight_suite.runfolder import RunFolder, sha256

_SOURCES = {
    "capture": "captured by the suite",
    "reports": "built from reports made elsewhere",
    "recorded": "a copy of a run that ships with the suite; nothing was measured by whoever wrote this report",
}


@dataclass(frozen=True)
class File:
    """A small text file of the run, whole, with its hash."""

    path: str
    sha256: str
    text: str


@dataclass(frozen=True)
class Declared:
    """`title` and `question` are the experiment's own words. `why_not` says why no protocol is shown."""

    title: str
    question: str
    why_not: str
    facts: Mapping[str, str]
    tables: tuple[TextTable, ...]
    files: tuple[File, ...]


def declared(run: RunFolder, name: str) -> Declared:
    """What the run's protocol declares. A run made from foreign reports may come without one."""
    files = tuple(_file(run, path) for path in (run.protocol, run.expected) if path.is_file())
    if run.is_ingested():
        why = (
            "This run was ingested from reports: no protocol declared what would be measured, or must be seen."
        )
        return Declared("Ingested reports", "", why, {}, (), files)
    try:
        found = protocol.load(run.protocol)
    except SuiteError as error:
        return Declared(name, "", f"The protocol of this run cannot be shown. {error.what}", {}, (), files)
    return Declared(found.title, found.question, "", _facts(found), _tables(found), files)


def made(info: Mapping[str, Any]) -> dict[str, str]:
    """How the run came about, from its run.json."""
    asked = {
        "asked for with": shlex.join(map(str, info.get("argv") or ())),
        "made": str(info.get("created_utc") or ""),
        "state": str(info.get("state") or ""),
        "source": _SOURCES.get(str(info.get("source")), ""),
        "size": "the protocol's quick run" if info.get("quick") else "the whole protocol",
        "captured by suite version": str(info.get("suite_version") or ""),
        "protocol, SHA-256": str(info.get("protocol_sha256") or ""),
    }
    if not info.get("experiment"):
        asked |= {"source": "ingested from reports", "size": ""}
    return {name: value for name, value in asked.items() if value}


def processes(run: RunFolder, order: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The command lines of each pass, in the order in which the passes were asked for."""
    records = run.pass_records()
    return {
        name: tuple(shlex.join(map(str, step["argv"])) for step in records[name].get("steps", ()))
        for name in dict.fromkeys([*order, *records])
        if name in records
    }


def _facts(found: protocol.Protocol) -> dict[str, str]:
    facts = {
        "submissions": ", ".join(found.submissions),
        "cases": f"{len(found.cases())}: {len(found.variants)} variants × {len(found.submissions)} submissions "
        f"× {len(found.shapes)} shapes",
        "seed": str(found.seed),
        "inputs": ", ".join(found.fixtures),
        "input held out to the end": found.held_out,
        "tolerances": _pairs(found.tolerances),
        "timing": _pairs(found.timing),
        "counters asked for": ", ".join(found.metrics),
        "pilot": "; ".join(f"{name}: the fastest of {', '.join(group)}" for name, group in found.pilot.items()),
        "quick run": _pairs(found.quick),
    }
    return {name: value for name, value in facts.items() if value}


def _tables(found: protocol.Protocol) -> tuple[TextTable, ...]:
    variants = [
        {"variant": name, "what": what, "needs": ", ".join(found.needs.get(name, ())) or None}
        for name, what in found.variants.items()
    ]
    shapes = [
        {"shape": one.name, "sizes": _pairs(one.parameters), "batch": one.batch, "timed": one.timed}
        for one in found.shapes
    ]
    passes = [
        {
            "pass": one.name,
            "invocations": found.invocations(one.name, False),
            "timeout": one.timeout_s,
            "options": _pairs(one.options) or None,
        }
        for one in found.passes
    ]
    return (
        text_table("Variants", "", "", variants, _plain("variant", "what", "needs")),
        text_table("Shapes", "", "", shapes, _plain("shape", "sizes", "batch", "timed")),
        text_table(
            "Passes, each a process of its own",
            *("", "", passes, {**_plain("pass", "invocations", "options"), "timeout": "timeout, s"}),
        ),
    )


def _plain(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_value(value)}" for name, value in values.items())


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_value, value))
    return f"{{{_pairs(value)}}}" if isinstance(value, Mapping) else str(value)


def _file(run: RunFolder, path: Path) -> File:
    text = path.read_bytes().decode("utf-8", errors="replace")
    return File(path.relative_to(run.path).as_posix(), sha256(path), text)
