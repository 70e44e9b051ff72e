"""One table of a TOML file, asked key by key. Every error is a ValueError that names the table and the key."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """`name` is the heading, `passes.nsys`; `known` are the keys that may stand in it, None if any may."""

    name: str
    values: Mapping[str, Any]
    known: Collection[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping):
            raise ValueError(f"[{self.name}] must be a table, not {self.values!r}")
        for key in self.values:
            if self.known is not None:
                self.among(key, self.known, "key")

    def among(self, name: object, known: Collection[str], kind: str) -> str:
        """`name`, which must be one of `known`."""
        if isinstance(name, str) and name in known:
            return name
        close = difflib.get_close_matches(str(name), known, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known) or 'none'}"
        where = f"[{self.name}]" if self.name else "it"
        raise ValueError(f"{where} names the unknown {kind} '{name}'; {hint}")

    def table(self, key: str, known: Collection[str] | None = None, *, needed: bool = True) -> Table:
        """The table below this one; an empty one where it may be left out and is."""
        name = f"{self.name}.{key}" if self.name else key
        if needed and key not in self.values:
            raise ValueError(f"it lacks the section [{name}]")
        return Table(name, self.values.get(key, {}), known)

    def whole(self, key: str, *, least: int, default: int | None = None) -> int:
        value = self._get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self._wrong(key, f"a whole number from {least} on")
        return value

    def number(self, key: str) -> float:
        value = self._get(key, None)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self._wrong(key, "a number")
        return float(value)

    def text(self, key: str, default: str | None = None) -> str:
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, "text in quotes")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def texts(self, key: str, default: Collection[str] | None = None) -> tuple[str, ...]:
        value = self._get(key, default)
        if not isinstance(value, list | tuple) or not value or not all(isinstance(one, str) for one in value):
            raise self._wrong(key, "a list of texts, at least one")
        return tuple(value)

    def rows(self, key: str) -> tuple[Mapping[str, Any], ...]:
        """A list of tables, at least one, with whatever keys they have."""
        value = self._get(key, None)
        if not isinstance(value, list) or not value or not all(isinstance(one, Mapping) for one in value):
            raise self._wrong(key, "a list of tables, at least one")
        return tuple(value)

    def _get(self, key: str, default: object) -> object:
        if key not in self.values and default is None:
            raise ValueError(f"[{self.name}] lacks the key '{key}'")
        return self.values.get(key, default)

    def _wrong(self, key: str, wanted: str) -> ValueError:
        return ValueError(f"[{self.name}] {key} must be {wanted}, not {self.values.get(key)!r}")
