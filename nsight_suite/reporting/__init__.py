"""The report of a run: one self-contained HTML file and a Markdown one."""

from __future__ import annotations

from pathlib import Path

from nsight_suite.runfolder import RunFolder, write_text
from nsight_suite.sources import ExperimentSource


def write_report(
    run: RunFolder, folder: Path | None = None, experiment: ExperimentSource | None = None
) -> tuple[Path, Path]:
    """Write report.html and report.md and return their paths.

    `folder` is where they go when the run folder must not be written. `experiment` adds the figures of an
    experiment that lies outside the project. Raises CannotAnswer when the run holds no evidence at all.
    """
    from nsight_suite.reporting.contents import gather
    from nsight_suite.reporting.pages import html, markdown

    report = gather(run, experiment)
    paths = ((folder or run.path) / "report.html", (folder or run.path) / "report.md")
    for path, text in zip(paths, (html(report), markdown(report)), strict=True):
        write_text(path, text)
    return paths
