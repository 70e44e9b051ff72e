"""The views that many queries share: one file each in queries/views/, named after the view."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from nsight_suite.sources import data_root

_SELECT = re.compile(r"CREATE VIEW \"?(\w+)\"? AS\s(.*?);", re.DOTALL)


@dataclass(frozen=True)
class View:
    """A view: the statements that make and explain it, its SELECT alone, and the views that it reads."""

    name: str
    statements: str
    select: str
    reads: frozenset[str]


@cache
def shared_views() -> Mapping[str, View]:
    """All shared views by name."""
    texts = {
        path.stem: path.read_text(encoding="utf-8")
        for path in sorted((data_root() / "queries" / "views").glob("*.sql"))
    }
    found = {}
    for name, text in texts.items():
        match = _SELECT.search(re.sub(r"--[^\n]*", "", text))
        if not match or match[1] != name:
            raise ValueError(f"queries/views/{name}.sql makes no view of its name")
        reads = frozenset(re.findall(r"\w+", match[2])) & texts.keys() - {name}
        found[name] = View(name, text, match[2], frozenset(reads))
    return found


def in_order(names: Collection[str]) -> Iterator[View]:
    """These views and those that they read, each behind all that it reads."""
    told: set[str] = set()

    def tell(name: str) -> Iterator[View]:
        if name not in told:
            told.add(name)
            for other in sorted(shared_views()[name].reads):
                yield from tell(other)
            yield shared_views()[name]

    for name in sorted(names):
        yield from tell(name)
