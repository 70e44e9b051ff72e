"""Showing how far a run is: a live bar on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from nsight_suite.capturing.records import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PLAIN_EVERY_S = 10.0


class Display(Protocol):
    """What a run tells while it is made."""

    def pass_started(self, name: str, number: int, of: int) -> None: ...

    def pass_kept(self, name: str, number: int, of: int) -> None: ...

    def advanced(self, progress: Progress) -> None: ...

    def pass_ended(self, name: str, reason: str | None, duration_ns: int) -> None: ...


@contextmanager
def display(stream: TextIO | None = None) -> Iterator[Display]:
    """The display that suits the stream, which is standard error unless another is given."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield PlainDisplay(stream)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[number]} {task.fields[name]}", style="bold", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    # Twice a second is enough for people, and keeps the suite off the machine while the driver measures.
    with Bar(*columns, console=Console(file=stream), refresh_per_second=2, transient=True) as bar:
        yield LiveDisplay(bar)


def outcome(reason: str | None, duration_ns: int) -> str:
    return f"failed: {reason}" if reason else f"ok, {duration_ns / 1e9:.1f} s"


class PlainDisplay:
    """A line when a pass starts and ends, and now and then one between."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._name = ""
        self._started = self._last = 0.0

    def pass_started(self, name: str, number: int, of: int) -> None:
        self._name = name
        self._started = self._last = time.monotonic()
        self._say(f"[{number}/{of}] {name} …")

    def pass_kept(self, name: str, number: int, of: int) -> None:
        self._say(f"[{number}/{of}] {name}: finished earlier, kept")

    def advanced(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._last < PLAIN_EVERY_S:
            return
        self._last = now
        left = ""
        if 0 < progress.done <= progress.total:
            seconds = (now - self._started) * (progress.total - progress.done) / progress.done
            left = f", about {seconds:.0f} s left"
        self._say(f"      {self._name}: {progress.done}/{progress.total} {progress.what}{left}")

    def pass_ended(self, name: str, reason: str | None, duration_ns: int) -> None:
        self._say(f"      {name}: {outcome(reason, duration_ns)}")

    def _say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class LiveDisplay:
    """One bar for the pass at work; passes that ended stay as lines above it."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task: TaskID | None = None

    def pass_started(self, name: str, number: int, of: int) -> None:
        self._task = self._bar.add_task("starting", total=None, name=name, number=f"[{number}/{of}]")

    def pass_kept(self, name: str, number: int, of: int) -> None:
        self._say(f"[{number}/{of}] {name}: finished earlier, kept")

    def advanced(self, progress: Progress) -> None:
        if self._task is not None:
            self._bar.update(
                self._task, completed=progress.done, total=progress.total, description=progress.what
            )

    def pass_ended(self, name: str, reason: str | None, duration_ns: int) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None
        self._say(f"{name}: {outcome(reason, duration_ns)}", "red" if reason else "")

    def _say(self, text: str, style: str = "") -> None:
        from rich.text import Text

        self._bar.console.print(Text(text, style))
