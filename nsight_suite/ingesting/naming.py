"""Names of passes: each report becomes a pass, named after its file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_SUFFIX = re.compile(
    r"(_pqtdir|(\.(nsys-rep|qdrep|qdstrm|ncu-repz?|sqlite|db|csv|txt|log|gz))+)$", re.IGNORECASE
)
_LONGEST = 100


def pass_names(paths: Sequence[Path]) -> Iterator[str]:
    """A name for each file: what stands before its suffix, in characters that are safe in paths, and unique."""
    taken: set[str] = set()
    for path in paths:
        stem = _SUFFIX.sub("", path.name)
        safe = re.sub(r"[^A-Za-z0-9._-]+", "_", stem).strip("._")[:_LONGEST] or "report"
        name, number = safe, 1
        while name.casefold() in taken:
            number += 1
            name = f"{safe}-{number}"
        taken.add(name.casefold())
        yield name
