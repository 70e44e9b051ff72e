"""The folder of a run: choosing it, holding it for one process, and keeping the protocol in it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.runfolder import RunFolder, replacing


def choose_folder(out: Path | None, name: str) -> tuple[RunFolder, str]:
    """The folder for a new run, which is not made yet, and the run's id: `name` and the local time.

    Raises UsageError when `out` holds anything already.
    """
    run_id = f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    if out is None:
        folder = Path("runs") / run_id
        number = 2
        while folder.exists():
            folder = Path("runs") / f"{run_id}-{number}"
            number += 1
        return RunFolder(folder), folder.name
    if out.exists() and not out.is_dir():
        raise UsageError(f"'{out}' is a file.", "Give --out a folder that does not exist yet.")
    if (out / "run.json").is_file():
        raise UsageError(
            f"'{out}' already holds a run.", f"Continue it with --resume {out}, or give a new folder."
        )
    if out.is_dir() and any(out.iterdir()):
        raise UsageError(f"'{out}' is not empty, and no run.", "Give --out a folder that does not exist yet.")
    return RunFolder(out), run_id


@contextmanager
def locked(run: RunFolder) -> Iterator[None]:
    """Hold a run for this process alone. Raises UsageError when another one works on it."""
    try:
        run.path.mkdir(parents=True, exist_ok=True)
        handle = os.open(run.path, os.O_RDONLY)
    except OSError as error:
        raise SuiteError(f"Cannot use the folder {run.path}: {error.strerror}.") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageError(
            f"Another process is working on the run {run.path}.", "Wait for it to end, or give another folder."
        ) from error
    else:
        yield
    finally:
        os.close(handle)


def copy_protocol(run: RunFolder, protocol: Path, expected: Path) -> None:
    """Keep the protocol and the expectations that a run is made with beside its results; what exists stays."""
    for source, target in ((protocol, run.protocol), (expected, run.expected)):
        if source.is_file() and not target.exists():
            with replacing(target) as temporary:
                shutil.copyfile(source, temporary)
