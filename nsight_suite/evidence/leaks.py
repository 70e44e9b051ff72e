"""A last look at files that are to be published: nothing of machine, user or environment may be in them.

Reduction is what keeps private things out; this finds what it might have missed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.evidence.cells import Database, parquet_cells, sqlite_cells

# Values of the environment that say nothing: short ones, numbers, versions, encodings, and common words.
_SHORTEST = 8
_HARMLESS = re.compile(
    r"[\d.,:+\-]+|[a-z]{2}_[A-Z]{2}(\.UTF-8)?|C\.UTF-8|xterm(-.*)?|truecolor|(x86_64|aarch64)(-.*)?"
    r"|(/usr)?/bin/[a-z]+"
)
_COMMON_NAMES = frozenset({"root", "user", "localhost", "127.0.0.1", "local (cli)", "vm"})
# Tables of an nsys export that map names to values.
PAIRS = ("META_DATA_CAPTURE", "META_DATA_EXPORT", "TARGET_INFO_SYSTEM_ENV")
_HOST = re.compile(r"EXPORT_HOST|DEVICE_DISPLAY_NAME|Host_?name", re.IGNORECASE)
_USER = re.compile(r"EXPORT_USER|(PROCESS_\d+:)?USER(_?NAME)?", re.IGNORECASE)


@dataclass(frozen=True)
class Secret:
    """Something that must not appear. `what` describes it in a message; `text` never enters one.

    `variable` is the environment variable that holds it, if one does.
    """

    what: str
    text: str
    whole_word: bool = False
    variable: str = ""


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
    """What an nsys export tells of the machine that it was captured on: environment, host, user, folders.

    `path` is an SQLite database or a folder of Parquet files. Raises BadReport when it cannot be read.
    """
    opening = parquet_cells(sorted(path.glob("*.parquet"))) if path.is_dir() else sqlite_cells(path)
    with opening as database:
        return secrets_of_database(database)


def secrets_of_database(database: Database) -> list[Secret]:
    """The same of an export that is open. Each text comes once."""
    found: dict[str, Secret] = {}
    for name, value in name_value_pairs(database):
        for secret in _secrets_of_pair(name, value):
            found.setdefault(secret.text, secret)
    return list(found.values())


def name_value_pairs(database: Database, tables: Iterable[str] = PAIRS) -> Iterator[tuple[str, str]]:
    """The rows of the tables of an export that map names to values."""
    for table in tables:
        if {"name", "value"} <= set(database.tables.get(table, ())):
            rows = database.rows(f'SELECT CAST(name AS VARCHAR), CAST(value AS VARCHAR) FROM "{table}"')
            yield from ((str(name), str(value)) for name, value in rows if value is not None)


def is_environment(name: str) -> bool:
    """Whether the value of that name is settings of an environment."""
    return name.upper().endswith("ENVIRONMENT_VARIABLE") or name == "DeviceEnvironment"


def is_host(name: str) -> bool:
    return bool(_HOST.fullmatch(name))


def is_user(name: str) -> bool:
    return bool(_USER.fullmatch(name))


def _secrets_of_pair(name: str, value: str) -> Iterator[Secret]:
    if is_environment(name):
        for setting in re.split(r"[;\0]", value) if name == "DeviceEnvironment" else [value]:
            variable, _, text = setting.partition("=")
            if _tells(text.strip('"')):
                what = f"the captured environment variable {variable}"
                yield Secret(what, text.strip('"'), variable=variable)
    elif name.endswith(("WORKING_DIR", "PATH_ABS")):
        if _tells(value):
            yield Secret("a captured path", value)
    elif (is_host(name) or is_user(name)) and len(value) >= 3 and value.lower() not in _COMMON_NAMES:
        yield Secret("a captured name of host or user", value, whole_word=True)


def _tells(value: str) -> bool:
    return len(value) >= _SHORTEST and not _HARMLESS.fullmatch(value)


def leaks(files: Iterable[Path], secrets: Sequence[Secret]) -> Iterator[Leak]:
    """Every secret that one of these files holds.

    Parquet files are compressed, so of these only the names are looked at; cells of an SQLite file can lie
    across pages, so they are read as cells too.
    """
    for path in files:
        text = _text_of(path)
        yield from (Leak(path, secret.what) for secret in secrets if holds(text, secret))


def holds(text: str, secret: Secret) -> bool:
    """Whether the text tells the secret."""
    if secret.text not in text:
        return False
    return not secret.whole_word or bool(re.search(rf"(?<!\w){re.escape(secret.text)}(?!\w)", text))


def _text_of(path: Path) -> str:
    if path.suffix == ".parquet":
        return path.name
    texts = [path.name, path.read_bytes().decode("utf-8", "replace")]
    if path.suffix == ".sqlite":
        with sqlite_cells(path) as database:
            texts += [text for table in database.tables for _, text, _ in database.texts(table)]
    return "\n".join(texts)
