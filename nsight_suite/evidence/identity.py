"""Which machine and program a report is of: only to compare reports with one another, never kept.

Nothing of it enters the evidence or a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath

import duckdb

from nsight_suite.errors import BadReport, first_line
from nsight_suite.evidence.readers import ncu_csv, ncu_rep
from nsight_suite.evidence.readers.nsys_export import opened

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
        case "nsys-sqlite":
            return _of_nsys(_from_sqlite(path))
        case "nsys-parquet":
            return _of_nsys(_from_parquet(path))
        case "ncu-csv":
            return _of_ncu(*ncu_csv.identity(path))
        case "ncu-rep":
            return _of_ncu(*ncu_rep.identity(path))
    return Identity()


Rows = list[tuple[str | None, ...]]
_ASKED = {
    "capture": ("META_DATA_CAPTURE", ("name", "value")),
    "system": ("TARGET_INFO_SYSTEM_ENV", ("name", "value")),
    "gpu_uuids": ("TARGET_INFO_GPU", ("uuid",)),
    "gpu_names": ("TARGET_INFO_GPU", ("name",)),
    "processes": ("PROCESSES", ("name",)),
}
_WANTED = r"DEVICE_DISPLAY_NAME|Hostname|PROCESS_\d+:(COMMAND|ARGUMENT_\d+)"


def _from_sqlite(path: Path) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    with opened(path) as export:
        for key, (table, columns) in _ASKED.items():
            if set(columns) <= export.columns_of(table):
                select = ", ".join(f'CAST("{column}" AS TEXT)' for column in columns)
                found[key] = export.connection.execute(
                    f'SELECT {select} FROM "{table}" ORDER BY rowid'
                ).fetchall()
    return found


def _from_parquet(path: Path) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    with duckdb.connect() as connection:
        for key, (table, columns) in _ASKED.items():
            file = path / f"{table}.parquet"
            if not file.is_file():
                continue
            select = ", ".join(f'CAST("{column}" AS VARCHAR)' for column in columns)
            try:
                relation = connection.read_parquet(str(file))
                if set(columns) <= set(relation.columns):
                    found[key] = relation.project(select).fetchall()
            except duckdb.Error as error:
                raise BadReport(f"{path.name}/{file.name} cannot be read: {first_line(error)}") from error
    return found


def _of_nsys(rows: dict[str, Rows]) -> Identity:
    told = [
        (str(name), str(value))
        for key in ("capture", "system")
        for name, value in rows.get(key, [])
        if re.fullmatch(_WANTED, str(name))
    ]
    return Identity(
        hosts=_hosts(value for name, value in told if name in ("DEVICE_DISPLAY_NAME", "Hostname")),
        gpu_uuids=_uuids(row[0] for row in rows.get("gpu_uuids", [])),
        gpu_names=_texts(row[0] for row in rows.get("gpu_names", [])),
        commands=_commands(told),
        programs=_programs(row[0] for row in rows.get("processes", [])),
    )


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
