"""All checks of a run, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.manifest import read_manifest
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import ExperimentSource
from nsight_suite.unpacking import LIMITS, Limits, look_over
from nsight_suite.verifying import (
    files,
    identity,
    pages,
    pictures,
    rebuilt,
    samples,
    summaries,
    traces,
    verdicts,
)
from nsight_suite.verifying.checks import MORE_MEMORY, Check, Failure, Subject, refuse_large, wants_memory

# By name, in the order in which they run: what is quick and tells most comes first.
CHECKS: Mapping[str, tuple[str, Callable[[Subject], Check]]] = {
    module.NAME: (module.ABOUT, module.check)
    for module in (files, identity, rebuilt, summaries, samples, traces, verdicts, pictures, pages)
}
_MANIFEST = "manifest.json"


def subject_of(
    run: RunFolder,
    *,
    is_bundle: bool = False,
    outside: ExperimentSource | None = None,
    limits: Limits = LIMITS,
) -> Subject:
    """What there is to be verified of a run folder.

    `is_bundle`: it was unpacked from one. `outside` is an experiment outside the project, for its figures.
    Raises SuiteError where it holds links or more than any run, and where run.json cannot be read.
    """
    run = RunFolder(run.path.resolve())
    found = look_over(run.path, limits)
    refuse_large(found)
    run.read_run()
    manifest, wrong = None, ""
    if _MANIFEST in found:
        try:
            manifest = read_manifest(run.manifest)
        except UsageError as error:
            wrong = error.what.replace(str(run.path), run.path.name)
    # In what `share` writes nothing is private.
    shared = manifest is not None and not any(entry.private for entry in manifest.files)
    return Subject(run, found, manifest, wrong, is_bundle or shared, outside)


def verify_run(subject: Subject, skip: Collection[str] = ()) -> Iterator[Check]:
    """The result of every check but those to `skip`, as each is done."""
    for name, (about, check) in CHECKS.items():
        if name in skip:
            yield Check(name, about, missing=("skipped, as asked for",))
            continue
        yield _without_folders(_made(name, about, check, subject), subject)


def _made(name: str, about: str, check: Callable[[Subject], Check], subject: Subject) -> Check:
    try:
        return check(subject)
    # What a stranger's files may hold is without end: whatever breaks a check is its result, and ends no other.
    except Exception as error:
        if wants_memory(error):
            return Check(name, about, ended=MORE_MEMORY)
        why = (
            error.what
            if isinstance(error, SuiteError)
            else f"could not be made: {type(error).__name__}: {error}"
        )
    return Check(name, about, failures=(Failure(name, why),))


def _without_folders(check: Check, subject: Subject) -> Check:
    """Messages name files by their paths inside the run, wherever that lies here."""
    folders = (*subject.plain_folders, subject.run.path)

    def told(text: str) -> str:
        for folder in folders:
            text = text.replace(f"{folder}/", "").replace(str(folder), folder.name)
        return text

    failures = (Failure(told(one.subject), told(one.what)) for one in check.failures)
    return replace(check, failures=tuple(failures), missing=tuple(map(told, check.missing)))
