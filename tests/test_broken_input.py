"""Inputs that somebody could hand in: no traceback, no hang, no half-written run, and no other answer."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tiny_export import Call, Kernel, Range, change, make_export

from nsight_suite import ingest as ingest_command
from nsight_suite import query, scan
from nsight_suite.ingesting.making import ingest


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An export of two kernels in two ranges, and the run that was made of it."""
    folder = tmp_path_factory.mktemp("small")
    report = make_export(
        folder / "r.sqlite",
        api=[Call("cudaLaunchKernel_v7000", 50, 60, 1), Call("cudaLaunchKernel_v7000", 70, 75, 2)],
        kernels=[Kernel("scale", 150, 250, 1), Kernel("add", 260, 270, 2)],
        nvtx=[Range("outer", 0, 100), Range("inner", 40, 65)],
    )
    ingest([report], folder / "run")
    return report, folder / "run"


WAYS_TO_READ = [
    "SELECT k FROM kernel k ORDER BY k.start_ns",
    "SELECT kernel FROM kernel ORDER BY ALL",
    "SELECT kernel AS kernel FROM kernel ORDER BY ALL",
    "SELECT struct_extract(k, 'name') AS n FROM kernel k ORDER BY n",
    "SELECT (k).end_ns AS n FROM kernel k ORDER BY n",
    "SELECT unnest(kernel) FROM kernel ORDER BY ALL",
    "SELECT to_json(k) AS n FROM kernel k ORDER BY n",
    "SELECT l.n.name FROM kernel k, LATERAL (SELECT k AS n) l ORDER BY ALL",
    "SELECT [x.name FOR x IN [k]] AS n FROM kernel k ORDER BY n",
    "SELECT name.upper() AS n FROM kernel ORDER BY n",
    "SELECT #7 AS n FROM kernel ORDER BY n",
    "SELECT g FROM kernel AS t(a, b, c, d, e, f, g) ORDER BY g",
    "SELECT count(*) AS n FROM kernel WHERE COLUMNS('.*_ns') > 255",
    "SELECT * FROM (UNPIVOT kernel ON COLUMNS('.*_ns')) ORDER BY ALL",
    "SELECT * FROM query_table('kernel') ORDER BY ALL",
    "SELECT * FROM query('SELECT name FROM kernel') ORDER BY ALL",
    "SELECT column_name, count FROM (SUMMARIZE kernel) ORDER BY ALL",
    "SELECT path FROM path ORDER BY path",
    "SELECT r FROM range r ORDER BY r.start_ns",
    "SELECT b FROM range AS t(a, b) ORDER BY b",
]


@pytest.mark.parametrize("sql", WAYS_TO_READ)
def test_a_report_and_the_run_made_of_it_answer_alike(
    small: tuple[Path, Path], sql: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """However SQL reaches a column: what a question does not name must not be taken for missing."""
    answers = []
    for asked in small:
        assert query.main([str(asked), "--sql", sql, "--format", "json"]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
    assert len(answers[0]) > len("[]\n")


@pytest.mark.parametrize("name", ["kernel_summary", "range_projection", "launch_counts"])
def test_a_question_to_a_foreign_export_is_refused(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "r.sqlite"
    change(report, "CREATE TABLE OSRT_API (start INTEGER)")
    assert query.main([str(report), name]) == 2
    assert "is no export of Nsight Systems" in capsys.readouterr().err


def test_an_export_that_another_program_has_locked_is_read_as_it_was(
    tmp_path: Path, small: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "r.sqlite"
    shutil.copy(small[0], report)
    with closing(sqlite3.connect(report, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL")
        assert query.main([str(report), "--sql", "SELECT count(*) AS n FROM kernel", "--format", "csv"]) == 0
        assert capsys.readouterr().out == "n\n2\n"
        assert ingest_command.main([str(report), "--out", str(tmp_path / "run"), "--quiet"]) == 0
        writer.execute("ROLLBACK")


def test_a_path_beyond_what_sqlite_opens_is_told_as_that(
    tmp_path: Path, small: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    deep = tmp_path / ("d" * 200) / ("e" * 200) / ("f" * 200)
    deep.mkdir(parents=True)
    shutil.copy(small[0], deep / "r.sqlite")
    assert query.main([str(deep / "r.sqlite"), "kernel_summary"]) == 2
    assert "its path is longer than SQLite can take" in capsys.readouterr().err


def test_a_file_name_that_is_no_text_can_be_scanned_and_asked(tmp_path: Path, small: tuple[Path, Path]) -> None:
    odd = tmp_path / os.fsdecode(b"bad\xff.sqlite")
    shutil.copy(small[0], odd)
    assert query.main([str(odd), "kernel_summary"]) == 0
    assert scan.main([str(odd)]) == 0


def test_sql_that_is_no_text_is_a_wrong_call(
    small: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for asked in small:
        assert query.main([str(asked), "--sql", "SELECT '\ud800'"]) == 2
        assert "The SQL text is not valid UTF-8" in capsys.readouterr().err


def test_an_empty_table_of_what_was_not_traced_proves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `nsys export --lazy=false` writes a capture of NVTX alone: every table is there."""
    untraced = make_export(
        tmp_path / "r.sqlite",
        nvtx=[Range("step", 0, 10)],
        capture=[("CAPTURE_EVENT_TYPE", "NvtxEvents"), ("PROCESS_0:COLLECT_CUDA_TRACE", "false")],
    )
    traced = make_export(tmp_path / "t.sqlite", nvtx=[Range("step", 0, 10)])
    for report, answer in ((untraced, "not traced"), (traced, "zero rows")):
        run = tmp_path / f"run-{report.stem}"
        ingest([report], run)
        assert query.main([str(run), "--sql", "SELECT answer FROM kernels_told", "--format", "csv"]) == 0
        assert capsys.readouterr().out.split("\n")[1] == answer
