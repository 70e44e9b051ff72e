"""Tell what a report, a run or any folder would leak if it were published; the values are never printed.

python -m nsight_suite.scan report.sqlite
python -m nsight_suite.scan RUN --format json

Looked for: environment variables (told by name), credentials, command lines, captured output, hosts, users,
home folders, absolute paths, names of processes. What is compressed or of unknown make can hide more.

Exit status: 0 when nothing was found; 1 when something was, or a part could not be looked into; 2 when a file
could not be read, or is not what its name says.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from nsight_suite.command import run_command

if TYPE_CHECKING:
    from nsight_suite.scanning import Scan

_SHOWN_NAMES = 8


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="nsight-suite scan", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a report, a run, or any folder")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    arguments = parser.parse_args(argv)
    return run_command(lambda: _scan(arguments), unheard=2)


def _scan(arguments: argparse.Namespace) -> int:
    from nsight_suite.scanning import scan

    with _progress() as progress:
        found = scan(arguments.paths, progress)
    if arguments.format == "json":
        print(json.dumps({"format": 1, **asdict(found)}, indent=2))
    else:
        print("\n".join(_lines(found)))
    return found.exit_status


@contextmanager
def _progress() -> Iterator[Callable[[int, int, str], None]]:
    """A bar on a terminal, which goes at the end; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done, total, file: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(24),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(file=sys.stderr), refresh_per_second=5, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, file: bar.update(task, completed=done, total=total, description=file)


def _lines(found: Scan) -> Iterator[str]:
    file = None
    for leak in found.leaks:
        if leak.file != file:
            file = leak.file
            yield file
        names = ", ".join(leak.names[:_SHOWN_NAMES])
        more = f" and {len(leak.names) - _SHOWN_NAMES} more" if len(leak.names) > _SHOWN_NAMES else ""
        yield f"  {leak.count:>7}  {leak.kind:<32} {leak.place:<32} {names}{more}".rstrip()
    for name, reason in found.unreadable:
        yield f"{name}\n  cannot be read: {reason}"
    if found.leaks:
        yield "Values are not shown. A copy of a run without them: python -m nsight_suite.share RUN --out COPY"
    elif not found.unreadable:
        yield "Nothing private was found."


if __name__ == "__main__":
    sys.exit(main())
