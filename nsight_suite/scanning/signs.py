"""What a text tells: settings of an environment, credentials, command lines, hosts, users, paths.

A text is anything: a cell of a database, a line of a log, a printable stretch of a binary file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nsight_suite.evidence.leaks import Secret, holds
from nsight_suite.scanning.findings import Kind, Sign

_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,99}"
# In a block as a process has it (NUL-joined), whatever looks like a setting is one.
_IN_BLOCK = re.compile(rf"(?:^|\0)({_NAME})=")
_SETTING = re.compile(rf"(?:^|[\s;\"'{{,\0])(?:export\s+)?({_NAME})=(?!=)[\"']?(?P<value>[^\s;\"',]+)")
WELL_KNOWN = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "PWD", "OLDPWD", "SHELL", "HOSTNAME", "LANG", "TERM", "MAIL"),
        *("DISPLAY", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "XDG_RUNTIME_DIR", "TMPDIR", "HF_HOME", "http_proxy", "https_proxy"),
        *("HTTP_PROXY", "HTTPS_PROXY", "SLURM_JOB_USER", "SLURM_SUBMIT_DIR", "SLURM_JOB_NODELIST"),
    }
)
_SECRET_WORD = re.compile(
    r"token(?!s)|secret|passw|passphrase|credential|api_?key|access_?key|private_?key|(^|_)key$|(^|_)pwd$",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"(?:^|\s)--?[\w-]*(?:token(?!s)|secret|passw|passphrase|credential|api[-_]?key|access[-_]?key|private[-_]?key)"
    r"[\w-]*[=\s]\S",
    re.IGNORECASE,
)
_CREDENTIAL = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{10,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|xox[abprs]-[\w-]{10,}|AIza[\w-]{30,}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@]+:[^/\s@]+@"
)
_PART = r"[^\s/\"'`:;,=()<>|\0]+"
# Where the suite's compiler is told that the kernels' sources lie: a name that no machine has a folder of.
_SOURCE = r"(?!/kernels/(?:[\w.-]+/)?[\w.-]+\.cuh?(?![\w./-]))"
# Not inside a word (byte/block, docs/tour.ipynb) nor in an address (https://…), but after an option (-I/usr).
_UNIX_PATH = re.compile(rf"(?:(?<![\w.~/@%+-])|(?<=\s-[A-Za-z])){_SOURCE}/{_PART}/{_PART}")
_WINDOWS_PATH = re.compile(r"(?<![A-Za-z])[A-Za-z]:\\{1,2}[^\s\\/:*?\"<>|]+\\{1,2}[^\s\\/:*?\"<>|]")
_HOME = re.compile(
    rf"(?:(?<![\w.~/@%+-])|(?<=\s-[A-Za-z]))/(?:(?:home|Users|export/home|nethome)/{_PART}|root(?![\w.-]))"
    r"|(?<![A-Za-z])[A-Za-z]:\\{1,2}Users\\{1,2}[^\s\\/:*?\"<>|]",
)
_LINE_OF_COMMAND = re.compile(
    r"^\s*\$ \S|^\s*\"?(?:command[ _-]?line|launch command|cmdline|argv|process_\d+:(?:command|argument_\d+))"
    r"\"?\s*[,:=]\s*[\"'\[{]*[^\s\"'\[\]{},]",
    re.IGNORECASE,
)
_LINE_OF_HOST = re.compile(
    r"^\s*\"?(?:export_)?(?:host(?:[ _-]?name)?|computer[ _-]?name|device_display_name|node[ _-]?name)\"?"
    r"\s*[,:=]\s*\"?(?P<value>[^\s\",]+)",
    re.IGNORECASE,
)
_LINE_OF_USER = re.compile(
    r"^\s*\"?(?:export_)?(?:user(?:[ _-]?name)?|login|logname)\"?\s*[,:=]\s*\"?(?P<value>[^\s\",\[{]+)",
    re.IGNORECASE,
)
_NOBODY = frozenset(
    {"", "null", "none", "true", "false", "unknown", "localhost", "127.0.0.1", "::1", "local (cli)"}
)


def signs_of(text: str, known: Sequence[Secret] = ()) -> Iterator[Sign]:
    """Every kind of private thing that a text tells, each kind once but for settings, which have names.

    `known` are private values that are known already, and looked for.
    """
    yield from _settings(text)
    if _CREDENTIAL.search(text) or _OPTION.search(text):
        yield Sign(Kind.CREDENTIAL)
    if "/" in text or "\\" in text:
        if _HOME.search(text):
            yield Sign(Kind.HOME)
        elif _UNIX_PATH.search(text) or _WINDOWS_PATH.search(text):
            yield Sign(Kind.PATH)
    yield from (Sign(Kind.REPEATED, secret.variable) for secret in known if holds(text, secret))


def signs_of_line(line: str, known: Sequence[Secret] = ()) -> Iterator[Sign]:
    """The same for a line of a text file, where a heading may tell what the rest is."""
    yield from signs_of(line, known)
    if _LINE_OF_COMMAND.search(line):
        yield Sign(Kind.COMMAND)
    for pattern, kind in ((_LINE_OF_HOST, Kind.HOST), (_LINE_OF_USER, Kind.USER)):
        if (found := pattern.search(line)) and is_somebody(found["value"]):
            yield Sign(kind)


def is_somebody(name: str) -> bool:
    """Whether the name of a host or user tells anything."""
    return name.strip().strip("\"'").lower() not in _NOBODY


def setting_names(block: str) -> Iterator[str]:
    """The names in a text that is known to be settings: NAME=VALUE, joined by NUL, `;` or line ends."""
    for part in re.split(r"[\0;\n]", block):
        if found := re.match(rf"({_NAME})=", part.strip()):
            yield found[1]


def _settings(text: str) -> Iterator[Sign]:
    if "=" not in text:
        return
    if "\0" in text:
        names = _IN_BLOCK.findall(text)
    else:
        found = list(_SETTING.finditer(text))
        told = [match[1] for match in found if _is_private(match[1], match["value"])]
        # One that is known for sure makes what stands beside it an environment too.
        joined = len(found) > 2 and any(name in WELL_KNOWN for name in told) and ";" in text
        names = list(setting_names(text)) if joined else told
    yield from (Sign(Kind.ENVIRONMENT, name) for name in dict.fromkeys(names))


def _is_private(name: str, value: str) -> bool:
    """`num_tokens=128` and `key=3` are what programs print, not what an environment holds."""
    if name in WELL_KNOWN:
        return True
    return bool(_SECRET_WORD.search(name)) and not value.replace(".", "").isdigit() and len(value) > 3
