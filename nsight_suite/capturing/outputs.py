"""What a pass leaves: its files in reports/ and logs/, and moving them there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nsight_suite.capturing.passes import PassPlan, Step
from nsight_suite.capturing.records import end_of_records
from nsight_suite.plan import KEEPS_BUILDS
from nsight_suite.runfolder import RunFolder, sha256


def places(run: RunFolder, name: str, outputs: Iterable[str]) -> Iterator[Path]:
    """Where the files of a pass lie once it has ended; `outputs` are its names in reports/."""
    yield from (run.reports / output for output in outputs)
    yield from sorted(run.builds(name).glob("*"))
    yield run.logs / f"{name}.log"


def artifacts(run: RunFolder, paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Those files that are there, with their hashes. Only driver records are fit for other eyes."""
    return [
        {
            "path": path.relative_to(run.path).as_posix(),
            "bytes": path.stat().st_size,
            "sha256": sha256(path),
            "private": path.suffix != ".jsonl",
        }
        for path in paths
        if path.is_file()
    ]


def keep_outputs(run: RunFolder, plan: PassPlan) -> None:
    """Move whatever the steps wrote to reports/: what was measured before a failure stays usable."""
    work = run.work / plan.name
    run.reports.mkdir(parents=True, exist_ok=True)
    for step in plan.steps:
        for name in step.outputs:
            if name != step.records and _is_plain(work / name):
                (work / name).replace(run.reports / name)
    if records := _records_to_keep(plan.steps, work):
        records.replace(run.reports / f"{plan.name}.jsonl")
    _keep_builds(run, plan)


def _keep_builds(run: RunFolder, plan: PassPlan) -> None:
    """Source, log, PTX, machine code and its text of every kernel, and the dumps of the graphs."""
    made = run.work / plan.name / "build"
    if plan.name in KEEPS_BUILDS and made.is_dir() and not made.is_symlink():
        run.builds(plan.name).parent.mkdir(parents=True, exist_ok=True)
        made.replace(run.builds(plan.name))


def _is_plain(path: Path) -> bool:
    """A file of the pass itself: what a link leads to may be anybody's."""
    return path.is_file() and not path.is_symlink()


def _records_to_keep(steps: tuple[Step, ...], work: Path) -> Path | None:
    """The driver's records; of several driver runs the first that did not end well, else the first."""
    paths = [work / step.records for step in steps if step.records and _is_plain(work / step.records)]
    bad = [path for path in paths if (end_of_records(path) or {}).get("state") != "ok"]
    return next(iter(bad or paths), None)
