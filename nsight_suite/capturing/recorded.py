"""The recorded runs that ship with the suite, for machines without a GPU."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from nsight_suite.runfolder import RunFolder, read_json, write_json
from nsight_suite.sources import recorded_runs
from nsight_suite.writing import cannot_write, remove, sweep, temporary_beside


def recorded_run(experiment: str) -> Path | None:
    """The run of this experiment that ships with the suite."""
    return next(
        (run for run in recorded_runs() if read_json(run / "run.json").get("experiment") == experiment), None
    )


def copy_run(recorded: Path, run: RunFolder) -> None:
    """Copy a whole run, so that what is derived from it can be written again. All of it or nothing.

    The copy's run.json says `"source": "recorded"`: nothing in it was measured by whoever made the copy.
    """
    temporary = temporary_beside(run.path)
    try:
        sweep(run.path.parent, run.path)
        # The recorded run may be read-only, as everything that is installed; the copy must not be.
        shutil.copytree(recorded, temporary, copy_function=shutil.copyfile)
        for folder in (temporary, *(path for path in temporary.rglob("*") if path.is_dir())):
            folder.chmod(0o755)
        copy = RunFolder(temporary)
        write_json(copy.run_json, {**copy.read_run(), "source": "recorded"})
        copy.manifest.unlink(missing_ok=True)  # it would tell of another run.json
        temporary.replace(run.path)
    except OSError as error:
        raise cannot_write(run.path, error) from error
    finally:
        remove(temporary)


def origin_of(run: RunFolder) -> str:
    """The device that a run was made on, as its driver told it, and the day."""
    lines = (line for path in sorted(run.reports.glob("*.jsonl")) for line in path.read_text().splitlines())
    devices = dict.fromkeys(record["name"] for record in map(json.loads, lines) if record["table"] == "device")
    return ", ".join([*devices, str(run.read_run()["created_utc"])[:10]])
