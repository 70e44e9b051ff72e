"""Whether an `.ncu-rep` is whole. NVIDIA's package loads a cut one without a word, with too few results.

The file is `NVR\\0`, then sized protobuf messages: the file's header, and per block a header and its payload. A
block's header tells the payload's size (field 5) and how many results it holds (kernels: 2, whole ranges or
graphs: 9). Found by trial on reports of ncu 2025.3; a file of another layout is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"NVR\x00"
_RESULTS, _PAYLOAD_SIZE, _RANGE_RESULTS = 2, 5, 9


@dataclass(frozen=True)
class Extent:
    """What the blocks of a report announce. `results` counts those of whole blocks only."""

    results: int
    whole: bool


def extent(path: Path) -> Extent | None:
    """Walk the blocks of a report; None when it is not laid out as this module knows."""
    data = path.read_bytes()
    if not data.startswith(_MAGIC):
        return None
    try:
        at, results = _after_message(data, len(_MAGIC)), 0
        while at < len(data):
            begin, at = at + 4, _after_message(data, at)
            header = dict(_numbers(data[begin:at])) if at <= len(data) else {}
            at += header.get(_PAYLOAD_SIZE, 0)
            if at > len(data):
                return Extent(results, whole=False)
            results += header.get(_RESULTS, 0) + header.get(_RANGE_RESULTS, 0)
    except ValueError:
        return None
    return Extent(results, whole=at == len(data))


def _after_message(data: bytes, at: int) -> int:
    size = int.from_bytes(data[at : at + 4], "little")
    return at + 4 + size


def _numbers(message: bytes) -> Iterator[tuple[int, int]]:
    """The integer fields of a protobuf message, by field number. Raises ValueError for what is no message."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
        elif kind == 2:
            size, at = _varint(message, at)
            at += size
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"no protobuf field has the wire type {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
    raise ValueError("the message ends inside a number")
