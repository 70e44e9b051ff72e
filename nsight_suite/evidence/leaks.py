"""A last look at files that are to be published: nothing of machine, user or environment may be in them.

Reduction is what keeps private things out; this finds what it might have missed.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.evidence.readers.nsys_export import opened

# Values of the environment that say nothing: short ones, numbers, versions, encodings, and common words.
_SHORTEST = 8
_HARMLESS = re.compile(
    r"[\d.,:+\-]+|[a-z]{2}_[A-Z]{2}(\.UTF-8)?|C\.UTF-8|xterm(-.*)?|truecolor|(x86_64|aarch64)(-.*)?"
)
_COMMON_NAMES = frozenset({"root", "user", "localhost", "vm"})


@dataclass(frozen=True)
class Secret:
    """Something that must not appear. `what` describes it in a message; `text` never enters one."""

    what: str
    text: str
    whole_word: bool = False


@dataclass(frozen=True)
class Leak:
    path: Path
    what: str


def secrets_of_machine(
    environment: Mapping[str, str], *, host: str, user: str, home: str, folders: Iterable[Path]
) -> list[Secret]:
    """What would tell of this machine. `folders` are absolute paths that must not be told."""
    found = [
        Secret(f"the value of the environment variable {name}", value)
        for name, value in environment.items()
        if _tells(value)
    ]
    found += [
        Secret(what, text, whole_word=True)
        for what, text in (("the host's name", host), ("the user's name", user))
        if len(text) >= 3 and text not in _COMMON_NAMES
    ]
    found += [Secret("the home folder", home)] if len(home) > 1 else []
    found += [Secret("the path of the run", str(folder)) for folder in folders if len(str(folder)) > 1]
    return found


def secrets_of_export(path: Path) -> list[Secret]:
    """What an nsys export tells of the machine that it was captured on: environment, host, user, folders."""
    settings: list[str] = []
    found: list[Secret] = []
    with opened(path) as export:
        for table in ("META_DATA_CAPTURE", "META_DATA_EXPORT"):
            for name, values in export.metadata(table).items():
                if name.endswith("ENVIRONMENT_VARIABLE"):
                    settings += values
                elif name.endswith(("WORKING_DIR", "PATH_ABS")):
                    found += [Secret("a captured path", value) for value in values if _tells(value)]
                elif name in ("EXPORT_HOST", "EXPORT_USER", "DEVICE_DISPLAY_NAME"):
                    found += [
                        Secret("a captured name of host or user", value, whole_word=True)
                        for value in values
                        if len(value) >= 3 and value not in _COMMON_NAMES
                    ]
        if {"name", "value"} <= export.columns_of("TARGET_INFO_SYSTEM_ENV"):
            blocks = export.connection.execute(
                "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'DeviceEnvironment'"
            )
            settings += [setting for block in blocks for setting in str(block[0]).split(";")]
    for setting in settings:
        name, _, value = setting.partition("=")
        if _tells(value.strip('"')):
            found.append(Secret(f"the captured environment variable {name}", value.strip('"')))
    return found


def _tells(value: str) -> bool:
    return len(value) >= _SHORTEST and not _HARMLESS.fullmatch(value)


def leaks(folder: Path, secrets: Iterable[Secret], evidence: Collection[str]) -> Iterator[Leak]:
    """Every secret that a file of the folder holds. `evidence` are the texts of its tables.

    Parquet files are compressed, so their texts are looked at as `evidence`; cells of an SQLite file can lie
    across pages, so they are read as cells too.
    """
    files = {path: _text_of(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    files[folder / "evidence"] = "\n".join(evidence)
    for path, text in files.items():
        yield from (Leak(path, secret.what) for secret in secrets if _holds(text, secret))


def _holds(text: str, secret: Secret) -> bool:
    if secret.text not in text:
        return False
    return not secret.whole_word or bool(re.search(rf"(?<!\w){re.escape(secret.text)}(?!\w)", text))


def _text_of(path: Path) -> str:
    texts = [path.name, path.read_bytes().decode("utf-8", "replace")]
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            names = [
                row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            for name in names:
                for row in connection.execute(f'SELECT * FROM "{name}"'):
                    texts += [cell for cell in row if isinstance(cell, str)]
    return "\n".join(texts)
