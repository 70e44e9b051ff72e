"""The driver's records and the sanitizer's logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nsight_suite.errors import BadReport
from nsight_suite.evidence import store
from nsight_suite.evidence.readers import driver_records, sanitizer_log

END = {"table": "_end", "state": "ok"}
SAMPLE = {
    "table": "sample",
    "case_id": "c",
    "quantity": "completion",
    "round": 0,
    "duration_ns": 9_007_199_254_740_993,
}


@pytest.fixture
def connection() -> Iterator[store.Connection]:
    with store.empty_store() as opened:
        yield opened


def rows(connection: store.Connection, sql: str) -> list[Any]:
    found = connection.execute(sql).fetchall()
    return [row[0] if len(row) == 1 else row for row in found]


def read(connection: store.Connection, folder: Path, *records: object) -> None:
    text = "".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records)
    path = folder / "timing.jsonl"
    path.write_text(text, encoding="utf-8")
    driver_records.read(connection, path, "timing")


def findings(connection: store.Connection) -> list[Any]:
    return rows(connection, "SELECT code, subject FROM finding ORDER BY ALL")


def test_records_become_rows_with_exact_integers(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, SAMPLE, {"table": "_progress", "done": 1, "total": 2, "what": "c"}, END)
    assert rows(connection, "SELECT pass, case_id, position, duration_ns FROM sample") == [
        ("timing", "c", None, 9_007_199_254_740_993)
    ]
    assert rows(connection, "SELECT file, format, rows, complete FROM report") == [
        ("timing.jsonl", "driver-records", 1, True)
    ]
    assert findings(connection) == []


def test_records_without_their_end_are_kept_and_told(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, SAMPLE, SAMPLE, json.dumps(SAMPLE)[:25])
    assert rows(connection, "SELECT count(*) FROM sample") == [2]
    assert rows(connection, "SELECT complete FROM report") == [False]
    assert findings(connection) == [("truncated-records", "timing.jsonl")]
    assert "line 3" in rows(connection, "SELECT reason FROM finding")[0]


def test_a_driver_s_own_failure_is_told_without_its_paths(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, {"table": "_end", "state": "failed", "reason": "cannot load /home/me/row.cubin"})
    assert rows(connection, "SELECT code, reason FROM finding") == [("driver-failed", "cannot load row.cubin")]


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"table": "sample", "round": ' + "[" * 100_000,
        f'{{"table": "sample", "round": {"1" * 10_000}}}',
    ],
    ids=["nested", "nested value", "digits"],
)
def test_lines_that_no_parser_can_take_are_told(
    connection: store.Connection, tmp_path: Path, line: str
) -> None:
    read(connection, tmp_path, line, SAMPLE, END)
    assert findings(connection) == [("bad-line", "line 1")]
    assert rows(connection, "SELECT count(*) FROM sample") == [1]


def test_half_a_surrogate_pair_is_told_wherever_it_stands(connection: store.Connection, tmp_path: Path) -> None:
    odd = "\ud800"
    failed = {"table": "_end", "state": odd, "reason": odd}
    read(connection, tmp_path, {**SAMPLE, odd: 1, "case_id": odd}, {"table": odd}, {odd: odd}, failed)
    assert findings(connection) == [
        ("bad-value", "sample.case_id"),
        ("driver-failed", "timing.jsonl"),
        ("unknown-column", "sample.?"),
        ("unknown-table", "timing.jsonl: table ?"),
        ("unknown-table", "timing.jsonl: table None"),
    ]


@pytest.mark.parametrize(
    ("duration", "code"),
    [("null", "no-duration"), ("NaN", "bad-value"), ("1.5", "bad-value"), ("Infinity", "bad-value")],
)
def test_a_duration_that_is_none_is_told(
    connection: store.Connection, tmp_path: Path, duration: str, code: str
) -> None:
    read(connection, tmp_path, json.dumps(SAMPLE).replace(str(SAMPLE["duration_ns"]), duration), END)
    assert findings(connection) == [(code, "sample.duration_ns")]
    assert rows(connection, "SELECT duration_ns FROM sample") == [None]


def test_a_failed_end_is_not_made_good_by_a_later_one(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, END, {"table": "_end", "state": "failed", "reason": "first"}, SAMPLE, END)
    assert rows(connection, "SELECT code, reason FROM finding") == [("driver-failed", "first")]


def test_what_does_not_fit_is_told_and_the_rest_is_kept(connection: store.Connection, tmp_path: Path) -> None:
    read(
        connection,
        tmp_path,
        {**SAMPLE, "colour": "red", "round": "first"},
        {"table": "sampel", "round": 1},
        {"table": "kernel", "name": "not the driver's to say"},
        "not JSON",
        [1, 2],
        END,
    )
    assert findings(connection) == [
        ("bad-line", "line 4"),
        ("bad-line", "line 5"),
        ("bad-value", "sample.round"),
        ("unknown-column", "sample.colour"),
        ("unknown-table", "timing.jsonl: table kernel"),
        ("unknown-table", "timing.jsonl: table sampel"),
    ]
    assert rows(connection, "SELECT round, duration_ns FROM sample") == [(None, 9_007_199_254_740_993)]
    assert rows(connection, "SELECT count(*) FROM kernel") == [0]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("round", True),
        ("round", 1.5),
        ("round", 2**63),
        ("round", "1"),
        ("case_id", 7),
        ("case_id", "\ud800"),
        ("duration_ns", [1]),
    ],
)
def test_values_of_a_wrong_type_are_null(
    connection: store.Connection, tmp_path: Path, column: str, value: object
) -> None:
    read(connection, tmp_path, {**SAMPLE, column: value}, END)
    assert rows(connection, f"SELECT {column} FROM sample") == [None]
    assert findings(connection) == [("bad-value", f"sample.{column}")]


def test_a_record_belongs_to_the_pass_of_its_file(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, {**SAMPLE, "pass": "nsys"}, END)
    assert rows(connection, "SELECT pass FROM sample") == ["timing"]
    assert findings(connection) == [("other-pass", "sample.pass")]


def test_a_number_that_is_none_is_null(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, '{"table": "validation", "check": "error", "worst": NaN}', END)
    assert rows(connection, "SELECT worst FROM validation") == [None]
    assert findings(connection) == [("bad-value", "validation.worst")]


def test_an_empty_file_is_cut_off(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path)
    assert findings(connection) == [("truncated-records", "timing.jsonl")]


def test_a_missing_file_is_refused_by_name(connection: store.Connection, tmp_path: Path) -> None:
    with pytest.raises(BadReport, match=r"timing\.jsonl"):
        driver_records.read(connection, tmp_path / "timing.jsonl", "timing")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
_column = st.sampled_from(["table", "pass", "case_id", "round", "duration_ns", "worst", "passed", "other"])


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(_column, _json) | _json, max_size=4), st.sampled_from(["sample", "validation"]))
def test_no_record_breaks_the_reader(
    connection: store.Connection, tmp_path: Path, records: list[object], table: str
) -> None:
    named = [{**record, "table": table} if isinstance(record, dict) else record for record in records]
    read(connection, tmp_path, *(json.dumps(record) for record in [*records, *named]), END)


# -- compute-sanitizer -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "errors", "summary"),
    [
        ("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", 0, "ERROR SUMMARY: 0 errors"),
        ("========= ERROR SUMMARY: 1 error\n", 1, "ERROR SUMMARY: 1 error"),
        (
            "========= ERROR SUMMARY: 0 errors\n========= ERROR SUMMARY: 3 errors\n",
            3,
            "ERROR SUMMARY: 0 errors; ERROR SUMMARY: 3 errors",
        ),
        (
            "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)\n",
            2,
            "RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)",
        ),
    ],
)
def test_the_sanitizer_s_summary_is_taken(
    connection: store.Connection, tmp_path: Path, text: str, errors: int, summary: str
) -> None:
    path = tmp_path / "sanitize.memcheck.log"
    path.write_text(text)
    sanitizer_log.read(connection, path, "sanitize")
    assert rows(connection, "SELECT pass, tool, errors, summary FROM sanitizer") == [
        ("sanitize", "memcheck", errors, summary)
    ]
    assert findings(connection) == []


def test_without_a_summary_the_errors_are_unknown_not_zero(
    connection: store.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "sanitize.synccheck.log"
    path.write_text("========= COMPUTE-SANITIZER\n========= Error: process didn't terminate successfully\n")
    sanitizer_log.read(connection, path, "sanitize")
    assert rows(connection, "SELECT tool, errors, summary FROM sanitizer") == [("synccheck", None, None)]
    assert findings(connection) == [("no-sanitizer-summary", "sanitize.synccheck.log")]


def test_a_block_becomes_its_rows(connection: store.Connection, tmp_path: Path) -> None:
    block = {"stage": ["A", "B"], "job": [0, 0], "tile": [None, 3], "start_ns": [5, "six"]}
    lines = [
        {"table": "task", "case_id": "jobs:queue:graph:ragged", "invocation": 0, "_rows": block},
        {"table": "task", "pass": "trace", "_rows": {"job": [1, 2], "tile": [1]}},
        {"table": "task", "pass": "trace", "_rows": 7},
        {"table": "_end", "state": "ok"},
    ]
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    driver_records.read(connection, path, "trace")
    sql = "SELECT case_id, invocation, stage, job, tile, start_ns FROM task ORDER BY ALL"
    assert connection.execute(sql).fetchall() == [
        ("jobs:queue:graph:ragged", 0, "A", 0, None, 5),
        ("jobs:queue:graph:ragged", 0, "B", 0, 3, None),
    ]
    found = connection.execute("SELECT code, subject FROM finding ORDER BY ALL").fetchall()
    assert found == [("bad-block", "task"), ("bad-value", "task.start_ns")]
