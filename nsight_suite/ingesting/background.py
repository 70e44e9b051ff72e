"""Long work beside the main thread, so that Ctrl-C and SIGTERM are heard at once.

DuckDB hears a signal only while the thread that called it happens to run Python; a thread that only waits
hears it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NoReturn

from nsight_suite.evidence.ingested import Progress
from nsight_suite.evidence.store import Connection

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_PATIENCE_S = 10.0
_TICK_S = 0.05


class Abandoned(BaseException):
    """Raised in the working thread when nobody waits for it any longer; no reader catches it."""


@dataclass
class Outcome:
    """What the working thread leaves behind: an answer, or the error that ended it."""

    answer: Any = None
    error: BaseException | None = None
    abandoned: threading.Event = field(default_factory=threading.Event)
    finished: threading.Event = field(default_factory=threading.Event)

    def guarded(self, progress: Progress) -> Progress:
        """The same progress; reporting it ends the thread once it is abandoned."""

        def report(done: int, total: int, what: str) -> None:
            if self.abandoned.is_set():
                raise Abandoned
            progress(done, total, what)

        return report


def in_background(
    connection: Connection, progress: Progress, work: Callable[[Progress], Any], clean_up: Callable[[], None]
) -> Any:
    """Do `work` on a thread of its own and wait for it; returns its answer or raises its error.

    An interruption ends the query that runs and then the thread, at its next report of progress. A thread that
    does neither within ten seconds takes the process with it, after `clean_up`.
    """
    outcome = Outcome()

    def run() -> None:
        try:
            outcome.answer = work(outcome.guarded(progress))
        except BaseException as error:
            outcome.error = error
        finally:
            outcome.finished.set()

    threading.Thread(target=run, name="ingest", daemon=True).start()
    try:
        # Not `join`: interrupted on Python 3.11 it takes the thread for ended.
        while not outcome.finished.wait(_TICK_S):
            pass
    except BaseException as interruption:
        outcome.abandoned.set()
        _end(outcome, connection, interruption, clean_up)
        raise
    if outcome.error:
        raise outcome.error
    return outcome.answer


def _end(
    outcome: Outcome, connection: Connection, interruption: BaseException, clean_up: Callable[[], None]
) -> None:
    limit = time.monotonic() + _PATIENCE_S
    while not outcome.finished.is_set() and time.monotonic() < limit:
        connection.interrupt()
        outcome.finished.wait(_TICK_S)
    if not outcome.finished.is_set():
        clean_up()
        print("nsight-suite: interrupted", file=sys.stderr, flush=True)
        os._exit(interruption.code if isinstance(interruption, SystemExit) else 130)  # type: ignore[arg-type]


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that nothing unfinished stays."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = {number: signal.signal(number, _unwind) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _unwind(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
