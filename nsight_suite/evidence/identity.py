"""Which machine and program a report is of: only to compare reports with one another, never kept.

Nothing of it enters the evidence or a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath

from nsight_suite.evidence.readers import ncu_csv, ncu_rep
from nsight_suite.evidence.readers.nsys_export import Export, find, open_export

_NO_HOST = frozenset({"", "localhost", "127.0.0.1", "::1", "local (cli)"})
_UUID = re.compile(r"(?:gpu-)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_INTERPRETER = re.compile(r"python[\d.]*|torchrun|accelerate|julia|Rscript|bash|sh", re.IGNORECASE)
_SCRIPTS = (".py", ".sh", ".jl", ".R")
# Linux keeps 15 characters of a process's name; python3.12 and python3 are the same program.
_COMM = 15


@dataclass(frozen=True)
class Identity:
    """What a report tells of its origin; an empty set where it does not tell."""

    hosts: frozenset[str] = frozenset()
    gpu_uuids: frozenset[str] = frozenset()
    gpu_names: frozenset[str] = frozenset()
    commands: frozenset[str] = frozenset()
    programs: frozenset[str] = frozenset()

    def differences(self, other: Identity) -> list[str]:
        """The names of what both tell and nothing of it is the same: hosts, gpu_uuids, …"""
        pairs = ((one.name, getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return [name for name, mine, theirs in pairs if mine and theirs and not mine & theirs]


def identity(path: Path, form: str) -> Identity:
    """The origin of a report. Raises BadReport for one that cannot be read."""
    match form:
        case "nsys-sqlite" | "nsys-parquet":
            with open_export(path) as export:
                return _of_nsys(export)
        case "ncu-csv":
            return _of_ncu(*ncu_csv.identity(path))
        case "ncu-rep":
            return _of_ncu(*ncu_rep.identity(path))
    return Identity()


_WANTED = re.compile(r"DEVICE_DISPLAY_NAME|Hostname|PROCESS_\d+:(COMMAND|ARGUMENT_\d+)", re.IGNORECASE)
_HOST_NAMES = ("DEVICE_DISPLAY_NAME", "HOSTNAME")


def _of_nsys(export: Export) -> Identity:
    pairs = (
        (str(name).upper(), str(value))
        for table in ("META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV")
        for name, value in _rows(export, table, "name", "value")
        if value is not None and _WANTED.fullmatch(str(name))
    )
    told = list(pairs)
    return Identity(
        hosts=_hosts(value for name, value in told if name in _HOST_NAMES),
        gpu_uuids=_uuids(row[0] for row in _rows(export, "TARGET_INFO_GPU", "uuid")),
        gpu_names=_texts(row[0] for row in _rows(export, "TARGET_INFO_GPU", "name")),
        commands=_commands(told),
        programs=_programs(row[0] for row in _rows(export, "PROCESSES", "name")),
    )


def _rows(export: Export, table: str, *columns: str) -> list[tuple[str | None, ...]]:
    """Texts of a small table; nothing when the export lacks it or one of the columns."""
    there = find(export, table)
    if there is None or not set(columns) <= export.columns_of(there):
        return []
    return [tuple(None if cell is None else str(cell) for cell in row) for row in export.rows(there, columns)]


def _of_ncu(hosts: Iterable[str], programs: Iterable[str], gpus: Iterable[str]) -> Identity:
    gpus = list(gpus)
    return Identity(
        hosts=_hosts(hosts),
        gpu_uuids=_uuids(gpus),
        gpu_names=_texts(gpu for gpu in gpus if not _UUID.fullmatch(gpu.lower())),
        programs=_programs(programs),
    )


def _hosts(names: Iterable[str | None]) -> frozenset[str]:
    return frozenset(short for name in names if (short := (name or "").strip().lower()) not in _NO_HOST)


def _uuids(texts: Iterable[str | None]) -> frozenset[str]:
    found = (_UUID.fullmatch((text or "").strip().lower()) for text in texts)
    return frozenset(match[1] for match in found if match)


def _texts(texts: Iterable[str | None]) -> frozenset[str]:
    return frozenset(text.strip() for text in texts if text and text.strip())


def _programs(names: Iterable[str | None]) -> frozenset[str]:
    return frozenset(program for name in names if (program := _program(name or "")))


def _program(name: str) -> str:
    last = PurePosixPath(name.strip().replace("\\", "/")).name
    return "python" if re.fullmatch(r"python[\d.]*", last) else last[:_COMM]


def _commands(told: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The programs that nsys was told to start; of an interpreter, with the script that it ran."""
    by_process: dict[str, dict[str, str]] = {}
    for name, value in told:
        process, _, key = name.partition(":")
        if key:
            by_process.setdefault(process, {})[key] = value
    found = set()
    for words in by_process.values():
        program = PurePosixPath(words.get("COMMAND", "").strip()).name
        if not program:
            continue
        if _INTERPRETER.fullmatch(program):
            count = len(words)
            arguments = [
                words[key] for key in (f"ARGUMENT_{number}" for number in range(count)) if key in words
            ]
            others = [text for text in arguments if not text.startswith("-")]
            script = next((text for text in others if text.endswith(_SCRIPTS)), next(iter(others), ""))
            program = f"{_program(program)} {PurePosixPath(script).name}"
        found.add(program)
    return frozenset(found)
