"""A run folder with real reports becomes evidence: every table, each time the same, however bad one file is."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from real_run import DATA, make_real_run, refresh_artifacts, write_records

from nsight_suite import __version__
from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.evidence import store
from nsight_suite.evidence.build import build, collect
from nsight_suite.evidence.tables import tables
from nsight_suite.runfolder import RunFolder, read_json, sha256, write_json


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return make_real_run(tmp_path / "run")


def evidence(run: RunFolder, sql: str) -> list[Any]:
    """The rows of a query over the evidence that the run's files give."""
    with collect(run) as connection:
        found = connection.execute(sql).fetchall()
    return [row[0] if len(row) == 1 else row for row in found]


def findings(run: RunFolder) -> list[Any]:
    with collect(run) as connection:
        return connection.execute("SELECT code, pass, subject FROM finding ORDER BY ALL").fetchall()


def test_every_table_is_filled_from_the_reports(run: RunFolder) -> None:
    build(run)
    opened = store.open_store(run)
    assert opened.missing == {}
    counts = {name: opened.rows(f'SELECT count(*) AS n FROM "{name}"')[0]["n"] for name in tables()}
    expected = {
        "run": 1,
        "variant_case": 56,
        "pass": 6,
        "kernel": 63,
        "driven": 24,
        "sanitizer": 1,
        "finding": 0,
    }
    assert {name: counts[name] for name in expected} == expected
    assert opened.rows("SELECT run_id, suite_version, complete FROM run") == [
        {"run_id": "row-real", "suite_version": __version__, "complete": True}
    ]
    formats = opened.rows("SELECT DISTINCT format FROM report ORDER BY format")
    assert [row["format"] for row in formats] == ["driver-records", "ncu-csv", "nsys-sqlite", "sanitizer-log"]
    assert opened.rows("SELECT cache_control, graph_profiling FROM pass WHERE pass = 'ncu-warm'") == [
        {"cache_control": "none", "graph_profiling": "graph"}
    ]
    # Without a payload, the driver's count of invocations tells which workload belongs to which.
    unknown = "SELECT count(*) AS n FROM counter WHERE invocation IS NULL OR ordinal IS NULL"
    assert opened.rows(unknown) == [{"n": 0}]
    (case,) = opened.rows("SELECT * FROM variant_case WHERE case_id = 'row:fused:graph:7x781'")
    assert (case["case_order"], case["timed"], case["submission"]) == (6 * 8 + 3, False, "graph")
    assert json.loads(case["parameters"]) == {"rows": 7, "columns": 781}


def test_each_tool_has_one_version_per_pass(run: RunFolder) -> None:
    records = read_json(run.passes / "nsys.json")
    write_json(run.passes / "nsys.json", {**records, "tools": {"nsys": "2023.4.4.54-asked"}})
    assert evidence(run, "SELECT name, version FROM tool WHERE pass = 'nsys' ORDER BY name") == [
        ("cupy", "14.2.0"),
        ("nsys", "2023.4.4.54-asked"),
    ]


def test_the_same_files_give_the_same_evidence(run: RunFolder, tmp_path: Path) -> None:
    build(run)
    first = {path.name: sha256(path) for path in run.evidence.iterdir()}
    build(run)
    assert {path.name: sha256(path) for path in run.evidence.iterdir()} == first
    elsewhere = RunFolder(tmp_path / "elsewhere")
    shutil.copytree(run.path, elsewhere.path)
    build(elsewhere)
    assert {path.name: sha256(path) for path in elsewhere.evidence.iterdir()} == first


def test_no_path_of_the_machine_enters(run: RunFolder) -> None:
    assert evidence(run, "SELECT argv FROM pass WHERE pass = 'ncu'") == [
        '["python", "driver.py", "--plan", "plan.json"]'
    ]
    assert evidence(run, "SELECT DISTINCT options FROM build") == ['["-Ikernels", "--fmad=false"]']


def test_a_pass_that_never_finished_is_absent(run: RunFolder) -> None:
    (run.passes / "ncu-warm.json").unlink()
    for path in run.reports.glob("ncu-warm.*"):
        path.unlink()
    assert findings(run) == [("absent-pass", "ncu-warm", "ncu-warm")]
    assert evidence(run, "SELECT state FROM pass WHERE pass = 'ncu-warm'") == ["absent"]


def test_a_pass_that_failed_keeps_what_it_measured(run: RunFolder) -> None:
    record = read_json(run.passes / "nsys.json")
    reason = "killed while it wrote /home/me/x"
    write_json(run.passes / "nsys.json", {**record, "state": "failed", "reason": reason})
    assert evidence(run, "SELECT code, reason FROM finding") == [("failed-pass", "killed while it wrote x")]
    assert evidence(run, "SELECT count(*) FROM kernel") == [63]


def test_one_unreadable_report_loses_no_other(run: RunFolder) -> None:
    path = run.reports / "nsys.sqlite"
    path.write_bytes(path.read_bytes()[:20_000])
    assert findings(run) == [
        ("changed-report", "nsys", "nsys.sqlite"),
        ("unreadable-report", "nsys", "nsys.sqlite"),
    ]
    assert evidence(run, "SELECT count(*) FROM kernel") == [0]
    assert evidence(run, "SELECT count(DISTINCT workload_id) FROM counter WHERE pass = 'ncu'") == [10]


def test_a_missing_report_is_named_with_the_way_to_make_it(run: RunFolder) -> None:
    (run.reports / "nsys.sqlite").unlink()
    assert evidence(run, "SELECT code, subject FROM finding") == [("missing-report", "nsys.sqlite")]
    assert "nsys export --type sqlite" in evidence(run, "SELECT reason FROM finding")[0]


def test_records_that_are_missing_are_named(run: RunFolder) -> None:
    (run.reports / "timing.jsonl").unlink()
    assert findings(run) == [("missing-report", "timing", "timing.jsonl")]


def test_a_page_that_cannot_be_read_gives_way_to_the_report(run: RunFolder) -> None:
    pytest.importorskip("ncu_report")
    (run.reports / "ncu-warm.csv").write_text("==ERROR== Failed to load report file\n")
    shutil.copyfile(DATA / "ncu_graph_whole.ncu-rep", run.reports / "ncu-warm.ncu-rep")
    refresh_artifacts(run)
    assert evidence(run, "SELECT code, subject FROM finding") == [("unreadable-report", "ncu-warm.csv")]
    assert evidence(run, "SELECT format FROM report WHERE pass = 'ncu-warm' ORDER BY 1") == [
        *("driver-records", "ncu-rep")
    ]


def test_changed_records_are_told(run: RunFolder) -> None:
    write_records(run.reports / "timing.jsonl", [{"table": "_end", "state": "ok"}])
    assert findings(run) == [("changed-report", "timing", "timing.jsonl")]


def test_a_run_that_is_no_run_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"run\.json"):
        build(RunFolder(tmp_path))
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(SuiteError, match=r"run\.json"):
        build(RunFolder(tmp_path))


def test_the_command_builds_again(run: RunFolder) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nsight_suite.evidence", str(run.path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (run.evidence / "kernel.parquet").is_file()
    missing = subprocess.run(
        [sys.executable, "-m", "nsight_suite.evidence", "nowhere"], capture_output=True, text=True, check=False
    )
    assert missing.returncode == 2
    assert "There is no run 'nowhere'" in missing.stderr


# -- the three forms -------------------------------------------------------------------------------


def test_the_duckdb_file_answers_in_the_run_folder(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    build(run)
    monkeypatch.chdir(run.path)
    with duckdb.connect("evidence.duckdb", read_only=True) as shell:
        assert shell.execute("SELECT count(*) FROM kernel").fetchall() == [(63,)]
        comments = (
            "SELECT comment FROM duckdb_columns() WHERE table_name = 'kernel' AND column_name = 'start_ns'"
        )
        assert "in ns" in shell.execute(comments).fetchall()[0][0]


def test_the_sqlite_file_holds_the_same_rows_and_tells_each_column(run: RunFolder) -> None:
    build(run)
    with closing(sqlite3.connect(run.sqlite)) as database:
        opened = store.open_store(run)
        for name in tables():
            counted = f'SELECT count(*) AS n FROM "{name}"'
            assert database.execute(counted).fetchone()[0] == opened.rows(counted)[0]["n"]
        told = database.execute(
            "SELECT meaning FROM _columns WHERE \"table\" = 'kernel' AND \"column\" = 'name'"
        )
        assert told.fetchall() == [("kernel name, demangled",)]
        total = "SELECT sum(end_ns - start_ns) AS n FROM kernel"
        assert database.execute(total).fetchone()[0] == opened.rows(total)[0]["n"]


def test_the_duckdb_file_is_written_again_when_it_is_gone(run: RunFolder) -> None:
    build(run)
    written = run.duckdb.stat().st_mtime_ns
    store.ensure_duckdb(run)
    assert run.duckdb.stat().st_mtime_ns == written
    run.duckdb.unlink()
    store.ensure_duckdb(run)
    assert run.duckdb.is_file()
    # The number behind "DUCK" is the version of the format: 64 is what DuckDB reads from 1.0 on.
    assert int.from_bytes(run.duckdb.read_bytes()[12:20], "little") == 64
