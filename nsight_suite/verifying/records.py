"""The driver's records, read in plain Python: another reader than the one that builds the evidence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nsight_suite.errors import SuiteError

# One line holds a case's whole trace at most.
_LINE_BYTES = 256 << 20
_BLOCK = "_rows"

Record = dict[str, Any]


def records(path: Path, *tables: str) -> Iterator[Record]:
    """The rows of some tables in a file of records, in order; a block of columns gives its rows one by one.

    Lines that are no JSON object are passed over, as the evidence tells of them. Raises SuiteError for a file
    that cannot be read or has a line longer than any that a driver writes.
    """
    wanted = set(tables)
    try:
        with path.open("rb") as file:
            while line := file.readline(_LINE_BYTES + 1):
                if len(line) > _LINE_BYTES:
                    raise SuiteError(f"{path.name} has a line of more than {_LINE_BYTES >> 20} MiB.")
                # Most lines are of other tables.
                if any(f'"{table}"'.encode() in line for table in wanted):
                    yield from _rows(line, wanted)
    except OSError as error:
        raise SuiteError(f"{path.name} cannot be read: {error.strerror}.") from error


def _rows(line: bytes, wanted: set[str]) -> Iterator[Record]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(record, dict) or not isinstance(record.get("table"), str):
        return
    if record["table"] not in wanted:
        return
    block = record.pop(_BLOCK, None)
    if block is None:
        yield record
    elif isinstance(block, dict) and block and all(isinstance(column, list) for column in block.values()):
        for values in zip(*block.values(), strict=False):
            yield {**record, **dict(zip(block, values, strict=True))}


def whole(value: object) -> int | None:
    """A whole number that the evidence can hold; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return value
    return None
