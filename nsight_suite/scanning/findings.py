"""What a scan finds. Nothing here holds a private value: only where one stands, its kind, and how many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What is told by a text."""

    ENVIRONMENT = "environment variable"
    CREDENTIAL = "credential"
    COMMAND = "command line"
    OUTPUT = "captured output"
    HOST = "host"
    USER = "user"
    HOME = "home folder"
    PATH = "absolute path"
    PROCESS = "process name"
    REPEATED = "repeated private value"
    OPAQUE = "part that cannot be looked into"


@dataclass(frozen=True)
class Sign:
    """One text that tells something private. `name` is that of an environment variable."""

    kind: Kind
    name: str = ""


@dataclass(frozen=True)
class Leak:
    """All signs of one kind at one place of a file.

    place  a column (TABLE.column), `line N`, `byte N` (the first one), or empty for the whole file
    names  environment variables among them, sorted; their values are never kept
    """

    file: str
    place: str
    kind: Kind
    count: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scan:
    """Everything that was found, and the files that could not be read, each with the reason."""

    leaks: tuple[Leak, ...]
    unreadable: tuple[tuple[str, str], ...]

    @property
    def exit_status(self) -> int:
        """0: nothing private was found; 1: something was; 2: something could not be read."""
        return 2 if self.unreadable else int(bool(self.leaks))


@dataclass
class Tally:
    """Counts the signs of one file: by column, or by the first line or byte where the kind appears."""

    file: str
    by_column: bool
    _counts: dict[tuple[str, Kind], int] = field(default_factory=dict)
    _places: dict[tuple[str, Kind], str] = field(default_factory=dict)
    _names: dict[tuple[str, Kind], set[str]] = field(default_factory=dict)

    def add(self, place: str, signs: Iterable[Sign], times: int = 1) -> None:
        for sign in signs:
            key = (place if self.by_column else "", sign.kind)
            self._places.setdefault(key, place)
            self._counts[key] = self._counts.get(key, 0) + times
            if sign.name:
                self._names.setdefault(key, set()).add(sign.name)

    def leaks(self) -> list[Leak]:
        return [
            Leak(self.file, self._places[key], key[1], count, tuple(sorted(self._names.get(key, ()))))
            for key, count in self._counts.items()
        ]
