"""The report of a bundle written again: what a reader is told is what this evidence says."""

from __future__ import annotations

import tempfile
from itertools import zip_longest
from pathlib import Path

from nsight_suite import __version__
from nsight_suite.drawing import Drawn
from nsight_suite.reporting import write_report
from nsight_suite.verifying.checks import Check, Findings, Subject
from nsight_suite.verifying.pictures import PROVENANCE, other_versions

NAME = "report"
ABOUT = "the report written again says the same, line by line"

_PAGES = ("report.html", "report.md")
_WITH_FIGURES = ("report.html",)
# In a bundle the run goes by this name, since its reader is in its folder.
_HERE = "."
_LONGEST = 200
_POLICY = "Content-Security-Policy"


def check(subject: Subject) -> Check:
    """The pages of a bundle against those that its evidence gives here."""
    found = Findings()
    pages = [page for page in _PAGES if page in subject.files]
    if not pages:
        found.miss("the run holds no report")
    elif not subject.is_bundle:
        found.miss(
            "the report of a run folder tells where it was written; only that of a bundle can be compared"
        )
    else:
        with found.readable("report"), tempfile.TemporaryDirectory() as folder:
            ingested = subject.run.is_ingested()
            drawn, judged = (Drawn((), {}), None) if ingested else (subject.drawn, subject.reconciliation)
            html, _ = write_report(subject.run, judged, drawn, Path(folder), _HERE)
            dressed = html.name not in pages or _dress(html) == _dress(subject.path(html.name))
            for page in pages:
                others = _others(subject, page, drawn)
                if not dressed:
                    others.append("its style or script is another than this suite's, so its words may be too")
                if others:
                    found.miss(f"{page}, line by line: {', '.join(others)}")
                else:
                    found.count("pages written again")
                    _compare(subject, page, Path(folder) / page, found)
    return found.as_check(NAME, ABOUT)


def _dress(page: Path) -> str:
    """The line by which a page allows its style and script, by their hashes."""
    with page.open(encoding="utf-8", errors="replace") as lines:
        return next((line for line in lines if _POLICY in line), "")


def _others(subject: Subject, page: str, drawn: Drawn) -> list[str]:
    """Versions of the suite, and of what drew the figures that the page holds, other than those here."""
    assert subject.manifest
    wrote = subject.manifest.suite_version
    found = (
        [] if wrote == __version__ else [f"it is of version {wrote} of the suite, and this is {__version__}"]
    )
    for drawing in drawn.drawings if page in _WITH_FIGURES else ():
        path = f"figures/{drawing.source.name}{PROVENANCE}"
        if path in subject.files:
            found += other_versions(subject.json(path), drawing.provenance)
        else:
            found.append(f"{path} is not here, so nothing tells what drew its figures")
    return list(dict.fromkeys(found))


def _compare(subject: Subject, page: str, again: Path, found: Findings) -> None:
    told, now = (path.read_bytes() for path in (subject.path(page), again))
    if told == now:
        return
    lines = zip_longest(told.decode(errors="replace").split("\n"), now.decode(errors="replace").split("\n"))
    for number, (mine, other) in enumerate(lines, start=1):
        if mine != other:
            one, two = _around(mine or "", other or "")
            found.fail(page, f"line {number} says {one!r}; this suite writes {two!r} of the same evidence")
            return


def _around(one: str, other: str) -> tuple[str, str]:
    """Two texts from a little before where they begin to differ."""
    at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
    begin = max(0, at - _LONGEST // 4)
    return one[begin : begin + _LONGEST], other[begin : begin + _LONGEST]
