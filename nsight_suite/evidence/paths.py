"""Paths of the machine never enter the evidence: what is shown and shared is made from it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

# An absolute path that starts a word, perhaps right after an option (-I/usr/include). A slash inside a word is
# something else: byte/block, 32x1024/, docs/tour.ipynb.
_PATH = re.compile(
    r"(?<![\w.~/@-])(?P<option>-[A-Za-z]+)?/(?:[^\s/\"'`:;,=()<>]+/)*(?P<last>[^\s/\"'`:;,=()<>]+)/?"
)


def without_paths(text: str) -> str:
    """The text with every absolute path cut to its last name.

    >>> without_paths("nvrtc -I/opt/suite/kernels /opt/suite/kernels/row.cu failed")
    'nvrtc -Ikernels row.cu failed'
    """
    return _PATH.sub(lambda match: (match["option"] or "") + match["last"], text)


def argument_without_path(argument: str) -> str:
    """The same for one command line argument, which may be a path with spaces in it."""
    if argument.startswith("/"):
        return PurePosixPath(argument).name
    return without_paths(argument)
