"""Telling the versions of a run's evidence apart: another process may replace all of it at any time."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from nsight_suite.errors import CannotAnswer, SuiteError
from nsight_suite.writing import is_aside

_PATIENCE_S = 2.0
_ATTEMPTS = 20

_T = TypeVar("_T")


class EvidenceReplaced(CannotAnswer):
    """The evidence was replaced while it was read, so what was read may be of two versions."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} was replaced by another process while it was read.", "Ask again.")


class Version:
    """A folder as it is now, or its absence.

    One that is away for the moment of its replacement is waited for.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._first: os.stat_result | None = None
        limit = time.monotonic() + _PATIENCE_S
        while not folder.exists() and is_aside(folder) and time.monotonic() < limit:
            time.sleep(0.01)
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return
        weakref.finalize(self, os.close, handle)
        self._first = os.fstat(handle)  # while it is open, no other folder gets its number

    def replaced(self) -> bool:
        """Whether another folder stands there by now."""
        try:
            now = self.folder.stat()
        except OSError:
            return self._first is not None
        return self._first is None or not os.path.samestat(now, self._first)

    def check(self) -> None:
        """Raise EvidenceReplaced when another folder stands there by now."""
        if self.replaced():
            raise EvidenceReplaced(self.folder)


def of_one_version(folder: Path, work: Callable[[], _T]) -> _T:
    """What `work` gives that reads a folder, all of one version of it: it is done again when that was replaced.

    Raises SuiteError when that happens again and again.
    """
    for _ in range(_ATTEMPTS):
        version = Version(folder)
        try:
            made = work()
        except EvidenceReplaced:
            continue
        if not version.replaced():
            return made
    raise SuiteError(
        f"{folder} is replaced again and again, so that nothing can be made of one version of it.",
        "Wait for the process that writes it, and do this again.",
    )
