"""Ending in good order when the suite itself is asked to end."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible(go_on: str) -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that children are ended; say how to go on.

    `go_on` is the command that takes up the run again.
    """
    on_main_thread = threading.current_thread() is threading.main_thread()
    earlier = {number: signal.signal(number, _unwind) for number in _ENDING} if on_main_thread else {}
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        print(
            f"nsight-suite: ended before all passes were made; finished ones are kept.\n  Go on with: {go_on}",
            file=sys.stderr,
        )
        raise
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _unwind(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
