"""The manifest's queries run again on the evidence: their answers against the summaries, value by value."""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Timer
from typing import Any

from nsight_suite.errors import SuiteError
from nsight_suite.evidence.store import Store
from nsight_suite.evidence.views import shared_views
from nsight_suite.manifest import QueryEntry
from nsight_suite.querying import Result, ask_sql, open_evidence
from nsight_suite.querying.formats import as_text
from nsight_suite.sealing import queries_of_run
from nsight_suite.verifying.checks import Check, Findings, Subject

NAME = "summaries"
ABOUT = "each query of the manifest gives the rows of its summary again"

SECONDS = 120.0
# Floats went through text, so they are the same to the last digits only.
_RELATIVE = 1e-9
_LONGEST = 80
_FIELD_CHARACTERS = 16 << 20


def check(subject: Subject, seconds: float = SECONDS) -> Check:
    """`seconds` is what one query may take: its SQL is anybody's."""
    found = Findings()
    manifest = subject.manifest
    if manifest is None or not manifest.queries:
        found.miss("there is no manifest" if manifest is None else "the manifest names no queries")
        return found.as_check(NAME, ABOUT)
    _compare_views(subject, found)
    own = queries_of_run(subject.run, subject.outside)
    if unasked := own.keys() - {query.name for query in manifest.queries}:
        found.note(
            f"this suite would also ask {', '.join(sorted(unasked))}, which the manifest does not tell of"
        )
    with found.readable("evidence"):
        store = open_evidence(subject.run)
        with store.connection:
            for query in manifest.queries:
                _compare_text(query, own, found)
                if query.summary is None:
                    found.miss(f"{query.name} has no summary: {query.reason or 'no reason is told'}")
                    continue
                with found.readable(query.name):
                    _compare_rows(subject, store, query, seconds, found)
    return found.as_check(NAME, ABOUT)


def _compare_views(subject: Subject, found: Findings) -> None:
    """Views are those of this suite, whatever the manifest says of them."""
    assert subject.manifest
    for view in subject.manifest.views:
        if _digest(view.sql) != view.sha256:
            found.fail(f"view {view.name}", "its SQL text does not have its SHA-256")
        there = shared_views().get(view.name)
        if there is not None and there.statements != view.sql:
            found.note(f"other version of the view {view.name}: the queries were run with this suite's own")


def _compare_text(query: QueryEntry, own: Mapping[str, str], found: Findings) -> None:
    if _digest(query.sql) != query.sha256:
        found.fail(query.name, f"its SQL text has the SHA-256 {_digest(query.sql)}, not {query.sha256}")
    mine = own.get(query.name)
    if mine is None:
        found.note(f"{query.name} is no query of this suite")
    elif mine != query.sql:
        found.note(f"other version of the query {query.name}: the manifest's own text was run")


def _compare_rows(subject: Subject, store: Store, query: QueryEntry, seconds: float, found: Findings) -> None:
    inside = str(query.summary)
    if inside not in subject.files:
        found.fail(query.name, f"its summary {inside} is not here")
        return
    found.count("queries")
    columns, recorded = read_summary(subject.path(inside), inside)
    answer = _answer(store, query, seconds, len(recorded))
    if list(answer.columns) != columns:
        found.fail(
            query.name, f"gives the columns {', '.join(answer.columns)}; {inside} has {', '.join(columns)}"
        )
        return
    if len(answer.rows) != len(recorded):
        more = "more than " if len(answer.rows) > len(recorded) else ""
        given = len(recorded) if more else len(answer.rows)
        found.fail(query.name, f"gives {more}{given} rows; {inside} has {len(recorded)}")
    if query.rows != len(recorded):
        found.fail(query.name, f"had {query.rows} rows by the manifest; {inside} has {len(recorded)}")
    for at, column, told, now in differences(answer, recorded):
        row = dict(zip(columns, recorded[at], strict=True))
        found.fail(
            query.name,
            f"row {at + 1}{_of(row)}, column {column}: {inside} says {_value(told)}, the evidence gives "
            f"{_value(now)}",
        )
    found.count("values", len(recorded) * len(columns))


def _answer(store: Store, query: QueryEntry, seconds: float, rows: int) -> Result:
    """What a query gives now: no more than a row beyond those that it should give. Raises SuiteError."""
    ended = []

    def end() -> None:
        ended.append(True)
        store.connection.interrupt()

    timer = Timer(seconds, end)
    timer.start()
    try:
        answer = ask_sql(store, query.sql)
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


def _of(row: Mapping[str, str]) -> str:
    named = [row[name] for name in ("case_id", "pass", "kernel", "name") if row.get(name)]
    return f" ({_value(', '.join(named))})" if named else ""


def _value(text: str) -> str:
    text = text or "nothing"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _digest(sql: str) -> str:
    return hashlib.sha256(sql.encode()).hexdigest()
