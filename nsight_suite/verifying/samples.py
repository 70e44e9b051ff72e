"""Numbers worked out again in plain Python from the raw records: what the host's clock and nsys measured.

No SQL of the suite takes part, nor any of its readers: medians by `statistics`, quantiles by numpy.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from nsight_suite.protocol import SESSIONS
from nsight_suite.querying import open_evidence, query_text, run_sql
from nsight_suite.querying.formats import as_text
from nsight_suite.verifying.answers import parsed, read_summary
from nsight_suite.verifying.checks import Check, Findings, Subject
from nsight_suite.verifying.kernels import kernel_durations
from nsight_suite.verifying.records import Record, records, whole

NAME = "samples"
ABOUT = "medians and quantiles follow from the raw samples, worked out without SQL"

_KEYS = ("pass", "case_id", "quantity", "round", "position", "invocations", "bytes", "duration_ns")
_ROUNDED = 0.5 + 1e-6

Key = tuple[str, ...]
# Numbers by column.
Numbers = Mapping[str, float | int]


def check(subject: Subject) -> Check:
    """Samples, and the numbers that follow from them, against the evidence and its summaries."""
    found = Findings()
    raw = _raw_samples(subject, found)
    for name, samples in raw.items():
        with found.readable("evidence/sample.parquet"):
            _compare_raw(name, samples, subject, found)
    completions = _completions(raw)
    _compare("host_completion", ("case_id",), _first_session(completions), subject, found)
    _compare("session_completion", ("case_id", "pass"), completions, subject, found)
    export = "reports/nsys.sqlite"
    if export not in subject.files:
        found.miss(f"durations on the device: {export} is not here")
    else:
        with found.readable(export):
            durations, why = kernel_durations(subject.path(export))
            if why:
                found.miss(f"durations on the device: {why}")
            cases = set(subject.info["cases"])  # other ranges are what the driver does beside them
            mine = {key: numbers for key, numbers in durations.items() if key[0] in cases}
            _compare("kernel_time", ("case_id", "ordinal"), mine, subject, found)
    return found.as_check(NAME, ABOUT)


def _raw_samples(subject: Subject, found: Findings) -> dict[str, list[Record]]:
    """The records of samples by session."""
    raw: dict[str, list[Record]] = {}
    for name in SESSIONS:
        inside = _records_of(name)
        if inside in subject.files:
            with found.readable(inside):
                raw[name] = list(records(subject.path(inside), "sample"))
        elif inside in subject.left_out or name in subject.info["passes"]:
            found.miss(f"samples of the pass {name}: {inside} is not here")
    return raw


def _records_of(name: str) -> str:
    return f"reports/{name}.jsonl"


def _compare_raw(name: str, samples: Sequence[Record], subject: Subject, found: Findings) -> None:
    """Every sample of a session stands in its records and in the evidence, the same."""
    raw = Counter((name, *(_plain(record.get(key)) for key in _KEYS[1:])) for record in samples)
    sql = f"SELECT {', '.join(_KEYS)} FROM sample WHERE pass = '{name}'"
    with open_evidence(subject.plain, sql=sql).connection as connection:
        held = Counter(connection.execute(sql).fetchall())
    found.count("samples", raw.total())
    for alone, where in ((held - raw, "the evidence"), (raw - held, _records_of(name))):
        for row, times in alone.items():
            found.fail(f"sample of {row[1]}", f"{_told(row)}: {times} times in {where} alone")


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, str | int) else str(value)


def _told(row: Sequence[object]) -> str:
    _, _, quantity, number, position, _, _, duration = row
    return f"{row[0]}, {quantity}, round {number}, position {position}: {duration} ns"


def _completions(raw: Mapping[str, Sequence[Record]]) -> dict[Key, Numbers]:
    """Statistics of host completion by case and session."""
    numbers: dict[Key, Numbers] = {}
    for name, samples in raw.items():
        durations: dict[str, list[int]] = {}
        for record in samples:
            duration = whole(record.get("duration_ns"))
            if record.get("quantity") == "completion" and duration is not None:
                durations.setdefault(str(record.get("case_id")), []).append(duration)
        for case_id, values in durations.items():
            p10, p90 = np.quantile(np.array(values, dtype=np.float64), [0.1, 0.9])
            numbers[case_id, name] = {
                "samples": len(values),
                "median_ns": statistics.median(values),
                "p10_ns": float(p10),
                "p90_ns": float(p90),
                "min_ns": min(values),
                "max_ns": max(values),
            }
    return numbers


def _first_session(numbers: Mapping[Key, Numbers]) -> dict[Key, Numbers]:
    return {(case_id,): mine for (case_id, name), mine in numbers.items() if name == SESSIONS[0]}


def _compare(
    query: str, keys: Sequence[str], numbers: Mapping[Key, Numbers], subject: Subject, found: Findings
) -> None:
    """What was worked out here against what the query's summary says, and against its answer now."""
    if not numbers:
        return
    for where, rows in _sources(query, subject, found):
        there = {tuple(row.get(key, "") for key in keys): row for row in rows}
        for key, mine in numbers.items():
            if key not in there:
                found.fail(query, f"{where} has no row for {', '.join(key)}, which the raw records measured")
                continue
            for column, number in mine.items():
                told = there[key].get(column)
                if told is None:
                    continue  # the query does not tell this one
                found.count(f"numbers of {query}")
                if not told.lstrip("-").isdecimal() or abs(int(told) - number) > _ROUNDED:
                    found.fail(
                        query,
                        f"{', '.join(key)}, column {column}: {where} says {told or 'nothing'}, the raw records "
                        f"give {number:.10g}",
                    )
        if extra := there.keys() - numbers.keys():
            named = [key for key in extra if _tells(there[key], next(iter(numbers.values())))]
            for key in sorted(named):
                found.fail(query, f"{where} has a row for {', '.join(key)}, and no raw record measured it")


def _tells(row: Mapping[str, str], columns: Numbers) -> bool:
    return any(row.get(column) for column in columns)


def _sources(query: str, subject: Subject, found: Findings) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The rows of a query as text: of its summary where there is one, and as the evidence gives them."""
    inside = f"summaries/{query}.csv"
    if inside in subject.files:
        with found.readable(inside):
            columns, rows = read_summary(subject.path(inside), inside)
            yield inside, [dict(zip(columns, row, strict=True)) for row in rows]
    with found.readable(query):
        sql = query_text(query, subject.experiment)
        store = open_evidence(subject.plain, sql=sql)
        with store.connection:
            columns, rows = parsed(as_text(run_sql(store, sql), "csv"))
        yield "the evidence", [dict(zip(columns, row, strict=True)) for row in rows]
