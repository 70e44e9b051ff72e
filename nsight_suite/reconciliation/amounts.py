"""Numbers as people read them."""

from __future__ import annotations


def time(ns: float) -> str:
    """ns as µs or ms: `12.5 µs`."""
    return f"{ns / 1e6:.2f} ms" if abs(ns) >= 1e6 else f"{ns / 1e3:.1f} µs"


def size(count: float) -> str:
    """Bytes with decimal prefixes: `134.2 MB`."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(count) >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:.0f} B"


def rate(bytes_per_second: float) -> str:
    return (
        f"{bytes_per_second / 1e12:.2f} TB/s"
        if bytes_per_second >= 1e12
        else f"{bytes_per_second / 1e9:.1f} GB/s"
    )


def some(items: list[str], most: int = 4) -> str:
    """The first few of a list, and how many more there are."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def counted(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"
