"""The reports among the paths that were given: files, folders of Parquet files, and folders of reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nsight_suite.errors import BadReport, SuiteError, UsageError
from nsight_suite.evidence.fingerprint import content_hash, size_and_time
from nsight_suite.ingesting.recognising import Form, recognise
from nsight_suite.runfolder import files_of

# What SQLite keeps beside a database belongs to it.
_BESIDE = ("-wal", "-shm", "-journal")


@dataclass(frozen=True)
class Given:
    """A report that was found. `named` is false when only its folder was given."""

    path: Path
    form: Form
    named: bool


@dataclass(frozen=True)
class LeftOut:
    """A file that is not read, and why."""

    path: Path
    reason: str


def look_for(paths: Sequence[Path]) -> tuple[list[Given], list[LeftOut]]:
    """The reports at these paths, in order, and what was left out of the folders among them.

    What is named must be there and be a report: raises UsageError or BadReport otherwise. A folder may hold
    anything, but at least one report.
    """
    given: list[Given] = []
    left_out: list[LeftOut] = []
    for path in paths:
        _refuse_name(path)
        if path.is_dir() and not _is_export(path):
            found, others = _in_folder(path)
            given += found
            left_out += others
        else:
            given.append(Given(path, recognise(path), named=True))
    unique, doubled = _without_doubles(given)
    return unique, [*left_out, *doubled]


def _is_export(folder: Path) -> bool:
    try:
        recognise(folder)
    except BadReport as error:
        if "Arrow" in error.what:
            raise
        return False
    return True


def _in_folder(folder: Path) -> tuple[list[Given], list[LeftOut]]:
    if (folder / "run.json").exists():
        raise UsageError(
            f"'{folder}' is a run of the suite already.",
            f"Ask it: query {folder} --list. To read its reports anew, give {folder}/reports.",
        )
    found: list[Given] = []
    left_out: list[LeftOut] = []
    for path in files_of(folder):
        if path.name.startswith(".") or path.name.endswith(_BESIDE):
            continue
        try:
            _refuse_name(path)
            found.append(Given(path, recognise(path), named=False))
        except SuiteError as error:
            left_out.append(LeftOut(path, error.what))
    if not found:
        seen = "; ".join(one.reason for one in left_out[:5])
        raise BadReport(
            f"'{folder}' holds no report that can be read.",
            f"What it holds: {seen}" if seen else "It is empty.",
        )
    return found, left_out


def _without_doubles(given: Sequence[Given]) -> tuple[list[Given], list[LeftOut]]:
    """Each report once, though it be given twice or lie there twice."""
    unique: list[Given] = []
    left_out: list[LeftOut] = []
    for one in given:
        for position, other in enumerate(unique):
            if _same(one.path, other.path):
                unique[position] = replace(other, named=other.named or one.named)
                if one.path != other.path:
                    left_out.append(LeftOut(one.path, f"{one.path.name} is the same report as {other.path}."))
                break
        else:
            unique.append(one)
    return unique, left_out


def _same(one: Path, other: Path) -> bool:
    try:
        if one.samefile(other):
            return True
        # Hashing costs a reading of the file: only for those of the same size.
        return size_and_time(one)[0] == size_and_time(other)[0] and content_hash(one) == content_hash(other)
    except OSError as error:
        raise BadReport(f"{one.name} cannot be read: {error.strerror}.") from error


def _refuse_name(path: Path) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        shown = str(path).encode(errors="surrogateescape").decode(errors="replace")
        raise UsageError(f"The name of '{shown}' is not valid UTF-8.", "Give the file another name.") from error
