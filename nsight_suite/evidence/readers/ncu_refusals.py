"""What is wrong with a file of ncu that holds no table of workloads, in words of its own for each kind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nsight_suite.errors import BadReport
from nsight_suite.evidence.paths import without_paths

EXPORT = "ncu --import R.ncu-rep --csv --page raw --print-units base"
_AVAILABLE = re.compile(r"^[ \t]*[0-9]+\.[ \t]+(\S.*?)[ \t\r]*$", re.MULTILINE)
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
        available = _available(text)
        found = f" The program launched {', '.join(available)}." if available else ""
        return BadReport(
            f"{name} has no counters: no kernel matched the filters of ncu.{found}",
            "Check the names given to --nvtx-include and --kernel-name.",
        )
    for words, meaning in _FAILURES:
        if words in text:
            detail = "; ".join(tool_errors(text)[:2])
            return BadReport(
                f"{name} has no counters: {meaning} ({detail})." if detail else f"{name}: {meaning}.",
                "Check the report, and read it with the ncu that made it or a newer one.",
            )
    return None


def tool_errors(text: str) -> list[str]:
    """The errors that ncu printed, without paths of the machine, each once."""
    found = (line.strip() for line in text.splitlines() if line.startswith("==ERROR=="))
    return list(dict.fromkeys(without_paths(line)[:300] for line in found))


def summary(name: str) -> BadReport:
    """For a page of `--print-summary`."""
    return BadReport(
        f"{name} is a summary page, which has no single launches: minimum, maximum and average tell nothing of "
        "any one of them.",
        f"Print the raw page: {EXPORT}",
    )


def _available(text: str) -> list[str]:
    _, heading, block = text.partition("Available Kernels:")
    return [without_paths(name) for name in _AVAILABLE.findall(block)[:20]] if heading else []


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
    if re.search(r'^"?(#|Address)"?,"?(Address|Source)"?,', text, re.MULTILINE):
        return BadReport(f"{name} is a source page, which has counters of lines and not of launches.", way_out)
    if re.search(r"^ *Metric Name +Metric Unit +(Metric Value|Minimum)", text, re.MULTILINE):
        return BadReport(f"{name} was printed as text, without --csv.", way_out)
    return None


def _columns_seen(text: str) -> str:
    """The names in the first line that is a header of some kind."""
    for line in text.splitlines():
        names: Sequence[str] = re.findall(r'"([^",]{1,40})"', line)
        if len(_KNOWN_COLUMNS & set(names)) >= 2:
            return f"; its columns are {', '.join(names[:8])}"
    return ""
