"""How files and folders are put in their place: whole, on the disk, and told clearly where that cannot be done.

Everything is made under a temporary name beside its place, `.STEM.PID-HOST.SUFFIX`, and renamed. HOST is a mark
of the machine, since a process is known to be dead only on its own. What dead processes have left is removed by
the next that writes to the same place.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from nsight_suite.errors import SuiteError, first_line

_TEMPORARY = re.compile(r"\.(?P<stem>.+)\.(?P<pid>\d+)-(?P<host>[0-9a-f]{6})(?P<rest>\..*)?")
# Beside a temporary folder: the one that it is about to replace, where both cannot change places at once.
_ASIDE = ".aside"

_FREE_SPACE = "Free some space there and do it again. What stood there before is unchanged."
_ELSEWHERE = "Choose another place (--out, where the command has it)."
_WAYS_OUT = {
    errno.ENOSPC: _FREE_SPACE,
    errno.EDQUOT: _FREE_SPACE,
    errno.EFBIG: f"A limit on the size of files (ulimit -f) is too low. {_FREE_SPACE}",
    errno.EIO: f"The disk, or a limit on the size of files (ulimit -f), takes no more. {_FREE_SPACE}",
    **dict.fromkeys(
        (errno.EEXIST, errno.ENOTDIR, errno.EISDIR),
        "A folder must not stand where a file is to be, nor a file where a folder is: choose another place.",
    ),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM, errno.EROFS),
        "Choose a place that you may write to (--out, where the command has it), or copy the run to one.",
    ),
}
_WORDS_OF_SQLITE = {
    "disk is full": errno.ENOSPC,
    "disk I/O error": errno.EIO,
    "readonly database": errno.EACCES,
}


def cannot_write(path: Path, error: BaseException) -> SuiteError:
    """The error for a file or folder that could not be written, with the way out.

    `error` is the system's, or a database's that repeats the system's words.
    """
    number = error.errno if isinstance(error, OSError) else _number_in(str(error))
    told = first_line(error).rstrip(".") if number is None else os.strerror(number)
    return SuiteError(f"Cannot write {path}: {told}.", way_out(number) or _ELSEWHERE)


def way_out(number: int | None) -> str:
    """What to do about an error of the system, by its number; empty for one that is not about writing."""
    return "" if number is None else _WAYS_OUT.get(number, "")


def takes_no_more(error: BaseException) -> bool:
    """Whether a disk, a quota or a limit is full: whatever the error names, it was not about reading."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _number_in(text: str) -> int | None:
    for words, number in _WORDS_OF_SQLITE.items():
        if words in text:
            return number
    return next((number for number in _WAYS_OUT if os.strerror(number) in text), None)


def temporary_beside(place: Path) -> Path:
    """The temporary name of this process for what is to become `place`."""
    return place.with_name(f".{place.stem}.{os.getpid()}-{_host()}{place.suffix}")


@cache
def _host() -> str:
    return hashlib.sha256(os.uname().nodename.encode()).hexdigest()[:6]


def remove(path: Path) -> None:
    """Remove a temporary file or folder with the journals that databases keep beside theirs, if it is there."""
    for one in (path, path.with_name(f"{path.name}.wal"), path.with_name(f"{path.name}-journal")):
        with suppress(OSError):  # where not even that can be done, another error says why
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one)
            else:
                one.unlink(missing_ok=True)


def sweep(folder: Path, place: Path | None = None) -> None:
    """Remove what dead processes of this machine have left in a folder: all, or what was to become `place`.

    A folder that was put aside by a process that died before it had put the new one in its place comes back.
    """
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError:
        return
    for name in names:
        found = _TEMPORARY.fullmatch(name)
        if not found or found["host"] != _host() or _lives(int(found["pid"])):
            continue
        if place is None or (found["stem"] == place.stem and (found["rest"] or "").startswith(place.suffix)):
            left = folder / name
            if name.endswith(_ASIDE) and not os.path.lexists(home := folder / found["stem"]):
                left.rename(home)
            else:
                remove(left)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@contextmanager
def replacing_folder(place: Path) -> Iterator[Path]:
    """A new folder that takes the place of `place` at once when the block ends well; else it goes.

    Whoever looks finds the old folder or the new one, never some files of each. What is in the old one under a
    name that the new one lacks is taken over. A symlink stays, and its target is replaced.
    """
    target = Path(os.path.realpath(place))
    made = temporary_beside(target)
    try:
        sweep(target.parent, target)
        target.parent.mkdir(parents=True, exist_ok=True)
        made.mkdir()
        yield made
        if target.is_dir():
            _take_over(target, made)
        for path in made.rglob("*"):
            sync(path)
        sync(made)
        _put(made, target)
        sync(target.parent)
    except OSError as error:
        raise cannot_write(place, error) from error
    finally:
        remove(made)


def _take_over(old: Path, new: Path) -> None:
    for path in old.iterdir():
        if path.name.startswith(".") or (new / path.name).exists():
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, new / path.name, symlinks=True)
        else:
            shutil.copy2(path, new / path.name, follow_symlinks=False)


def _put(made: Path, target: Path) -> None:
    if not os.path.lexists(target):
        made.rename(target)
    elif not _exchange(made, target):
        aside = made.with_name(made.name + _ASIDE)
        target.rename(aside)
        try:
            made.rename(target)
        except OSError:
            aside.rename(target)
            raise
        remove(aside)


def _exchange(one: Path, other: Path) -> bool:
    """Let two names change places at once; False where the system or the file system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    at_here, exchange = -100, 2
    if rename(at_here, os.fsencode(one), at_here, os.fsencode(other), exchange) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(other))


def is_aside(place: Path) -> bool:
    """Whether a folder is away for the moment that it takes to put a new one in its place."""
    target = Path(os.path.realpath(place))
    return any(target.parent.glob(f".{target.name}.*{_ASIDE}"))


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk. What is neither is left alone."""
    if path.is_symlink() or not (path.is_file() or path.is_dir()):
        return
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder that may be written to and not be looked into
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that knows no such thing
            raise
    finally:
        os.close(handle)
