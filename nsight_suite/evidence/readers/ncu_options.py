"""The options of ncu on the command line that a report holds, told apart from those of the profiled program.

The report joins the words with spaces and leaves quotes out, so only what is surely an option of ncu is read:
up to the first word that is neither an option nor an option's value, and no further than an unknown option.
Where that word may still be of a range's or kernel's name, what an option behind it decides is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nsight_suite.evidence.readers.ncu_settings import UNKNOWN, Policies


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Options that decide what counters mean: the values that are known, ncu's own default first.
_POLICIES = {
    "cache-control": ("all", "none"),
    "clock-control": ("base", "none", "boost", "reset", "lock"),
    "graph-profiling": ("node", "graph"),
}
_POLICY_WORDS = frozenset(f"--{name}" for name in _POLICIES)
# Options with a value. What follows one that is missing here counts as unknown.
_VALUED = _names(
    """
    app-replay-buffer app-replay-match app-replay-mode apply-rules cache-control call-stack-type
    check-exit-code chip chips clock-control communicator communicator-tcp-num-peers config-file
    config-file-path device devices export filter-mode fp graph-profiling hostname import import-sass
    import-source injection-path-32 injection-path-64 kernel-id kernel-name kernel-name-base
    kernel-regex kernel-regex-base kill launch-count launch-skip launch-skip-before-match log-file
    max-connections metrics mode nvtx-exclude nvtx-include nvtx-push-pop-scope page pipeline-boost-state
    pm-sampling-buffer-size pm-sampling-interval pm-sampling-max-passes port preload-library
    print-details print-fp print-kernel-base print-metric-attribution print-metric-instances
    print-metric-name print-nvtx-rename print-rule-details print-source print-summary print-units
    profile-from-start query-metrics-collection query-metrics-mode range-filter range-replay-options
    rename-kernels rename-kernels-export rename-kernels-path replay-mode resolve-source-file rule
    sampling-buffer-size sampling-interval sampling-max-passes section section-folder
    section-folder-recursive set source-folders target-processes target-processes-filter
    warp-sampling-buffer-size warp-sampling-interval warp-sampling-max-passes
    """
)
# Of those, the ones whose value may hold spaces, which the report does not tell from its end.
_FREE_TEXT = _names(
    """
    kernel-name kernel-regex nvtx-exclude nvtx-include range-filter section-folder section-folder-recursive
    source-folders target-processes-filter
    """
)
# Options without a value; some take one of the words of _YES_OR_NO.
_FLAGS = _names(
    """
    call-stack csv details-all disable-extra-suffixes disable-profiler-start-stop force-overwrite
    lockstep-kernel-launch null-stdin nvtx open-in-ui quiet raw section-folder-restore summary
    support-32bit units verbose
    """
)
_SHORT_VALUED = {"c": "launch-count", "i": "import", "k": "kernel-name", "o": "export", "p": "port", "s": ""}
_SHORT_FLAGS = frozenset({"f", "v"})
_YES_OR_NO = frozenset({"yes", "no", "on", "off", "true", "false", "1", "0"})
_TOOL = re.compile(r"(.*[/\\])?(ncu|nv-nsight-cu-cli)(\.exe)?", re.IGNORECASE)


def policies_of(command_line: str | None) -> Policies:
    """How the counters were taken. An option that is surely not given had its default.

    Unknown is all of it without a command line (a report made in the user interface) and with a configuration
    file, which may hold any option.

    >>> policies_of("ncu -o x --cache-control none python app.py --clock-control none")
    Policies(cache_control='none', clock_control='base', graph_profiling='node')
    """
    given: dict[str, str] = {}
    sure = command_line is not None and bool(command_line.strip())
    for name, value in _options((command_line or "").split()):
        if name is None:
            sure = False
        else:
            given[name] = value
    if "config-file-path" in given:
        return Policies(UNKNOWN, UNKNOWN, UNKNOWN)
    return Policies(*(_policy(given.get(name), known, sure) for name, known in _POLICIES.items()))


def _policy(value: str | None, known: tuple[str, ...], sure: bool) -> str:
    if value is None:
        return known[0] if sure else UNKNOWN
    return value if value in known else UNKNOWN


def _options(words: list[str]) -> Iterator[tuple[str | None, str]]:
    """Options of ncu with their values; at last (None, …) when it is not sure what follows."""
    at, name = _after_tool(words), ""
    while at < len(words) and words[at].startswith("-"):
        word, following = words[at], words[at + 1] if at + 1 < len(words) else ""
        name, equals, value = word.lstrip("-").partition("=")
        at += 1
        if not word.startswith("--"):
            if word[1:2] in _SHORT_VALUED and len(word) > 2:
                continue  # -oNAME
            short = word[1:]
            name = _SHORT_VALUED.get(short) or short
            valued, flag = short in _SHORT_VALUED, short in _SHORT_FLAGS
        else:
            valued, flag = name in _VALUED, name in _FLAGS
        if equals and (valued or flag):
            yield name, value
        elif valued and following and not following.startswith("-"):
            yield name, following
            at += 1
        elif flag:
            at += following.lower() in _YES_OR_NO
        else:
            yield None, word
            return
    if name in _FREE_TEXT and any(word.partition("=")[0] in _POLICY_WORDS for word in words[at:]):
        yield None, name


def _after_tool(words: list[str]) -> int:
    """Where the options begin: after the path of ncu, which may hold spaces."""
    for at, word in enumerate(words):
        if word.startswith("-"):
            break
        if _TOOL.fullmatch(word):
            return at + 1
    return 1
