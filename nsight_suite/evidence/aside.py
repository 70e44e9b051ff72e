"""Work in a thread of its own, while this one goes on or waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Aside(Generic[_T]):
    """`work`, begun in a thread of its own.

    It is a thread pool's submit() without the pool: importing that takes longer than many a question.
    """

    def __init__(self, work: Callable[[], _T]) -> None:
        self._found: list[_T] = []
        self._error: BaseException | None = None
        self._ended = threading.Event()
        try:
            threading.Thread(target=self._run, args=(work,)).start()
        except RuntimeError:  # the system gives no more threads
            self._run(work)

    def _run(self, work: Callable[[], _T]) -> None:
        try:
            self._found.append(work())
        except BaseException as error:  # it is raised where the result is asked for
            self._error = error
        finally:
            self._ended.set()

    def wait(self) -> None:
        """Wait for the end. Ctrl-C is heard, and the work goes on."""
        self._ended.wait()

    def result(self) -> _T:
        """What the work gave, waited for; raises what it raised."""
        self.wait()
        error, self._error = self._error, None
        if error is None:
            return self._found[0]
        try:
            raise error
        finally:
            del error  # or it, its traceback and this frame would keep each other
