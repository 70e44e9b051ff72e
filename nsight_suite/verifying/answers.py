"""What a query gives, within limits, and what a summary says: both as text, and where they differ."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Timer
from typing import Any

from nsight_suite.errors import SuiteError
from nsight_suite.evidence.store import Store
from nsight_suite.querying import Result, ask_sql
from nsight_suite.querying.formats import as_text

# Floats went through text, so they are the same to the last digits only.
_RELATIVE = 1e-9
_FIELD_CHARACTERS = 16 << 20


def ask(store: Store, sql: str, seconds: float, rows: int) -> Result:
    """What a query gives: no more than a row beyond `rows`. Raises SuiteError, also when it takes longer."""
    ended = []

    def end() -> None:
        ended.append(True)
        store.connection.interrupt()

    timer = Timer(seconds, end)
    timer.start()
    try:
        answer = ask_sql(store, sql)
        given: list[tuple[Any, ...]] = []
        for batch in answer.batches:
            given += batch
            if len(given) > rows:
                break
        return Result(answer.columns, answer.types, tuple(given[: rows + 1]))
    except SuiteError as error:
        what = f"was still running after {seconds:g} s" if ended else error.what
        raise SuiteError(what) from error
    finally:
        timer.cancel()


def read_summary(path: Path, inside: str) -> tuple[list[str], list[list[str]]]:
    """The columns and rows of a summary, all as text. Raises SuiteError for what is no table."""
    try:
        columns, found = parsed(path.read_text(encoding="utf-8"))
    except (csv.Error, UnicodeDecodeError) as error:
        raise SuiteError(f"{inside} is no CSV table: {error}.") from error
    if not columns or any(len(row) != len(columns) for row in found):
        raise SuiteError(f"{inside} is no table: its rows are of several lengths.")
    return columns, found


def parsed(text: str) -> tuple[list[str], list[list[str]]]:
    """The columns and rows of a CSV table."""
    csv.field_size_limit(_FIELD_CHARACTERS)
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    return next(rows, []), list(rows)


def differences(answer: Result, recorded: Sequence[Sequence[str]]) -> Iterator[tuple[int, str, str, str]]:
    """Values that differ: row from 0, column, what was recorded, what is given now, both as text.

    Floats are the same to 1e-9 of themselves, all else exactly. An order of rows that the query itself does not
    tell is none: then the rows are compared as a set.
    """
    columns, rows = parsed(as_text(answer, "csv"))
    found = _differing(columns, rows, recorded)
    first = next(found, None)
    if first is None or sorted(rows) == sorted(map(list, recorded)):
        return
    yield first
    yield from found


def _differing(
    columns: Sequence[str], rows: Sequence[Sequence[str]], recorded: Sequence[Sequence[str]]
) -> Iterator[tuple[int, str, str, str]]:
    for number, (given, told) in enumerate(zip(rows, recorded, strict=False)):
        for column, now, text in zip(columns, given, told, strict=True):
            if now != text and not _close(now, text):
                yield number, column, text, now


def _close(one: str, other: str) -> bool:
    """Whether two texts are floats that went through text; whole numbers are exact."""
    if one.lstrip("-").isdecimal() and other.lstrip("-").isdecimal():
        return False
    try:
        return math.isclose(float(one), float(other), rel_tol=_RELATIVE)
    except ValueError:
        return False
