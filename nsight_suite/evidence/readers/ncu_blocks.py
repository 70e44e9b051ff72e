"""The outer layout of an `.ncu-rep`: whether it is whole, and what it tells of the session that made it.

NVIDIA's package loads a cut file without a word, with too few results. The file is `NVR\\0`, then sized
protobuf messages: the file's header, and per block a header and its payload. The fields' meaning comes with
Nsight Compute (extras/FileFormat/ProfilerReport.proto). An `.ncu-repz` is the same, compressed by zstd. A file
of another layout is not judged.
"""

from __future__ import annotations

import io
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.evidence.readers.zstd_frame import MAGIC as ZSTD
from nsight_suite.evidence.readers.zstd_frame import is_whole

MAGIC = b"NVR\x00"
# Fields of a block's header.
_RESULTS, _SESSION, _PAYLOAD_SIZE, _PROCESS = 2, 3, 5, 6
_ALL_RESULTS = (_RESULTS, 7, 8, 9)  # kernels, ranges, command lists, graphs
# Fields of a session, of what is in it, and of a process.
_TARGET_SYSTEM, _DEVICE, _VERSION, _COMMAND_LINE = 4, 6, 8, 11
_COMPUTER, _NAME, _PROVIDER, _TEXT, _PROCESS_ID, _PROCESS_NAME = 5, 2, 1, 2, 1, 3
# Session details are small; results are not.
_MOST_HEADERS = 1_000_000

Buffer = bytes | mmap.mmap
Value = int | bytes


@dataclass(frozen=True)
class Extent:
    """What the blocks of a report announce. `results` counts those of whole blocks only, None when unknown.

    `plain`: all payloads are sized messages. NVIDIA's package trusts these sizes.
    """

    results: int | None
    whole: bool
    plain: bool = True


@dataclass(frozen=True)
class Session:
    """What a report tells of its making. Of these only the tool's version may enter the evidence."""

    tool_version: str | None = None
    command_line: str | None = None
    computers: frozenset[str] = frozenset()
    programs: frozenset[str] = frozenset()
    gpus: frozenset[str] = frozenset()
    process_ids: tuple[int, ...] = ()


def extent(path: Path) -> Extent | None:
    """Walk the blocks of a report; None when it is not laid out as this module knows."""
    with _content(path) as data:
        if data[:4] == ZSTD:
            return None if is_whole(data) else Extent(None, whole=False)
        if data[:4] != MAGIC:
            return None
        results, plain = 0, True
        try:
            for header, payload in _headers(data):
                if payload.stop > len(data):
                    return Extent(results, whole=False)
                plain = plain and _holds_messages(data, payload)
                results += sum(
                    n for field, n in _fields(header) if field in _ALL_RESULTS and isinstance(n, int)
                )
        except ValueError:
            return None
    return Extent(results, whole=True, plain=plain)


def session(path: Path) -> Session:
    """What the headers of a report tell; nothing of a compressed one that cannot be unpacked here."""
    found = Session()
    try:
        with _content(path) as raw:
            data = _unpacked(raw)
            for header, _ in _headers(data) if data is not None else ():
                found = _more(found, dict(_fields(header)))
    except ValueError:
        return found
    return found


def _more(found: Session, header: dict[int, Value]) -> Session:
    """The session with what one block's header adds."""
    process, details = _message(header.get(_PROCESS)), _message(header.get(_SESSION))
    version = _message(details.get(_VERSION))
    is_tool = b"Nsight Compute" in _bytes(version.get(_PROVIDER))
    pid = process.get(_PROCESS_ID)
    return Session(
        tool_version=_text(version.get(_TEXT)) if is_tool else found.tool_version,
        command_line=_text(details.get(_COMMAND_LINE)) or found.command_line,
        computers=found.computers | _named(_message(details.get(_TARGET_SYSTEM)).get(_COMPUTER)),
        programs=found.programs | _named(process.get(_PROCESS_NAME)),
        gpus=found.gpus | _named(_message(details.get(_DEVICE)).get(_NAME)),
        process_ids=found.process_ids
        if not isinstance(pid, int) or pid in found.process_ids
        else (*found.process_ids, pid),
    )


def _named(value: Value | None) -> frozenset[str]:
    text = _text(value)
    return frozenset({text}) if text else frozenset()


def _text(value: Value | None) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else None


def _bytes(value: Value | None) -> bytes:
    return value if isinstance(value, bytes) else b""


def _message(value: Value | None) -> dict[int, Value]:
    return dict(_fields(value)) if isinstance(value, bytes) else {}


@contextmanager
def _content(path: Path) -> Iterator[Buffer]:
    """The bytes of a file, without reading them all."""
    if not path.stat().st_size:
        yield b""
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield data


def _unpacked(data: Buffer) -> Buffer | None:
    if data[:4] != ZSTD:
        return data
    try:
        import pyarrow  # type: ignore[import-untyped]
    except ImportError:
        return None
    try:
        with pyarrow.input_stream(io.BytesIO(data[:]), compression="zstd") as stream:
            return bytes(stream.read())
    except OSError:
        return None


def _headers(data: Buffer) -> Iterator[tuple[bytes, range]]:
    """The header of each block, and where its payload should lie. Raises ValueError for another layout."""
    if data[:4] != MAGIC:
        raise ValueError("not a report")
    at = _after_message(data, len(MAGIC))
    if at > len(data):
        yield b"", range(at, at)
    for _ in range(_MOST_HEADERS):
        if at >= len(data):
            return
        begin, at = at + 4, _after_message(data, at)
        if at > len(data):
            yield b"", range(at, at)
            return
        header = bytes(data[begin:at])
        size = dict(_fields(header)).get(_PAYLOAD_SIZE, 0)
        if not isinstance(size, int):
            raise ValueError("a size is a number")
        yield header, range(at, at + size)
        at += size


def _holds_messages(data: Buffer, payload: range) -> bool:
    at = payload.start
    while at < payload.stop:
        at = _after_message(data, at)
    return at == payload.stop


def _after_message(data: Buffer, at: int) -> int:
    size = int.from_bytes(data[at : at + 4], "little")
    return at + 4 + size


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """The fields of a protobuf message: numbers and bytes. Raises ValueError for what is no message."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
        elif kind == 2:
            size, at = _varint(message, at)
            if at + size > len(message):
                raise ValueError("the message ends inside a field")
            yield tag >> 3, message[at : at + size]
            at += size
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"no protobuf field has the wire type {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
    raise ValueError("the message ends inside a number")
