"""Whether a file compressed by zstd is whole, told from its frames without unpacking them (RFC 8878)."""

from __future__ import annotations

import mmap

MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)


def is_whole(data: bytes | mmap.mmap) -> bool:
    """Whether every frame ends inside the file, and the last one with it."""
    at = 0
    while at < len(data):
        end = _after_frame(data, at)
        if end is None or end > len(data):
            return False
        at = end
    return at > 0


def _after_frame(data: bytes | mmap.mmap, at: int) -> int | None:
    """Where the frame that begins at `at` ends; None when it is none, or is cut off."""
    if int.from_bytes(data[at : at + 4], "little") in _SKIPPABLE:
        return at + 8 + int.from_bytes(data[at + 4 : at + 8], "little")
    if data[at : at + 4] != MAGIC or at + 5 > len(data):
        return None
    descriptor = data[at + 4]
    single_segment, checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
    window = 0 if single_segment else 1
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    content = (single_segment, 2, 4, 8)[descriptor >> 6]
    at += 5 + window + dictionary + content
    last = 0
    while not last:
        if at + 3 > len(data):
            return None
        header = int.from_bytes(data[at : at + 3], "little")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        if kind == 3:
            return None
        at += 3 + (1 if kind == 1 else size)  # one byte that is repeated, or so many
    return at + 4 * checksum
