"""One writer at a time: a folder is held by a lock of the operating system, which ends with its process.

Readers need no lock: what they read is replaced whole.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nsight_suite.errors import UsageError
from nsight_suite.writing import cannot_write, sweep

LOCK = ".nsight-suite.lock"
_LOG = logging.getLogger(__name__)
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)


@contextmanager
def locked(folder: Path, doing: str) -> Iterator[None]:
    """Hold a folder, which is made at need, for the writing of this process alone.

    `doing` says what for, and is told to another process that wants to write. What dead processes have left in
    the folder and in those directly in it is removed.
    Raises UsageError when another process holds the folder, SuiteError when it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    with held(folder / LOCK, folder, doing):
        for one in (folder, *(path for path in folder.iterdir() if path.is_dir())):
            sweep(one)
        yield


@contextmanager
def held(lock: Path, subject: Path, doing: str) -> Iterator[None]:
    """Hold the lock file `lock`, which stands for `subject` and is there only while somebody holds it."""
    handle = _taken(lock, subject)
    try:
        with suppress(OSError):  # on a full disk the lock holds all the same, and only its owner is not told
            os.truncate(handle, 0)
            owner = {"pid": os.getpid(), "host": socket.gethostname(), "doing": doing}
            os.write(handle, json.dumps(owner).encode())
        yield
    finally:
        with suppress(OSError):
            lock.unlink()
        os.close(handle)


def _taken(lock: Path, subject: Path) -> int:
    while True:
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise cannot_write(subject, error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            told = os.pread(handle, 4096, 0)
            os.close(handle)
            raise _refusal(told, subject) from error
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                os.close(handle)
                raise cannot_write(subject, error) from error
            _LOG.warning(
                "nsight-suite: the file system of %s has no locks: let no other process write to it.", subject
            )
            return handle
        with suppress(FileNotFoundError):
            if os.path.samestat(lock.stat(), os.fstat(handle)):
                return handle
        os.close(handle)  # whoever held it has removed it meanwhile


def _refusal(told: bytes, subject: Path) -> UsageError:
    try:
        owner = json.loads(told)
        who = f"process {int(owner['pid'])} on {owner['host']} ({owner['doing']})"
        ending = f"or end it (kill {int(owner['pid'])} on {owner['host']})"
    except (ValueError, KeyError, TypeError):
        who, ending = "its lock is held, and not yet signed", "or see who it is in a moment"
    return UsageError(
        f"Another process is writing to {subject}: {who}.",
        f"Wait for it, {ending}, and do this again. What only reads goes on meanwhile.",
    )
