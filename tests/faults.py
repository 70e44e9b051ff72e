"""Making the system fail, or the process die, at the n-th call that changes a folder.

with faults(5, full_disk) as seen:   # the fifth such call raises ENOSPC
    write_text(path, "text")
assert seen.calls >= 5, "or there were fewer"
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn
from unittest import mock

from nsight_suite import writing
from nsight_suite.evidence import build, sqlite, store, tables

# What needs room on the disk, and what only takes things away.
GIVING = ("rename", "replace", "mkdir", "link", "fsync")
TAKING = ("unlink", "rmdir")


# Evidence of these alone is written, read and broken like all of it, in a tenth of the time.
TABLES = ("kernel", "sync")


@contextmanager
def few_tables() -> Iterator[None]:
    """Evidence has no table but TABLES, and no evidence.duckdb, whose views need the others."""
    few = {name: tables.tables()[name] for name in TABLES}
    with ExitStack() as patched:
        for module in (store, sqlite):
            patched.enter_context(mock.patch.object(module, "tables", return_value=few))
        patched.enter_context(mock.patch.object(build, "write_duckdb"))
        yield


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process grows beyond `size` bytes: what SQLite and DuckDB write fails there, too."""
    earlier = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, earlier[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, earlier)


@dataclass
class Seen:
    """How many calls there were."""

    calls: int = 0


def full_disk() -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def faults(number: int, strike: Callable[[], None], *, taking: bool = False) -> Iterator[Seen]:
    """Strike in place of the `number`-th call; `taking` counts calls that remove, too."""
    seen = Seen()

    def struck(
        call: Callable[..., Any], counts: Callable[..., bool] = lambda *_, **__: True
    ) -> Callable[..., Any]:
        def instead(*words: Any, **named: Any) -> Any:
            if counts(*words, **named):
                seen.calls += 1
                if seen.calls == number:
                    strike()
            return call(*words, **named)

        return instead

    def makes(path: object, flags: int, *_: object, **__: object) -> bool:
        return bool(flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR))

    def writes(file: object, mode: str = "r", *_: object, **__: object) -> bool:
        return not isinstance(file, int) and mode[0] in "wax"

    with ExitStack() as patched:
        for name in (*GIVING, *(TAKING if taking else ())):
            patched.enter_context(mock.patch.object(os, name, struck(getattr(os, name))))
        patched.enter_context(mock.patch.object(os, "open", struck(os.open, makes)))
        for module in (io, builtins):
            patched.enter_context(mock.patch.object(module, "open", struck(module.open, writes)))
        patched.enter_context(mock.patch.object(writing, "_exchange", struck(writing._exchange)))
        yield seen
