"""The folder of a run: choosing it, and keeping the protocol in it."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

from nsight_suite.errors import UsageError
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


def copy_protocol(run: RunFolder, protocol: Path, expected: Path) -> None:
    """Keep the protocol and the expectations that a run is made with beside its results; what exists stays."""
    for source, target in ((protocol, run.protocol), (expected, run.expected)):
        if source.is_file() and not target.exists():
            with replacing(target) as temporary:
                shutil.copyfile(source, temporary)
