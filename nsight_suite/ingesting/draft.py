"""A run that is being made: in a hidden folder beside its place, and in its place only when it is whole."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.runfolder import RunFolder


def refuse_taken(out: Path) -> None:
    """Raise UsageError unless `out` is free: not there, or an empty folder."""
    try:
        str(out).encode()
        taken = os.path.lexists(out) and (not out.is_dir() or any(out.iterdir()))
    except UnicodeEncodeError as error:
        raise UsageError("The name given to --out is not valid UTF-8.", "Choose another name.") from error
    except OSError as error:
        raise UsageError(f"'{out}' cannot be used: {error.strerror}.", "Choose another --out.") from error
    if taken:
        raise UsageError(f"'{out}' exists already.", "Give --out a folder that does not exist yet.")


@contextmanager
def draft(out: Path) -> Iterator[RunFolder]:
    """A run folder to be filled; it becomes `out` when the block ends well, else nothing of it stays.

    What a killed process has left of an earlier draft is removed first.
    Raises UsageError when another process is making the same run, or made it meanwhile.
    """
    place = Path(os.path.realpath(out))
    folder = place.with_name(f".{place.name}.draft")
    made = _make_parents(place)
    finished = False
    try:
        with _lock(place.with_name(f".{place.name}.lock"), out):
            try:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                yield RunFolder(folder)
                _move(folder, place, out)
                finished = True
            finally:
                with _undisturbed():
                    shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise SuiteError(f"Cannot write {out}: {error.strerror or error}.") from error
    finally:
        if not finished:
            for parent in made:
                with suppress(OSError):  # something else lies there by now
                    parent.rmdir()


def _make_parents(place: Path) -> list[Path]:
    """Make the folders above; returns those that were not there, the innermost first."""
    missing = [parent for parent in place.parents if not parent.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SuiteError(f"Cannot make {place.parent}: {error.strerror}.") from error
    return missing


def _move(folder: Path, place: Path, out: Path) -> None:
    try:
        folder.rename(place)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise UsageError(
                f"'{out}' was made by somebody else meanwhile.", "Give --out a folder that does not exist yet."
            ) from error
        raise


@contextmanager
def _lock(path: Path, out: Path) -> Iterator[None]:
    """Hold the lock of a place, so that two processes never make the same run."""
    with _locked(path, out):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _locked(path: Path, out: Path) -> BinaryIO:
    while True:
        file = path.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise UsageError(
                f"Another process is ingesting to '{out}' just now.", "Wait for it, or give another --out."
            ) from error
        except OSError:
            return file  # a file system without locks: the renaming at the end still lets only one win
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return file
        file.close()  # whoever held it has removed it meanwhile


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Removing what is unfinished is not interrupted by a second Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)
