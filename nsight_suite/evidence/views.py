"""The views that many queries share: one file each in queries/views/, named after the view.

A file that begins with `-- Kept:` is of a view whose rows are stored with the tables of a large run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from nsight_suite.evidence.sqltext import quoted
from nsight_suite.evidence.tables import tables
from nsight_suite.sources import data_root

_COMMENT = re.compile(r"--[^\n]*")
_SOURCE = re.compile(r"\b(?:FROM|JOIN)\s+\"?(\w+)")
_SELECT = re.compile(r"CREATE VIEW \"?(\w+)\"? AS\s(.*?);", re.DOTALL)


@dataclass(frozen=True)
class View:
    """A view: the statements that make and explain it, its SELECT alone, the views and tables that it reads,
    and whether its rows are kept where there are many."""

    name: str
    statements: str
    select: str
    reads: frozenset[str]
    tables: frozenset[str]
    kept: bool

    def over(self, source: str) -> str:
        """The statements with another SELECT in place of the view's own: over rows that were kept."""
        view = f"CREATE OR REPLACE VIEW {quoted(self.name)} AS {source};"
        return _SELECT.sub(lambda match: view, _COMMENT.sub("", self.statements), count=1)


@cache
def shared_views() -> Mapping[str, View]:
    """All shared views by name."""
    texts = {
        path.stem: path.read_text(encoding="utf-8")
        for path in sorted((data_root() / "queries" / "views").glob("*.sql"))
    }
    found = {}
    for name, text in texts.items():
        match = _SELECT.search(_COMMENT.sub("", text))
        if not match or match[1] != name:
            raise ValueError(f"queries/views/{name}.sql makes no view of its name")
        reads = frozenset(re.findall(r"\w+", match[2])) & texts.keys() - {name}
        read = frozenset(_SOURCE.findall(match[2])) & tables().keys()
        found[name] = View(name, text, match[2], reads, read, text.startswith("-- Kept:"))
    return found


def kept_views() -> Mapping[str, View]:
    """Those whose rows are stored in the evidence of a large run."""
    return {name: view for name, view in shared_views().items() if view.kept}


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
