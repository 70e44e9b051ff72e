"""Answers in every form: columns told apart, nothing a terminal obeys, and files that cannot be written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nsight_suite.errors import SuiteError
from nsight_suite.evidence.store import Store, open_store
from nsight_suite.querying import formats, run_sql
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
    sql = "SELECT 'a' || chr(27) || '[31m' || chr(8238) || chr(10) || 'é' AS \"x\u001by\""
    header, _, row = formats.as_text(run_sql(store, sql), form).splitlines()
    assert "x\\x1by" in header
    assert "a\\x1b[31m\\u202e é" in row


def test_markdown_keeps_its_columns_whatever_a_cell_holds(store: Store) -> None:
    header, _, row = formats.as_text(run_sql(store, "SELECT 'x|y' AS \"a|b\""), "md").splitlines()
    assert ("a\\|b" in header, "x\\|y" in row) == (True, True)


def test_a_parquet_file_that_cannot_be_written_is_named(store: Store, tmp_path: Path) -> None:
    name = f"{'a' * 245}.parquet"  # its temporary name is too long for the file system
    with pytest.raises(SuiteError, match=r"Cannot write .*aaa"):
        formats.write_parquet(run_sql(store, "SELECT 1 AS n"), tmp_path / name)
    assert list(tmp_path.iterdir()) == []
