"""A run that is being made: in a hidden folder beside its place, and in its place only when it is whole."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nsight_suite.errors import UsageError
from nsight_suite.locking import LOCK, held
from nsight_suite.runfolder import RunFolder
from nsight_suite.writing import cannot_write, sync


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
        with held(place.with_name(f".{place.name}{LOCK}"), out, "ingest"):
            try:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                yield RunFolder(folder)
                sync(folder)
                _move(folder, place, out)
                sync(place.parent)
                finished = True
            finally:
                with _undisturbed():
                    shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise cannot_write(out, error) from error
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
        raise cannot_write(place.parent, error) from error
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
