"""Every file of the manifest hashed again: dropped, added and changed ones are named."""

from __future__ import annotations

from collections.abc import Iterator

from nsight_suite.errors import SuiteError
from nsight_suite.manifest import LeftOut
from nsight_suite.runfolder import sha256
from nsight_suite.verifying.checks import Check, Findings, Subject

NAME = "files"
ABOUT = "every file has the size and SHA-256 that the manifest tells"

_MANIFEST = "manifest.json"
# The suite makes these from the evidence whenever it opens a run.
_STORES = ("evidence.duckdb", "evidence.sqlite")
# What may be made of a finished run at any time.
_LATER = ("figures/", "summaries/", "report.html", "report.md", "reconciliation.json")


def check(subject: Subject) -> Check:
    """Files against the manifest; without one, those that the passes recorded against their records."""
    found = Findings()
    if subject.manifest_error:
        found.fail(_MANIFEST, subject.manifest_error)
    if subject.manifest:
        _against_manifest(subject, found)
    else:
        if not subject.manifest_error:
            found.miss("there is no manifest: most files have no hash to be checked against")
        _against_passes(subject, found)
    links = sum(status.st_nlink > 1 for status in subject.files.values())
    if links:
        found.note(f"{links} files have other names elsewhere (hard links): who writes there changes them here")
    return found.as_check(NAME, ABOUT)


def _against_manifest(subject: Subject, found: Findings) -> None:
    assert subject.manifest
    told = {entry.path: entry for entry in subject.manifest.files}
    for path, entry in told.items():
        if path not in subject.files:
            found.fail(path, "was dropped: the manifest names it, and it is not here")
            continue
        found.count("files")
        _compare(subject, found, path, entry.bytes, entry.sha256)
    for path in subject.files.keys() - told.keys() - {_MANIFEST}:
        if path in _STORES:
            found.note(f"{path} is not part of what is verified: it is made from the evidence at need")
        elif not subject.is_bundle and path.startswith(_LATER):
            found.note(f"{path} was made after the manifest, which does not vouch for it")
        elif subject.is_bundle or not _passing(path):
            found.fail(path, "was added: the manifest does not name it")
    for left in subject.manifest.left_out:
        if left.path in subject.files and left.path not in told:
            found.count("files left out that are here now")
            _compare(subject, found, left.path, left.bytes, left.sha256)
        else:
            found.miss(_left_out(left))


def _left_out(left: LeftOut) -> str:
    return f"{left.path} as it was ({left.why}): {left.bytes} bytes, SHA-256 {left.sha256}"


def _passing(path: str) -> bool:
    """A pass in progress, and temporary names: never part of a run."""
    return path.startswith("work/") or any(part.startswith(".") for part in path.split("/"))


def _against_passes(subject: Subject, found: Findings) -> None:
    with found.readable("passes"):
        for path, size, digest, private in _recorded(subject):
            if path in subject.files:
                found.count("files that passes recorded")
                _compare(subject, found, path, size, digest)
            elif private:
                found.miss(f"{path} is private and stayed where it was made: SHA-256 {digest}")
            else:
                found.fail(path, "was dropped: its pass recorded it, and it is not here")


def _recorded(subject: Subject) -> Iterator[tuple[str, int, str, bool]]:
    for record in subject.run.pass_records().values():
        for entry in record["artifacts"]:
            yield entry["path"], entry["bytes"], entry["sha256"], entry["private"]


def _compare(subject: Subject, found: Findings, path: str, size: int, digest: str) -> None:
    there = subject.files[path].st_size
    if there != size:
        found.fail(path, f"was changed: it has {there} bytes, not {size}")
        return
    try:
        now = sha256(subject.path(path))
    except OSError as error:
        raise SuiteError(f"{path} cannot be read: {error.strerror}.") from error
    if now != digest:
        found.fail(path, f"was changed: its SHA-256 is {now}, not {digest}")
