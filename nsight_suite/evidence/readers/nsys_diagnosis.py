"""What an nsys export says of itself, and what its shape leaves in doubt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nsight_suite.evidence.notes import Doubt
from nsight_suite.evidence.readers.nsys_export import Export, find

if TYPE_CHECKING:
    from nsight_suite.evidence.readers.nsys import Staged

# The newest export schema whose tables were looked at. What a newer one adds is not known here.
NEWEST_SCHEMA = (3, 25)

_CUDA_TABLES = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME")
_NAMES = (("demangledName", "shortName"), ("textId", "text"))
_DROPPED = re.compile(r"\b(drop|dropped|lost|discard|overflow|buffers? full|out of memory)", re.IGNORECASE)
_ENDED = re.compile(
    r"\b(crash|terminat|killed|signal|abort|exit(ed)? (code|with|before)|segmentation)", re.IGNORECASE
)


@dataclass(frozen=True)
class Origin:
    """What an export says of itself. None: it does not say."""

    tool_version: str | None
    schema_version: str | None
    graph_trace: str | None
    cuda_traced: bool | None
    nvtx_traced: bool | None
    time_normalized: bool | None
    time_shift_ns: int | None
    session_start_utc_ns: int | None

    def columns(self) -> dict[str, object]:
        """As columns of `report`."""
        names = ("tool_version", "schema_version", "graph_trace")
        clocks = ("time_normalized", "time_shift_ns", "session_start_utc_ns")
        return {name: getattr(self, name) for name in (*names, *clocks)}


def origin_of(export: Export) -> Origin:
    """The versions, settings and clocks that an export states."""
    told = export.metadata("META_DATA_EXPORT")
    capture = export.metadata("META_DATA_CAPTURE")
    modes = {
        mode.lower()
        for name, values in capture.items()
        if name.endswith("CUDA_GRAPH_TRACE_OPTIONS:MODE")
        for mode in values
    }
    starts = export.rows(find(export, "TARGET_INFO_SESSION_START_TIME") or "", ("utcEpochNs",))
    shift = told.get("EXPORT_PARAM_TIME_SHIFT", [""])[0]
    return Origin(
        tool_version=told.get("EXPORT_PRODUCT_VERSION", [None])[0],
        schema_version=told.get("EXPORT_SCHEMA_VERSION", [None])[0],
        graph_trace=modes.pop() if len(modes) == 1 else None,
        cuda_traced=_traced(capture, "CUDA"),
        nvtx_traced=_traced(capture, "NVTX"),
        time_normalized=_truth(told.get("EXPORT_PARAM_TIME_NORMALIZE", [""])[0]),
        time_shift_ns=int(shift) if re.fullmatch(r"-?[0-9]{1,18}", shift) else None,
        session_start_utc_ns=starts[0][0] if starts and isinstance(starts[0][0], int) else None,
    )


def doubts_of_export(export: Export, origin: Origin, staged: Mapping[str, Staged]) -> Iterator[Doubt]:
    """What cannot be answered from the tables and columns that the export has."""
    yield from _doubts_of_version(origin)
    yield from _doubts_of_tables(export, staged)
    kernels = find(export, "CUPTI_ACTIVITY_KIND_KERNEL")
    # With --lazy=false nsys writes every table, also those of what it did not trace: empty they prove nothing.
    if kernels is None or (origin.cuda_traced is False and not export.size(kernels)):
        code = "cuda-not-traced" if origin.cuda_traced is False else "no-kernel-table"
        yield code, "CUPTI_ACTIVITY_KIND_KERNEL", _why_no_kernels(export, origin)
    elif find(export, "CUPTI_ACTIVITY_KIND_RUNTIME") is None:
        told = (
            "The export has kernels and no CUDA API calls, so no kernel belongs to a launch or a range. "
            "Capture with -t cuda,nvtx, and export all tables of the report."
        )
        yield "no-api-table", "CUPTI_ACTIVITY_KIND_RUNTIME", told
    if find(export, "NVTX_EVENTS") is None:
        if origin.nvtx_traced is False:
            told = "NVTX was not traced, so no kernel belongs to a range. Capture with -t cuda,nvtx."
        else:
            told = (
                "The export has no NVTX events, so no kernel belongs to a range or case. Capture with "
                "-t cuda,nvtx, and check that the program makes ranges."
            )
        yield "no-range-table", "NVTX_EVENTS", told
    strings = find(export, "StringIds")
    if strings is None:
        told = "The export has no table StringIds, so all names are numbers. Export all tables of the report."
        yield "no-string-table", "StringIds", told
    elif strings.casefold() != "stringids":
        yield _in_place_of("StringIds", strings)
    yield from _doubts_of_diagnostics(export)
    trace = None if any(find(export, table) for table in _CUDA_TABLES) else _traces_of_cuda(export)
    if trace:
        yield (
            "program-ended-early",
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            f"{trace} shows that the program used CUDA, yet none of its calls is there: it was killed or "
            "crashed before its records were written. The report holds what was recorded of it until then.",
        )


def _traces_of_cuda(export: Export) -> str | None:
    """A table with rows that nsys only writes for a program that uses CUDA."""
    tables = (
        find(export, name) for name in ("CUDA_GRAPH_EVENTS", "CUDA_GRAPH_NODE_EVENTS", "PROFILER_OVERHEAD")
    )
    return next((table for table in tables if table and export.size(table)), None)


def telling_words(export: Export) -> list[str]:
    """The words in nsys' own messages that tell of dropped records or of how the program ended."""
    table = find(export, "DIAGNOSTIC_EVENT")
    texts = [str(text) for (text,) in export.rows(table, ("text",)) if text] if table else []
    return [
        match[0]
        for text in texts
        for kind in (_DROPPED, _ENDED)
        if (match := kind.search(text)) and not _of_none(text, match)
    ]


def _of_none(text: str, match: re.Match[str]) -> bool:
    """Whether a message tells of nothing at all: '0 events were dropped', 'exited with exit code: 0'."""
    behind = re.findall(r"[0-9]+", text[match.end() : match.end() + 24])
    before = re.findall(r"[0-9]+", text[max(match.start() - 24, 0) : match.start()])
    numbers = behind[:1] or before[-1:]
    return bool(numbers) and int(numbers[0]) == 0


def _why_no_kernels(export: Export, origin: Origin) -> str:
    if origin.cuda_traced is False:
        return "CUDA was not traced. Capture again with nsys profile -t cuda,nvtx."
    told = "The export has no table of kernels: none was recorded while it was captured. "
    if (api := find(export, "CUPTI_ACTIVITY_KIND_RUNTIME")) and (calls := export.size(api)):
        told += f"It has {calls} CUDA API calls, so the device's own records are missing. "
    return told + "The number of kernels is unknown, not zero. Check that the program ran on a GPU to its end."


def _doubts_of_tables(export: Export, staged: Mapping[str, Staged]) -> Iterator[Doubt]:
    for entry in staged.values():
        table = find(export, entry.table)
        if table is None:
            continue
        if table.casefold() != entry.table.casefold():
            yield _in_place_of(entry.table, table)
        present = export.columns_of(table)
        missing = [f"{table}.{name}" for name in entry.needed if name not in present]
        # A name may stand in one column or the other.
        for one, other in _NAMES:
            if one in entry.columns and not {one, other} & present:
                missing += [f"{table}.{one}", f"{table}.{other}"]
        if missing:
            yield (
                "missing-column",
                ", ".join(missing),
                "The export lacks columns that attribution needs. Export the report again with another nsys.",
            )


def _in_place_of(table: str, version: str) -> Doubt:
    return "versioned-table", version, f"{table} is not there; {version} was read in its place."


def _doubts_of_version(origin: Origin) -> Iterator[Doubt]:
    version = origin.schema_version
    match = re.fullmatch(r"([0-9]+)\.([0-9]+)(\..*)?", version or "")
    newest = ".".join(map(str, NEWEST_SCHEMA))
    if not match:
        told = "no version of its schema" if version is None else f"'{version}' as the version of its schema"
        yield (
            "schema-unknown",
            "EXPORT_SCHEMA_VERSION",
            f"The export states {told}. It is read by the tables and columns that it has.",
        )
    elif int(match[1]) > NEWEST_SCHEMA[0]:
        yield (
            "schema-newer-major",
            version or "",
            f"The export's schema {version} is a generation newer than {newest}, the newest that is known. "
            "Columns may have another meaning: check some figures against nsys stats before they are used.",
        )
    elif (int(match[1]), int(match[2])) > NEWEST_SCHEMA:
        yield (
            "schema-newer-minor",
            version or "",
            f"The export's schema {version} is newer than {newest}. All columns that are needed were looked "
            "for; what is new in it is not read.",
        )


def _doubts_of_diagnostics(export: Export) -> Iterator[Doubt]:
    """nsys' own messages. Their texts may hold paths, so only what kind they are is told."""
    words = telling_words(export)
    if dropped := sum(bool(_DROPPED.search(word)) for word in words):
        yield (
            "records-dropped",
            "DIAGNOSTIC_EVENT",
            f"{dropped} messages of nsys say that records were dropped or lost, so counts and sums may be too "
            "low. Capture a shorter stretch, or fewer kinds of events.",
        )
    if ended := sum(bool(_ENDED.search(word)) for word in words):
        yield (
            "program-ended-early",
            "DIAGNOSTIC_EVENT",
            f"{ended} messages of nsys say how the program ended: it may have crashed or been stopped. "
            "The report holds what was recorded until then.",
        )


def _traced(capture: Mapping[str, list[str]], what: str) -> bool | None:
    """Whether a kind of events was collected: by the list of event types, else by the settings of the
    processes."""
    if events := capture.get("CAPTURE_EVENT_TYPE"):
        return any(event.upper().startswith(what) for event in events)
    settings = [
        value.lower()
        for name, values in capture.items()
        if name.endswith(f":COLLECT_{what}_TRACE")
        for value in values
    ]
    return "true" in settings if settings else None


def _truth(text: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower())
