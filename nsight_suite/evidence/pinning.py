"""Holding on to the files of evidence that a store was opened with, whatever takes their place meanwhile."""

from __future__ import annotations

import os
import stat
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from nsight_suite.errors import SuiteError
from nsight_suite.writing import is_aside

Pinned = Mapping[str, Path]

# Where Linux shows the files that a process has open: a path there leads to the file itself, under no name.
_OPEN_FILES = Path("/proc/self/fd")
_PATIENCE_S = 2.0
_ATTEMPTS = 3

_T = TypeVar("_T")


def pinned(folder: Path, names: Iterable[str], until: object) -> Pinned:
    """Paths to these files of a folder, all of one version of it, that hold until `until` is collected.

    A name that is missing or no file is left out. Where the system does not show open files, the paths are the
    plain ones.
    """
    wanted = list(names)
    limit = time.monotonic() + _PATIENCE_S
    while True:
        handles = _open(folder, wanted)
        if handles is not None:
            break
        if time.monotonic() > limit:
            handles = {}
            break
        time.sleep(0.01)
    if not _OPEN_FILES.is_dir():
        _close(handles.values())
        return {name: (folder / name).resolve() for name in handles}
    weakref.finalize(until, _close, list(handles.values()))
    return {name: _OPEN_FILES / str(handle) for name, handle in handles.items()}


def of_one_version(folder: Path, work: Callable[[], _T]) -> _T:
    """What `work` gives that opens the files of a folder more than once; it is done again when the folder was
    replaced meanwhile.

    Raises SuiteError when that happens again and again.
    """
    for _ in range(_ATTEMPTS):
        before = _version(folder)
        made = work()
        if _version(folder) == before:
            return made
    raise SuiteError(
        f"{folder} is replaced again and again, so that nothing can be made of one version of it.",
        "Wait for the process that writes it, and do this again.",
    )


def _version(folder: Path) -> tuple[int, int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _open(folder: Path, names: Iterable[str]) -> dict[str, int] | None:
    """The files, open; None when the folder was replaced while they were opened, or is about to be."""
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None if is_aside(folder) else {}
    except OSError:
        return {}
    found: dict[str, int] = {}
    try:
        for name in names:
            with suppress(OSError):
                handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=place)
                found[name] = handle
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    os.close(found.pop(name))
        with suppress(OSError):
            if os.path.samestat(os.fstat(place), folder.stat()):
                return found
    finally:
        os.close(place)
    _close(found.values())
    return None


def _close(handles: Iterable[int]) -> None:
    for handle in handles:
        os.close(handle)
