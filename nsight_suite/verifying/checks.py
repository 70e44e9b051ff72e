"""What a verification says, and what it is asked about."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from nsight_suite.drawing import Drawn, draw
from nsight_suite.errors import SuiteError, UsageError, first_line
from nsight_suite.evidence.store import DatabaseError, OutOfMemory
from nsight_suite.manifest import Manifest
from nsight_suite.reconciliation import Reconciliation, reconcile_run
from nsight_suite.runfolder import RunFolder, read_json
from nsight_suite.sources import ExperimentSource
from nsight_suite.verifying.plain import with_plain_evidence

HOLDS, FAILED, UNCHECKED = "holds", "failed", "not-checked"
MORE_MEMORY = "needs more memory than is allowed (--memory)"
# Of one check; whoever changed a whole table need not be told every row of it.
_MOST_TOLD = 20
# What is read whole as JSON. A manifest of a run has some hundred files.
_JSON_BYTES = 64 << 20


@dataclass(frozen=True)
class Failure:
    """Something that does not hold: `subject` names a file, table, query or case, `what` what is wrong."""

    subject: str
    what: str


@dataclass(frozen=True)
class Check:
    """One check with its result.

    counted   how many of what were compared: {"files": 120}
    failures  what does not hold
    missing   what could not be checked, each with its reason
    notes     what a reader should know beside that
    ended     why it was ended before it had compared everything, else empty
    """

    name: str
    about: str
    counted: Mapping[str, int] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ended: str = ""

    @property
    def in_part(self) -> bool:
        """Whether something that it compares was missing. That private files are is no lack of a bundle."""
        return bool(self.missing) and self.name != "files"

    @property
    def state(self) -> str:
        """holds, failed, or not-checked where there was nothing to compare, or it could not be done."""
        if self.failures:
            return FAILED
        return HOLDS if any(self.counted.values()) and not self.ended else UNCHECKED


class Findings:
    """What a check gathers on its way."""

    def __init__(self) -> None:
        self.counted: dict[str, int] = {}
        self.failures: list[Failure] = []
        self.missing: list[str] = []
        self.notes: list[str] = []
        self._ended = ""
        self._untold = 0

    def count(self, what: str, number: int = 1) -> None:
        """So many more of these were compared."""
        self.counted[what] = self.counted.get(what, 0) + number

    def fail(self, subject: str, what: str) -> None:
        """A Failure; of very many the first are told, and how many more there are."""
        if len(self.failures) < _MOST_TOLD:
            self.failures.append(Failure(subject, what))
        else:
            self._untold += 1

    def miss(self, why: str) -> None:
        """What could not be checked, with its reason."""
        self.missing.append(why)

    def note(self, what: str) -> None:
        """What a reader should know, and is no fault."""
        self.notes.append(what)

    @contextmanager
    def readable(self, subject: str) -> Iterator[None]:
        """Whatever inside cannot be read or done for a reason that lies in the run becomes a failure.

        Too little memory is no such reason: that ends the check.
        """
        try:
            yield
        except Exception as error:
            if wants_memory(error):
                self._ended = self._ended or f"{subject}: {MORE_MEMORY}"
            elif isinstance(error, SuiteError):
                self.fail(subject, error.what)
            elif isinstance(error, DatabaseError):
                self.fail(subject, f"cannot be read: {first_line(error)}")
            elif isinstance(error, OSError | ValueError | RecursionError):
                self.fail(subject, f"cannot be read: {error}")
            else:
                raise

    def as_check(self, name: str, about: str) -> Check:
        """The result, with all that was gathered."""
        failures = list(self.failures)
        if self._untold:
            failures.append(Failure("…", f"and {self._untold} more"))
        return Check(
            name,
            about,
            dict(self.counted),
            tuple(failures),
            tuple(self.missing),
            tuple(self.notes),
            self._ended,
        )


def wants_memory(error: BaseException | None) -> bool:
    """Whether it is memory that something failed for the want of, be it Python's or the database's."""
    while error:
        if isinstance(error, MemoryError | OutOfMemory) or "can't start new thread" in str(error):
            return True
        error = error.__cause__
    return False


def objects(value: object) -> list[Mapping[str, Any]]:
    """The JSON objects of what should be a list of them."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


@dataclass(frozen=True)
class Subject:
    """A run folder, whose links were looked for already, and its manifest.

    files           every file by its path inside
    manifest        None where there is none
    manifest_error  why a manifest that is there cannot be read
    is_bundle       made by `share`: nothing is written into it afterwards
    outside         an experiment outside the project, whose figures are drawn too
    """

    run: RunFolder
    files: Mapping[str, os.stat_result]
    manifest: Manifest | None
    manifest_error: str = ""
    is_bundle: bool = False
    outside: ExperimentSource | None = None

    @cached_property
    def info(self) -> Mapping[str, Any]:
        """run.json. Raises SuiteError."""
        return self.run.read_run()

    @property
    def experiment(self) -> str:
        return str(self.info["experiment"])

    @cached_property
    def left_out(self) -> Mapping[str, str]:
        """Why a file of the original run is not here, by its path."""
        entries = self.manifest.left_out if self.manifest else ()
        return {entry.path: entry.why for entry in entries if entry.path not in self.files}

    @cached_property
    def plain(self) -> RunFolder:
        """The same run, with nothing in the files of its evidence but rows: what queries are asked of."""
        folder = tempfile.mkdtemp(prefix="nsight-suite-plain-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return with_plain_evidence(self.run, Path(folder) / self.run.path.resolve().name)

    @property
    def plain_folders(self) -> tuple[Path, ...]:
        """Where that was written, if it was."""
        return (self.plain.path,) if "plain" in self.__dict__ else ()

    @cached_property
    def reconciliation(self) -> Reconciliation:
        """The run judged again. Raises SuiteError."""
        return reconcile_run(self.plain)

    @cached_property
    def drawn(self) -> Drawn:
        """The figures drawn again. Raises SuiteError."""
        return draw(self.run, experiment=self.outside)

    def json(self, inside: str) -> dict[str, Any]:
        """A JSON object of the run. Raises SuiteError for one that is damaged, or too large for what it is."""
        path = self.run.path / inside
        if inside in self.files and self.files[inside].st_size > _JSON_BYTES:
            raise SuiteError(f"{inside} is larger than {_JSON_BYTES >> 20} MiB.", "")
        try:
            return read_json(path)
        except SuiteError as error:
            raise type(error)(error.what.replace(str(path), inside), error.way_out) from error

    def path(self, inside: str) -> Path:
        """Where a file of the run lies, by its path inside."""
        return self.run.path / inside


@dataclass(frozen=True)
class Verification:
    """The result for a whole run or bundle.

    manifest_sha256  what is published beside a run: every other hash follows from it
    """

    name: str
    run_id: str
    manifest_sha256: str | None
    archive_sha256: str | None
    checks: tuple[Check, ...]
    unfinished: str = ""

    @property
    def exit_status(self) -> int:
        """0: all that could be checked holds; 1: something does not; 2: it could not be verified to its end."""
        states = {check.state for check in self.checks}
        if FAILED in states:
            return 1
        whole = not self.unfinished and not any(check.ended for check in self.checks)
        return 0 if HOLDS in states and whole else 2


def refuse_large(subject_files: Mapping[str, os.stat_result]) -> None:
    """Raise UsageError for a JSON file of the run's own that is far larger than any run has."""
    for path, status in subject_files.items():
        own = path in ("run.json", "manifest.json") or path.startswith("passes/")
        if own and status.st_size > _JSON_BYTES:
            raise UsageError(f"{path} is larger than {_JSON_BYTES >> 20} MiB.", "No run writes such a file.")
