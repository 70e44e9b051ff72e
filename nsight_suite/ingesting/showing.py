"""How far an ingest is: a bar with the time left on a terminal, a few plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

PLAIN_EVERY_S = 5.0


class Display(Protocol):
    """What is told while a run is made. `total` is 0 where nobody knows how much there is."""

    def started(self, what: str, number: int, of: int) -> None: ...

    def advanced(self, done: int, total: int, what: str) -> None: ...

    def told(self, text: str) -> None: ...


@contextmanager
def display(quiet: bool, stream: TextIO | None = None) -> Iterator[Display]:
    """The display that suits the stream, which is standard error unless another is given."""
    stream = stream or sys.stderr
    if quiet:
        yield NoDisplay()
        return
    if not stream.isatty():
        yield PlainDisplay(stream)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[number]} {task.fields[name]}", style="bold", markup=False),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(file=stream), refresh_per_second=5, transient=True) as bar:
        yield LiveDisplay(bar)


class NoDisplay:
    def started(self, what: str, number: int, of: int) -> None: ...

    def advanced(self, done: int, total: int, what: str) -> None: ...

    def told(self, text: str) -> None: ...


class PlainDisplay:
    """A line when a report is begun, and now and then one between with the time left."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._name = ""
        self._started = self._last = 0.0

    def started(self, what: str, number: int, of: int) -> None:
        self._name = what
        self._started = self._last = time.monotonic()
        self.told(f"[{number}/{of}] {what} …")

    def advanced(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if now - self._last < PLAIN_EVERY_S:
            return
        self._last = now
        share = left = ""
        if 0 < done <= total:
            seconds = (now - self._started) * (total - done) / done
            share, left = f" {100 * done // total} %", f", about {seconds:.0f} s left"
        self.told(f"      {self._name}: {what}{share}{left}")

    def told(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class LiveDisplay:
    """One bar for the report at work."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None, name="", number="")

    def started(self, what: str, number: int, of: int) -> None:
        self._begin("", what, f"[{number}/{of}]")

    def advanced(self, done: int, total: int, what: str) -> None:
        (task,) = self._bar.tasks
        if not total and task.total is not None:
            self._begin(what, task.fields["name"], task.fields["number"])
            return
        self._bar.update(self._task, completed=done, total=total or None, description=what)

    def _begin(self, what: str, name: str, number: str) -> None:
        """Another task in place of the last: how much there is cannot be taken back from one of rich's."""
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(what, total=None, name=name, number=number)

    def told(self, text: str) -> None:
        from rich.text import Text

        self._bar.console.print(Text(text))
