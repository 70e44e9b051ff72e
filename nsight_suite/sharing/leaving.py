"""What stays behind: private files of the original run, and what does not fit. Each is told with its hash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.errors import SuiteError
from nsight_suite.evidence.reduction import same_report
from nsight_suite.manifest import LeftOut, read_manifest, role_of
from nsight_suite.runfolder import RunFolder, sha256

_REDUCED = "private: the bundle holds under this name what the evidence is built from, without the rest"
_WHY = {
    "log": "private: what a pass printed",
    "records": "an attempt that was made again: no evidence is built from it",
    "build": "of no kind that is published",
}
_PRIVATE_REPORT = "private: a profiler's whole report tells of the machine and its user"

# What a bundle can do without, in the order in which it stays behind; in each step the largest files first.
_OPTIONAL = (
    ("build", ".sass", "too large for the bundle: the machine code beside it gives this text again"),
    ("build", ".ptx", "too large for the bundle: the source beside it is what it was compiled from"),
    ("figure", ".png", "too large for the bundle: `figures` draws it again, and the SVG shows the same"),
    ("build", ".cubin", "too large for the bundle: no number is read from it, and its hash is in the evidence"),
    ("page", ".html", "too large for the bundle: `report` writes it again"),
    ("figure", ".svg", "too large for the bundle: `figures` draws it again"),
)


@dataclass(frozen=True)
class Sized:
    """A file of a draft, and how many bytes of the bundle it takes."""

    path: str
    bytes: int


def left_out(run: RunFolder, draft: RunFolder, dropped: Mapping[str, LeftOut]) -> list[LeftOut]:
    """Every file of the original run that the draft does not hold as it was, also of the run that `run` was
    itself a copy of. `dropped` did not fit."""
    found = [*dropped.values(), *_of_ingested(run)]
    if run.manifest.is_file():
        found += read_manifest(run.manifest).left_out
    for path in _originals(run):
        inside = path.relative_to(run.path).as_posix()
        copy = draft.path / inside
        if inside in dropped:
            continue
        if not copy.is_file() or not same_report(path, copy):
            why = _REDUCED if copy.is_file() else _WHY.get(role_of(inside), _PRIVATE_REPORT)
            found.append(LeftOut(inside, path.stat().st_size, sha256(path), why))
    return list({(one.path, one.sha256): one for one in reversed(found)}.values())


def choose(sizes: Sequence[Sized], excess: int, limit: int, draft: RunFolder) -> dict[str, LeftOut]:
    """The files that stay behind so that a bundle shrinks by `excess` bytes, or all that may.

    Raises SuiteError when there is nothing that it can do without.
    """
    chosen: dict[str, LeftOut] = {}
    for role, suffix, why in _OPTIONAL:
        of_kind = [one for one in sizes if role_of(one.path) == role and one.path.endswith(suffix)]
        for one in sorted(of_kind, key=lambda one: (-one.bytes, one.path)):
            if excess > 0:
                path = draft.path / one.path
                chosen[one.path] = LeftOut(one.path, path.stat().st_size, sha256(path), why)
                excess -= one.bytes
    if not chosen:
        raise SuiteError(
            f"The bundle takes {limit + excess:,} bytes even without all that it can do without; the limit is "
            f"{limit:,}. {_by_role(sizes)}",
            "Give a larger --max-size. What is left is what the numbers are checked with.",
        )
    return chosen


def _by_role(sizes: Sequence[Sized]) -> str:
    totals: dict[str, int] = {}
    for one in sizes:
        role = "manifest" if one.path == "manifest.json" else role_of(one.path)
        totals[role] = totals.get(role, 0) + one.bytes
    told = sorted(totals.items(), key=lambda total: -total[1])
    return "Bytes by role: " + ", ".join(f"{role} {size:,}" for role, size in told) + "."


def _originals(run: RunFolder) -> Iterator[Path]:
    """Reports, builds and logs, those of earlier attempts too. Whatever else is there is no part of the run."""
    for folder in (run.reports, run.logs, run.attempts):
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(run.path)
            is_hidden = any(part.startswith(".") for part in inside.parts)
            if path.is_file() and not is_hidden and role_of(inside.as_posix()) not in ("other", "pass"):
                yield path


def _of_ingested(run: RunFolder) -> Iterator[LeftOut]:
    """The reports that an ingested run was made of, wherever they lie, as run.json knows them."""
    for entry in run.read_run().get("reports", []):
        given = entry["given"]
        yield LeftOut(Path(given["path"]).name, given["bytes"], given["sha256"], _PRIVATE_REPORT)
