"""Reports that are read into one run must be of one machine and one program, unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from nsight_suite.errors import BadReport, UsageError
from nsight_suite.evidence.identity import Identity, identity
from nsight_suite.evidence.ingested import LooseReport

# The values themselves may be private: a message tells only what differs.
_TOLD = {
    "hosts": "of another host",
    "gpu_uuids": "of other GPUs (by their UUID)",
    "gpu_names": "of another model of GPU",
    "commands": "of another program",
    "programs": "of other processes (by their name)",
}


class CannotMerge(UsageError):
    """Reports that do not belong to one run."""


def refuse_strangers(reports: Sequence[LooseReport]) -> None:
    """Raise CannotMerge when two reports tell of different machines or programs.

    Only what both tell is compared: a report that tells nothing merges with any. One that cannot be read is
    passed over; its reader will say so.
    """
    known: list[tuple[LooseReport, Identity]] = []
    if len(reports) < 2:
        return
    for report in reports:
        try:
            its = identity(report.path, report.form)
        except (BadReport, OSError):
            continue
        for other, theirs in known:
            if differences := its.differences(theirs):
                what = " and ".join(_TOLD[name] for name in differences)
                raise CannotMerge(
                    f"{report.file} is {what} than {other.file}, so they are not reports of one run.",
                    "Ingest each into a run of its own, or merge them all the same with --merge-anyway.",
                )
        known.append((report, its))
