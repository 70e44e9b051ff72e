"""What is wrong with a file of ncu that holds no table of workloads, in words of its own for each kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from nsight_suite.errors import BadReport
from nsight_suite.evidence.paths import without_paths

EXPORT = "ncu --import R.ncu-rep --csv --page raw --print-units base"
_AVAILABLE = re.compile(r"^[ \t]*[0-9]+\.[ \t]+(\S.*)$", re.MULTILINE)
_KNOWN_COLUMNS = frozenset(
    {
        "ID",
        "Process ID",
        "Kernel Name",
        "Section Name",
        "Metric Name",
        "Metric Unit",
        "Metric Value",
        "Grid Size",
    }
)
_FAILURES = (
    ("Could not open report file", "ncu could not open the report: there is none of that name"),
    ("does not exist or is not a regular file", "ncu could not open the report: there is none of that name"),
    ("not an Nsight Compute profiler report", "ncu could not load the report: it is no Nsight Compute report"),
    ("File is too small", "ncu could not load the report: it is empty or cut off"),
    (
        "unexpected incompatibility",
        "this ncu cannot read the report: it is damaged, or of another version of ncu",
    ),
    ("newer version", "this ncu is too old for the report"),
    ("created in a newer", "this ncu is too old for the report"),
    ("Failed to load report file", "ncu could not load the report"),
)
# What kind an error is of stands at its beginning.
_LONGEST_ERROR = 1000
# Codes stand in the drivers' and the tool's own headers, so they tell nothing of who ran what.
_CODE = re.compile(r"\b(ERR_NV[A-Z]+|(CUDA_ERROR|CUDBG|NVPA_STATUS|NVPW|CUPTI_ERROR)_[A-Z_]+)\b")
_ERRORS = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"application returned an error code \(?(-?\d{1,10})\b", "the program returned an error code ({0})"),
        (r"application returned an error", "the program returned an error"),
        (r"signal \(?(\d{1,3})\b", "the program was ended by a signal ({0})"),
        (r"application (crashed|terminated|was terminated)", "the program crashed or was stopped"),
        (r"out of memory|not enough memory", "there was not enough memory"),
        (r"no space left", "there was no space left to write"),
        (
            r"driver resource|resource.*unavailable|another (instance|tool|profiler)",
            "the GPU's counters were in use",
        ),
        (r"failed to (profile|collect|replay)", "a kernel could not be profiled"),
        (r"failed to prepare", "a kernel could not be prepared for profiling"),
        (
            r"(find|unknown|invalid|unsupported) (metric|section|rule)",
            "a metric or section is unknown",
        ),
        (r"(unrecogni[sz]ed|unknown|ambiguous|invalid) (option|argument)", "an option of ncu is not right"),
        (r"driver.*(version|incompatible|not supported)", "the driver does not suit ncu"),
        (r"(gpu|device|architecture).*not supported", "the GPU is not supported"),
        (r"(open|load|read|import).*report|report.*(not|cannot|could)", "a report could not be read"),
        (r"(write|save|create|export).*(file|report)|could not write", "a file could not be written"),
        (r"(connect|connection|launch|attach|interprocess)", "ncu could not start the program or reach it"),
        (r"permission|not permitted|denied", "the system denied something"),
    )
)
# As ncu names its columns: words, perhaps with a unit or a number.
_COLUMN = re.compile(r"[A-Za-z#][\w #%().:/+-]{0,59}")
_LONG_WORD = re.compile(r"\w{25}")


def refusal(text: str, name: str) -> BadReport:
    """Why there is nothing to read in `text`, the output of ncu; `name` is the file's."""
    if not text.strip():
        return BadReport(f"{name} is empty.", f"Export it again with {EXPORT}.")
    if error := failure(text, name) or _other_page(text, name):
        return error
    told = "".join(f": {line}" for line in tool_errors(text)[:1])
    seen = _columns_seen(text)
    return BadReport(
        f"{name} has no header with 'ID' and 'Kernel Name'{told or seen}",
        f"Export it again with {EXPORT}.",
    )


def failure(text: str, name: str) -> BadReport | None:
    """What ncu itself says has gone wrong, whatever its exit status was; None when nothing."""
    if "ERR_NVGPUCTRPERM" in text:
        return BadReport(
            f"{name} has no counters: the user may not read them (ERR_NVGPUCTRPERM).",
            "Run as root or with CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0.",
        )
    if re.search("No (kernels|ranges|graphs|workloads) were profiled", text):
        if errors := tool_errors(text):
            return BadReport(
                f"{name} has no counters: nothing was profiled, and ncu printed errors: {'; '.join(errors)}.",
                "Profile again without what caused them; ncu --query-metrics lists the metrics of a GPU.",
            )
        available = _available(text)
        found = f" The program launched {', '.join(available)}." if available else ""
        return BadReport(
            f"{name} has no counters: no kernel matched the filters of ncu.{found}",
            "Check the names given to --nvtx-include and --kernel-name.",
        )
    for words, meaning in _FAILURES:
        if words in text:
            return BadReport(
                f"{name} has no counters: {meaning}.",
                "Check the report, and read it with the ncu that made it or a newer one.",
            )
    return None


def tool_errors(text: str) -> list[str]:
    """What kinds of errors ncu printed, each once, with codes and counts.

    An error's own words may hold a path, an argument or a token of whoever ran ncu, so none are repeated.
    """
    kinds = [_kind(line) for line in text.splitlines() if line.startswith("==ERROR==")]
    counts = Counter(kind for kind in kinds if kind)
    others = len(kinds) - counts.total()
    told = [kind if count == 1 else f"{kind} ({count} times)" for kind, count in counts.items()]
    if others:
        told.append("1 error of another kind" if others == 1 else f"{others} errors of other kinds")
    return told


def _kind(line: str) -> str | None:
    """The kind of an error of ncu, with its code; None when it is not known."""
    line = line[:_LONGEST_ERROR]
    if code := _CODE.search(line):
        return code[0]
    for pattern, kind in _ERRORS:
        if match := pattern.search(line):
            return kind.format(*match.groups())
    return None


def shown_column(name: str) -> str:
    """A column's name as it may be told: what does not look like one may be anything, a path or a token."""
    shown = without_paths(name)
    return shown if _COLUMN.fullmatch(shown) and not _LONG_WORD.search(shown) else "(a name of another shape)"


def summary(name: str) -> BadReport:
    """For a page of `--print-summary`."""
    return BadReport(
        f"{name} is a summary page, which has no single launches: minimum, maximum and average tell nothing of "
        "any one of them.",
        f"Print the raw page: {EXPORT}",
    )


def _available(text: str) -> list[str]:
    _, heading, block = text.partition("Available Kernels:")
    return [without_paths(name.rstrip()) for name in _AVAILABLE.findall(block)[:20]] if heading else []


def _other_page(text: str, name: str) -> BadReport | None:
    way_out = f"Print the raw page: {EXPORT}"
    if (
        '"Launch Attribute"' in text
        or '"Session Attribute"' in text
        or text.lstrip().startswith("Launch Settings")
    ):
        return BadReport(
            f"{name} is a session page, which has no counters but the whole command line.", way_out
        )
    if re.search(r'^"?(#|Address|Line No)"?,"?(Address|Source)"?,', text, re.MULTILINE):
        return BadReport(f"{name} is a source page, which has counters of lines and not of launches.", way_out)
    if re.search(r"^ *Metric Name +Metric Unit +(Metric Value|Minimum)", text, re.MULTILINE):
        return BadReport(f"{name} was printed as text, without --csv.", way_out)
    return None


def _columns_seen(text: str) -> str:
    """The names in the first line that is a header of some kind."""
    for line in text.splitlines():
        names: Sequence[str] = re.findall(r'"([^",]{1,40})"', line)
        if len(_KNOWN_COLUMNS & set(names)) >= 2:
            return f"; its columns are {', '.join(map(shown_column, names[:8]))}"
    return ""
