"""Long names of kernels for tables: namespaces and template arguments are left out, not the function's name."""

from __future__ import annotations

import re
from itertools import pairwise

_CUT = "…"
_CPP = re.compile(r"[\w:~*& ]*[\w:~](<|::)|[\w:~]+\(")
# A bracket; those of the first group are part of a name.
_BRACKET = re.compile(
    r"(operator(?:\(\)|<<=?|>>=?|<=>?|>=?|<|->\*?)|->|\(anonymous namespace\)|<unnamed>|\(anonymous class\))"
    r"|[][<>(){}]"
)
_CLOSING = {"<": ">", "(": ")", "[": "]", "{": "}"}


def shortened(text: str, width: int) -> str:
    """The text in at most `width` characters.

    Of a C++ name the arguments go first, then namespaces from the second on; what fits of the last template's
    arguments comes back. Another single word is cut in its middle, other text at its end.
    """
    if len(text) <= width:
        return text
    parts = _parts(text) if _CPP.match(text) else None
    if parts is None:
        return f"{text[: width - 1]}{_CUT}" if " " in text else _without_middle(text, width)
    bare = _without_namespaces("".join(word if depth == 0 else _CUT for word, depth in parts), width)
    if len(bare) > width:
        return _without_middle(bare, width)
    return _with_arguments(bare, parts, width)


def _parts(text: str) -> list[tuple[str, int]] | None:
    """The text in turns outside of all brackets (0) and inside of some (1); None when they do not match."""
    found: list[tuple[str, int]] = []
    waiting: list[str] = []
    begun = 0
    for match in _BRACKET.finditer(text):
        if match[1]:
            continue
        char, at = match[0], match.start()
        if char in _CLOSING:
            if not waiting:
                found.append((text[begun : at + 1], 0))
                begun = at + 1
            waiting.append(_CLOSING[char])
        elif waiting and char == waiting[-1]:
            waiting.pop()
            if not waiting:
                found.append((text[begun:at], 1))
                begun = at
    found.append((text[begun:], 0))
    return None if waiting else [part for part in found if part[0]]


def _without_middle(text: str, width: int) -> str:
    ahead = (width - 1) // 3
    return f"{text[:ahead]}{_CUT}{text[len(text) - (width - 1 - ahead) :]}"


def _without_namespaces(name: str, width: int) -> str:
    """The name without those namespaces behind the first one that make it too long."""
    first, *rest = name.split("::")
    length, dropped = len(name), 0
    while dropped < len(rest) - 1 and length > width:
        length -= len(rest[dropped]) + len("::")
        length += 0 if dropped else len(_CUT) + len("::")
        dropped += 1
    return "::".join([first, *([_CUT] if dropped else []), *rest[dropped:]])


def _with_arguments(bare: str, parts: list[tuple[str, int]], width: int) -> str:
    """The name with as much of the last template's arguments as there is room for: its begin and its end."""
    room = width - len(bare)
    inside = [word for (before, _), (word, depth) in pairwise(parts) if depth and before[-1] == "<"]
    place = bare.rfind(f"<{_CUT}>")
    if not inside or place < 0 or room < 8:
        return bare
    shown = inside[-1]
    if len(shown) > room + 1:
        behind = room // 3
        shown = f"{shown[: room - behind]}{_CUT}{shown[len(shown) - behind :]}"
    return f"{bare[: place + 1]}{shown}{bare[place + 2 :]}"
