"""Named queries are documented, ordered and read only; results keep integers exact and NULL apart from zero."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import threading
from pathlib import Path

import pytest

from nsight_suite.errors import CannotAnswer, UsageError
from nsight_suite.evidence.store import Store, empty_store, open_store, write_duckdb, write_parquet
from nsight_suite.evidence.tables import tables
from nsight_suite.querying import (
    Result,
    copy_sql,
    find_queries,
    find_query,
    formats,
    open_evidence,
    run_named,
    run_sql,
)
from nsight_suite.runfolder import RunFolder

QUERIES = [query.name for query in find_queries("row")]


def copy_of(run: RunFolder, folder: Path) -> RunFolder:
    """A copy that a test may spoil."""
    shutil.copytree(run.path, folder / "run")
    return RunFolder(folder / "run")


@pytest.fixture(scope="module")
def store(synthetic_run: RunFolder) -> Store:
    return open_store(synthetic_run)


@pytest.fixture(scope="module")
def answers(store: Store) -> dict[str, Result]:
    """What each query answers to the whole run."""
    return {name: run_named(store, name, "row") for name in QUERIES}


@pytest.mark.parametrize("name", QUERIES)
def test_header_documents_every_column_in_order(answers: dict[str, Result], name: str) -> None:
    query = find_query(name, "row")
    assert query.about.startswith("One row per ")
    assert tuple(query.columns) == answers[name].columns
    assert all(meaning.strip() for meaning in query.columns.values())


def test_every_query_has_a_total_order(
    answers: dict[str, Result], synthetic_run: RunFolder, tmp_path: Path
) -> None:
    """The same rows stored in another order give the same answers."""
    shuffled = RunFolder(tmp_path / "shuffled")
    shuffled.evidence.mkdir(parents=True)
    with empty_store() as connection:
        for name in tables():
            source = synthetic_run.evidence / f"{name}.parquet"
            target = shuffled.evidence / f"{name}.parquet"
            connection.execute("SELECT setseed(0.5)")
            rows = f"SELECT * FROM read_parquet('{source}') ORDER BY random()"
            connection.execute(f"COPY ({rows}) TO '{target}' (FORMAT parquet)")
    shuffled.expected.parent.mkdir()
    shuffled.expected.write_text(synthetic_run.expected.read_text())
    other = open_store(shuffled)
    for name in QUERIES:
        assert run_named(other, name, "row") == answers[name], name


def test_every_query_runs_on_empty_tables(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    with empty_store() as connection:
        write_parquet(connection, run.evidence)
    store = open_store(run)
    for name in QUERIES:
        assert run_named(store, name).rows == (), name


def test_queries_run_in_evidence_duckdb(synthetic_run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the DuckDB shell: views with paths relative to the run folder."""
    write_duckdb(synthetic_run)
    monkeypatch.chdir(synthetic_run.path)
    with empty_store() as connection:
        connection.execute("ATTACH 'evidence.duckdb' AS shell (READ_ONLY)")
        connection.execute("USE shell")
        for name in QUERIES:
            connection.execute(find_query(name).sql).fetchall()
        (comment,) = connection.execute(
            "SELECT comment FROM duckdb_views() WHERE view_name = 'invocation' AND database_name = 'shell'"
        ).fetchall()[0]
    assert "measured invocation" in comment


@pytest.mark.parametrize("experiment", ["", "of_another_suite", "../queries/views", "/tmp"])
def test_a_run_of_no_experiment_of_ours_has_the_common_queries(experiment: str) -> None:
    assert [query.name for query in find_queries(experiment)] == QUERIES


def test_unknown_query_names_what_comes_close() -> None:
    with pytest.raises(UsageError, match="There is no query 'kernel_count'") as caught:
        find_query("kernel_count")
    assert "kernel_counts" in caught.value.way_out


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("DROP VIEW kernel", "DROP"),
        ("SELECT 1; SELECT 2", "SELECT and SELECT"),
        ("COPY kernel TO 'kernel.csv'", "COPY"),
        ("WITH a AS (SELECT 1) INSERT INTO kernel SELECT * FROM a", "INSERT"),
        ("ATTACH 'other.duckdb'", "ATTACH"),
        ("SET threads = 1", "SET"),
        ("-- nothing", "no statement"),
        ("PIVOT kernel ON name USING count(*)", "PIVOT"),
        ("EXPLAIN ANALYZE DROP VIEW kernel", "DROP"),
        ("/* a */ explain -- b\n analyze (FORMAT json) CREATE MACRO m() AS 1", "CREATE"),
        ("UPDATE EXTENSIONS", "a statement that is no query"),
    ],
)
def test_sql_text_only_reads(store: Store, text: str, what: str) -> None:
    with pytest.raises(UsageError, match=f"holds {what}\\."):
        run_sql(store, text)


@pytest.mark.parametrize(
    "text", ["EXPLAIN SELECT 1", "explain analyze select 1", "EXPLAIN /* x */ (FORMAT json) SELECT 1"]
)
def test_a_plan_is_told(store: Store, text: str) -> None:
    assert run_sql(store, text).rows


@pytest.mark.parametrize("text", ["SELEC 1", "SELECT * FROM kernl", "SELECT * FROM read_csv('/etc/hostname')"])
def test_sql_that_does_not_run_says_why(store: Store, text: str) -> None:
    with pytest.raises(UsageError, match="The SQL does not run"):
        run_sql(store, text)


def test_sql_text_that_is_no_text_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="not valid UTF-8"):
        run_sql(store, "SELECT '\udcff'")


def test_interrupt_ends_a_long_query(store: Store) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run_sql(store, "SELECT sum(a.range * b.range % 7) FROM range(10000000) AS a, range(10000000) AS b")
    timer.join()
    assert run_sql(store, "SELECT 1").rows == ((1,),)


def test_a_damaged_table_is_told_when_a_query_meets_it(synthetic_run: RunFolder, tmp_path: Path) -> None:
    run = copy_of(synthetic_run, tmp_path)
    store = open_store(run)
    (run.evidence / "sample.parquet").write_bytes(b"no longer Parquet")
    with pytest.raises(CannotAnswer, match="The query 'host_completion' has no answer"):
        run_named(store, "host_completion")


def test_a_run_without_evidence_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotAnswer, match="holds no evidence"):
        open_evidence(RunFolder(tmp_path))


BIG = 9_007_199_254_740_993  # one more than a double can hold
ODD = (
    f"SELECT {BIG}::BIGINT AS big, NULL::BIGINT AS nothing, 0 AS zero, ['a', 'b'] AS names, 'x|\"y' AS text, "
    "'nan'::DOUBLE AS odd"
)


def test_json_keeps_integers_and_null(store: Store) -> None:
    (row,) = json.loads(formats.as_text(run_sql(store, ODD), "json"))
    assert row == {"big": BIG, "nothing": None, "zero": 0, "names": ["a", "b"], "text": 'x|"y', "odd": None}


def test_csv_round_trips(store: Store) -> None:
    (row,) = csv.DictReader(io.StringIO(formats.as_text(run_sql(store, ODD), "csv")))
    assert (row["big"], row["nothing"], row["zero"], row["text"]) == (str(BIG), "", "0", 'x|"y')
    assert json.loads(row["names"]) == ["a", "b"]


@pytest.mark.parametrize("form", ["table", "md"])
def test_tables_show_a_dash_for_null_and_never_zero(store: Store, form: str) -> None:
    text = formats.as_text(run_sql(store, ODD), form)
    assert str(BIG) in text
    assert "–" in text


def test_parquet_keeps_types(synthetic_run: RunFolder, tmp_path: Path) -> None:
    target = tmp_path / "answer.parquet"
    copy_sql(open_store(synthetic_run, writes=target), f"{ODD}; -- and no more", target)
    with empty_store() as connection:
        (back,) = connection.execute(f"SELECT * FROM read_parquet('{target}')").fetchall()
        kinds = [
            row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM read_parquet('{target}')").fetchall()
        ]
    assert back[:5] == (BIG, None, 0, ["a", "b"], 'x|"y')
    assert kinds == ["BIGINT", "BIGINT", "INTEGER", "VARCHAR[]", "VARCHAR", "DOUBLE"]
    assert list(tmp_path.iterdir()) == [target]  # no temporary file is left


def test_frames_keep_integers_where_some_are_missing(store: Store) -> None:
    frame = run_sql(store, f"SELECT * FROM (VALUES ({BIG}, true), (NULL, NULL)) AS t(big, yes)").frame()
    assert frame["big"].dtype == "Int64"
    assert frame["big"][0] == BIG
    assert frame.isna().sum().tolist() == [1, 1]


def test_a_frame_without_rows_has_its_columns(store: Store) -> None:
    frame = run_named(store, "findings").frame()
    assert list(frame.columns) == ["code", "pass", "case_id", "subject", "reason"]
    assert len(frame) == 0


def test_records_name_the_columns() -> None:
    assert Result(("a", "b"), ("BIGINT", "BIGINT"), ((1, None),)).records() == [{"a": 1, "b": None}]


@pytest.fixture
def without_kernels(synthetic_run: RunFolder, tmp_path: Path) -> Store:
    run = copy_of(synthetic_run, tmp_path)
    (run.evidence / "kernel.parquet").unlink()
    return open_store(run)


def test_a_missing_table_is_refused_not_empty(without_kernels: Store) -> None:
    assert without_kernels.missing == {"kernel": "kernel.parquet is missing"}
    refused = "the table 'kernel' is not empty but missing: kernel.parquet is missing"
    with pytest.raises(CannotAnswer, match=f"The query 'kernel_order' has no answer: {refused}"):
        run_named(without_kernels, "kernel_order")  # by way of two views
    with pytest.raises(CannotAnswer, match=f"The SQL has no answer: {refused}"):
        run_sql(without_kernels, "SELECT count(*) FROM kernel")


@pytest.mark.parametrize("table", ["kernel", "range", "sample", "counter", "variant_case"])
def test_no_query_takes_a_missing_table_for_empty(
    answers: dict[str, Result], synthetic_run: RunFolder, tmp_path: Path, table: str
) -> None:
    run = copy_of(synthetic_run, tmp_path)
    (run.evidence / f"{table}.parquet").unlink()
    lacking, refused = open_store(run), 0
    for name in QUERIES:
        try:
            answer = run_named(lacking, name, "row")
        except CannotAnswer:
            refused += 1
        else:
            assert answer == answers[name], name
    assert 0 < refused < len(QUERIES)


def test_what_reads_other_tables_still_answers(without_kernels: Store) -> None:
    assert len(run_named(without_kernels, "host_completion").rows) == 12
    assert run_sql(without_kernels, "WITH kernel AS (SELECT 1) SELECT count(*) FROM kernel").rows == ((1,),)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "SELECT case_id, 1 AS kernels FROM variant_case",
            r"expected\.sql lacks the column graph_nodes, kernel_names",
        ),
        ("SELEC case_id", r"expected\.sql is no query that DuckDB can answer: Parser Error"),
        ("SELECT case FROM nowhere", r"expected\.sql is no query that DuckDB can answer"),
    ],
)
def test_a_wrong_declaration_is_named(synthetic_run: RunFolder, tmp_path: Path, text: str, what: str) -> None:
    run = copy_of(synthetic_run, tmp_path)
    run.expected.write_text(text)
    with pytest.raises(UsageError, match=what):
        open_evidence(run)


def test_a_declaration_may_count_in_any_integers(synthetic_run: RunFolder, tmp_path: Path) -> None:
    run = copy_of(synthetic_run, tmp_path)
    run.expected.write_text(
        "SELECT case_id, 1 AS kernels, NULL AS graph_nodes, ['a'] AS kernel_names, 2::UTINYINT AS "
        "logical_read_bytes, sum(3) OVER () AS logical_write_bytes FROM variant_case;\n"
    )
    result = run_sql(open_evidence(run), "SELECT DISTINCT * EXCLUDE (case_id) FROM expected")
    # What is not declared of memsets and of bytes read again is none.
    assert result.rows == ((1, None, ["a"], 2, 54, 0, 0),)
