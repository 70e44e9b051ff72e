"""Scanning files that are no tables: texts line by line, binary files by their printable stretches.

However large a file is, one block of it is held at a time.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from nsight_suite.evidence.leaks import Secret
from nsight_suite.scanning.findings import Kind, Sign, Tally
from nsight_suite.scanning.signs import WELL_KNOWN, is_somebody, signs_of, signs_of_line

_BLOCK = 1 << 20
_OVERLAP = 4096
_STRETCH = re.compile(rb"[\x20-\x7e]{6,}")
# A map entry of a protobuf message as nsys writes the environment: name and value, each behind its length.
_ENTRY = re.compile(rb"\x0a([\x02-\x64])([A-Za-z_][A-Za-z0-9_]*)\x12(?!\0)")
# Random bytes spell short paths: in a binary file only those count that begin where paths begin.
_ROOTS = re.compile(
    r"/(?:home|root|Users|usr|opt|tmp|var|etc|mnt|media|data|srv|proc|sys|run|nfs|scratch|lustre|gpfs|work\w*"
    r"|projects?|shared?|local|private|Library|Applications|nethome|export)/"
)
_PROCESS = "Process Name"
_HOST = "Host Name"


def scan_text(stream: BinaryIO, tally: Tally, known: Sequence[Secret]) -> None:
    """Count what each line tells. In a page of ncu the columns of processes and hosts stand in its header."""
    columns: dict[str, int] = {}
    for number, raw in enumerate(_lines(stream), start=1):
        line = raw.decode("utf-8", "replace")
        place = f"line {number}"
        tally.add(place, signs_of_line(line, known))
        if '"Kernel Name"' in line and '"ID"' in line:
            columns = {name: position for position, name in enumerate(_cells(line))}
        elif columns and line.startswith('"'):
            tally.add(place, _of_row(_cells(line), columns))


def _of_row(cells: list[str], columns: Mapping[str, int]) -> Iterator[Sign]:
    for column, kind in ((_PROCESS, Kind.PROCESS), (_HOST, Kind.HOST)):
        position = columns.get(column, len(cells))
        if position < len(cells) and is_somebody(cells[position]):
            yield Sign(kind)


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; one that is longer than a block comes in pieces."""
    while line := stream.readline(_BLOCK):
        yield line.rstrip(b"\r\n")


def scan_binary(stream: BinaryIO, tally: Tally, known: Sequence[Secret]) -> None:
    """Count what printable stretches and entries of an environment tell."""
    offset, kept = 0, b""
    while block := stream.read(_BLOCK):
        content = kept + block
        begin = offset - len(kept)
        # What begins in the last part is looked at with the next block, where its end is.
        end = len(content) - _OVERLAP if len(block) == _BLOCK else len(content)
        for place, sign in _in_block(content, known):
            if place < end:
                tally.add(f"byte {begin + place}", [sign])
        offset += len(block)
        kept = content[end:]


def _in_block(content: bytes, known: Sequence[Secret]) -> Iterator[tuple[int, Sign]]:
    for entry in _ENTRY.finditer(content):
        name = entry[2].decode()
        if len(name) == entry[1][0] and (name.isupper() or name in WELL_KNOWN):
            yield entry.start(), Sign(Kind.ENVIRONMENT, name)
    for stretch in _STRETCH.finditer(content):
        text = stretch[0].decode()
        for sign in signs_of(text, known):
            if sign.kind is not Kind.PATH or _ROOTS.search(text):
                yield stretch.start(), sign
