"""The report of a run: one self-contained HTML file and a Markdown one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nsight_suite.runfolder import RunFolder, write_text

if TYPE_CHECKING:
    from nsight_suite.drawing import Drawn
    from nsight_suite.reconciliation import Reconciliation


def write_report(
    run: RunFolder, reconciliation: Reconciliation | None, drawn: Drawn, folder: Path, called: str = ""
) -> tuple[Path, Path]:
    """Write report.html and report.md into a folder and return their paths. The same run gives the same bytes.

    `called` stands for the run in the commands that it tells, else the run's path as it is seen from here.
    There is no reconciliation of a run that was ingested: nothing declares what its reports should show.
    Raises CannotAnswer when the run holds no evidence at all.
    """
    from nsight_suite.reporting.contents import gather
    from nsight_suite.reporting.pages import html, markdown

    report = gather(run, reconciliation, drawn, called)
    paths = (folder / "report.html", folder / "report.md")
    for path, text in zip(paths, (html(report), markdown(report)), strict=True):
        write_text(path, text)
    return paths
