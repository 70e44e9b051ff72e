"""Answers in every form: columns told apart, nothing a terminal obeys, and files that cannot be written."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest

from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.evidence.store import Store, open_store
from nsight_suite.querying import ask_sql, copy_sql, formats, run_sql
from nsight_suite.runfolder import RunFolder


@pytest.fixture(scope="module")
def store(synthetic_run: RunFolder) -> Store:
    return open_store(synthetic_run)


def test_columns_of_one_name_are_told_apart_as_duckdb_does(store: Store) -> None:
    sql = 'SELECT 1 AS a, 2 AS a, 3 AS "A", 4 AS a_1'
    result = run_sql(store, sql)
    assert json.loads(formats.as_text(result, "json")) == [{"a": 1, "a_1": 2, "A_2": 3, "a_1_1": 4}]
    assert list(result.frame().columns) == list(store.connection.execute(sql).df().columns)


@pytest.mark.parametrize("form", ["table", "md"])
def test_control_characters_are_shown_and_not_obeyed(store: Store, form: str) -> None:
    sql = "SELECT 'a' || chr(27) || '[31m' || chr(8238) || chr(8232) || chr(10) || 'é' AS \"x\u001by\""
    header, _, row = formats.as_text(run_sql(store, sql), form).splitlines()
    assert "x\\x1by" in header
    assert "a\\x1b[31m\\u202e\\u2028 é" in row


def test_markdown_keeps_its_columns_whatever_a_cell_holds(store: Store) -> None:
    header, _, row = formats.as_text(run_sql(store, "SELECT 'x|y<int>' AS \"a|b\""), "md").splitlines()
    assert ("a\\|b" in header, "x\\|y\\<int>" in row) == (True, True)


def test_a_parquet_file_that_cannot_be_written_is_named(synthetic_run: RunFolder, tmp_path: Path) -> None:
    target = tmp_path / f"{'a' * 260}.parquet"  # too long for the file system
    with pytest.raises(SuiteError, match=r"cannot be written.*aaa"):
        copy_sql(open_store(synthetic_run, writes=target), "SELECT 1 AS n", target)
    assert list(tmp_path.iterdir()) == []


def test_a_parquet_file_tells_columns_apart_and_keeps_the_order(
    synthetic_run: RunFolder, tmp_path: Path
) -> None:
    target = tmp_path / "it's.parquet"
    sql = "SELECT range AS a, 2 AS a, NULL AS n FROM range(5000) ORDER BY range % 7, range DESC"
    copy_sql(open_store(synthetic_run, writes=target), sql, target)
    written = duckdb.sql("FROM read_parquet($path)", params={"path": str(target)})
    assert (written.columns, str(written.types[2])) == (["a", "a_1", "n"], "VARCHAR")
    assert [row[0] for row in written.fetchall()] == sorted(range(5000), key=lambda n: (n % 7, -n))


@pytest.mark.parametrize("end", ["", ";", "; -- a;", " -- it's ;\n;;", " /* ; */ ; -- '"])
def test_sql_is_copied_whatever_it_ends_in(synthetic_run: RunFolder, tmp_path: Path, end: str) -> None:
    target = tmp_path / "answer.parquet"
    copy_sql(open_store(synthetic_run, writes=target), f"SELECT '; -- x' AS \"a;b\"{end}", target)
    assert duckdb.sql(f"FROM read_parquet('{target}')").fetchall() == [("; -- x",)]


def test_an_answer_can_be_copied_to_its_own_file_alone(synthetic_run: RunFolder, tmp_path: Path) -> None:
    store = open_store(synthetic_run, writes=tmp_path / "answer.parquet")
    with pytest.raises(SuiteError, match="file system operations are disabled"):
        copy_sql(store, "SELECT 1 AS n", tmp_path / "other.parquet")
    with pytest.raises(UsageError, match="COPY"):
        run_sql(store, f"COPY (SELECT 1) TO '{tmp_path / 'answer.parquet'}'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rows", [0, 1, 10_000, 10_001, 25_000])
def test_batches_join_to_the_text_of_the_whole(store: Store, rows: int) -> None:
    sql = f"SELECT range AS n, 'a\"b,' || range AS text, [range, NULL] AS list FROM range({rows})"
    records = run_sql(store, sql).records()
    assert "".join(formats.pieces(ask_sql(store, sql), "json")) == json.dumps(records, indent=2) + "\n"
    lines = list(csv.reader(io.StringIO("".join(formats.pieces(ask_sql(store, sql), "csv")))))
    assert lines[0] == ["n", "text", "list"]
    assert lines[1:] == [[str(row["n"]), row["text"], json.dumps(row["list"])] for row in records]


def test_no_more_of_an_answer_is_fetched_than_is_asked_for(store: Store) -> None:
    pieces = formats.pieces(ask_sql(store, "SELECT range AS n FROM range(1000000000000)"), "csv")
    assert (next(pieces), next(pieces)[:6]) == ("n\n", "0\n1\n2\n")


def test_a_fault_far_into_an_answer_is_told_as_one_at_its_start(store: Store) -> None:
    sql = "SELECT CASE WHEN range < 900000 THEN range ELSE error('too far') END AS n FROM range(1000000)"
    answer = ask_sql(store, sql)
    with pytest.raises(UsageError, match="too far"):
        answer.whole()


@pytest.mark.parametrize("form", ["table", "md"])
def test_a_table_that_no_one_can_read_is_refused(store: Store, form: str) -> None:
    with pytest.raises(UsageError, match="more than 100,000 rows") as told:
        list(formats.pieces(ask_sql(store, "SELECT range AS n FROM range(100001)"), form))
    assert "--format csv" in told.value.way_out
