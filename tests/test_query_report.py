"""Asking a report itself, without making a run of it: refused and doubted as ingest refuses and doubts."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ncu_pages import raw
from tiny_export import Call, Kernel, Range, make_export

import nsight_suite
from nsight_suite import ingest, share
from nsight_suite.errors import CannotAnswer, UsageError
from nsight_suite.evidence.direct import open_report
from nsight_suite.evidence.store import empty_store
from nsight_suite.ingesting.single import report_at
from nsight_suite.query import main
from nsight_suite.querying import find_query, run_named, run_sql

CAPTURE = pytest.CaptureFixture[str]


def export(path: Path, **tables: Any) -> Path:
    rows = {
        "api": [Call("cudaLaunchKernel_v7000", 10, 20, 1)],
        "kernels": [Kernel("k", 30, 40, 1)],
        "nvtx": [Range("step", 0, 50)],
    }
    return make_export(path, **{**rows, **tables})


def asked(capsys: CAPTURE, report: Path, *question: str) -> tuple[list[dict[str, Any]], str]:
    """The rows of an answer, and what was told beside it."""
    assert main([str(report), *question, "--format", "json"]) == 0
    shown = capsys.readouterr()
    return json.loads(shown.out), shown.err


def test_an_export_older_than_its_report_is_refused(tmp_path: Path, capsys: CAPTURE) -> None:
    report = export(tmp_path / "r.sqlite")
    (tmp_path / "r.nsys-rep").write_bytes(b"NVIDIA Tegra Profiler Report 2023@4@4@54-1v0.\n")
    os.utime(report, (1000, 1000))
    assert main([str(report), "kernel_summary"]) == 2
    told = capsys.readouterr().err
    assert "is older than r.nsys-rep" in told
    assert "nsys export" in told
    assert "--accept-stale" in told
    assert "ingest" in told
    os.utime(tmp_path / "r.nsys-rep", (999, 999))
    assert main([str(report), "kernel_summary"]) == 0


def test_a_page_older_than_its_report_is_refused(tmp_path: Path, capsys: CAPTURE) -> None:
    page = tmp_path / "r.csv"
    page.write_text(raw(["dram__bytes_read.sum"], ["byte"], ["1"]), encoding="utf-8")
    (tmp_path / "r.ncu-rep").write_bytes(b"NVR\0")
    os.utime(page, (1000, 1000))
    assert main([str(page), "sources"]) == 2
    assert "is older than r.ncu-rep" in capsys.readouterr().err


@pytest.mark.parametrize(
    "question", [["kernel_summary"], ["--sql", "SELECT count(*) AS n FROM kernel"], ["sources"]]
)
def test_a_database_that_lost_its_journal_is_doubted(
    tmp_path: Path, capsys: CAPTURE, question: list[str]
) -> None:
    report = export(tmp_path / "r.sqlite")
    with closing(sqlite3.connect(report)) as database:
        database.execute("PRAGMA journal_mode = WAL")
    _, told = asked(capsys, report, *question)
    assert "r.sqlite leaves in doubt what this answer may rest on: journal-missing" in told
    assert f"query {report} report_completeness" in told
    assert told.count("\n") == 1
    found, _ = asked(capsys, report, "--sql", "SELECT code, subject FROM finding")
    assert {"code": "journal-missing", "subject": "r.sqlite"} in found


def test_a_sound_report_is_answered_without_a_word(tmp_path: Path, capsys: CAPTURE) -> None:
    report = export(tmp_path / "r.sqlite")
    assert asked(capsys, report, "--sql", "SELECT count(*) AS n FROM kernel") == ([{"n": 1}], "")
    assert asked(capsys, report, "--sql", "SELECT count(*) AS n FROM range") == ([{"n": 1}], "")
    assert asked(capsys, report, "--sql", "SELECT name, kernels FROM range") == (
        [{"name": "step", "kernels": 1}],
        "",
    )


def test_no_kernels_because_none_were_recorded_is_told(tmp_path: Path, capsys: CAPTURE) -> None:
    report = export(tmp_path / "r.sqlite", kernels=None)
    found, told = asked(capsys, report, "--sql", "SELECT count(*) AS n FROM kernel")
    assert found == [{"n": 0}]
    assert "no-kernel-table" in told


def test_only_doubts_that_concern_the_question_are_told(tmp_path: Path, capsys: CAPTURE) -> None:
    report = export(tmp_path / "r.sqlite", nvtx=None)
    assert asked(capsys, report, "--sql", "SELECT count(*) AS n FROM kernel") == ([{"n": 1}], "")
    assert "no-range-table" in asked(capsys, report, "--sql", "SELECT name FROM range")[1]
    assert asked(capsys, report, "--sql", "SELECT count(*) AS n FROM finding")[1] == ""
    assert asked(capsys, report, "--sql", "SELECT 1 AS n")[1] == ""


def test_graphs_traced_as_a_whole_are_told_to_a_question_about_kernels(tmp_path: Path, capsys: CAPTURE) -> None:
    graph = {"start": 60, "end": 90, "correlationId": 2, "globalPid": 1 << 24, "graphId": 1, "graphExecId": 2}
    report = export(
        tmp_path / "r.sqlite",
        api=[Call("cudaLaunchKernel_v7000", 10, 20, 1), Call("cudaGraphLaunch_v10000", 50, 55, 2)],
        more={"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [graph]},
    )
    for question in ("SELECT count(*) AS n FROM kernel", "SELECT count(*) AS n FROM launch"):
        assert "graph-level-trace" in asked(capsys, report, "--sql", question)[1]


GRAPH_MODE = {"PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE": "Graph", "CAPTURE_EVENT_TYPE": "Cuda"}
REPLAYED = [Call("cudaLaunchKernel_v7000", 10, 20, 1), Call("cudaGraphLaunch_v10000", 110, 120, 2)]
STEPS = [Range("launched", 0, 50), Range("replayed", 100, 150)]


@pytest.mark.parametrize("capture", [GRAPH_MODE, {}], ids=["stated", "not stated"])
@pytest.mark.parametrize("name", ["kernel_summary", "range_summary", "range_projection", "graph_coverage"])
def test_replays_without_any_record_are_told(
    tmp_path: Path, capsys: CAPTURE, capture: dict[str, str], name: str
) -> None:
    """nsys 2023.4 writes no table of whole graphs: only launches of graphs tell that some ran."""
    report = export(tmp_path / "r.sqlite", api=REPLAYED, nvtx=STEPS, capture=capture)
    assert "answer may rest on: graph-level-trace." in asked(capsys, report, name)[1]


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("ids", [(1, 2, 3), (1, 1 << 40, (1 << 62) + 5), (900_000, 899_999, 5)])
def test_ranges_hold_the_same_whatever_their_calls_are_numbered(
    tmp_path: Path, ids: tuple[int, int, int], odd: bool
) -> None:
    """Small numbers are places in an array; others, and tables that are read twice, are put in order."""
    report = export(
        tmp_path / "r.sqlite",
        api=[Call("cudaLaunchKernel_v7000", 10 * at, 10 * at + 5, number) for at, number in enumerate(ids, 1)],
        kernels=[
            *(Kernel("k", 100, 130, ids[0]), Kernel("k", 200, 250, ids[2]), Kernel("k", 300, 310, ids[0])),
            *(Kernel("k", 50, 60, ids[1]), Kernel("k", None, None, ids[1])),
        ],
        nvtx=[Range("all", 0, 50), Range("first", 9, 16), Range("none", 60, 70)],
    )
    if odd:
        with closing(sqlite3.connect(report)) as database, database:
            database.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN doubled AS (start * 2)")
    sql = (
        "SELECT name, launches, kernels, operations, device_ns, projected_start_ns, projected_end_ns "
        'FROM "range" ORDER BY range_id'
    )
    loose = report_at(report)
    assert loose
    assert run_sql(open_report(loose, sql), sql).rows == (
        ("all", 3, 5, 5, 30 + 50 + 10 + 10, 50, 310),
        ("first", 1, 2, 2, 30 + 10, 100, 310),
        ("none", 0, 0, 0, None, None, None),
    )


def test_what_a_range_with_untraced_replays_holds_is_unknown(tmp_path: Path, capsys: CAPTURE) -> None:
    report = export(tmp_path / "r.sqlite", api=REPLAYED, nvtx=STEPS, capture=GRAPH_MODE)
    found, _ = asked(capsys, report, "range_summary")
    counts = {row["range"]: (row["unknown_instances"], row["kernels"], row["operations"]) for row in found}
    assert counts == {"launched": (0, 1, 1), "replayed": (1, None, None)}
    found, _ = asked(capsys, report, "range_projection")
    assert [(row["range"], row["launches"], row["kernels"]) for row in found] == [
        ("launched", 1, 1),
        ("replayed", 0, None),
    ]


@pytest.mark.parametrize("capture", [{}, {"PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE": "Node"}])
def test_replays_whose_nodes_were_traced_are_answered_without_a_word(
    tmp_path: Path, capsys: CAPTURE, capture: dict[str, str]
) -> None:
    kernels = [Kernel("k", 30, 40, 1), Kernel("node", 130, 140, 2)]  # an old export names no nodes
    report = export(tmp_path / "r.sqlite", api=REPLAYED, kernels=kernels, nvtx=STEPS, capture=capture)
    found, told = asked(capsys, report, "range_summary")
    assert told == ""
    assert [row["kernels"] for row in found] == [1, 1]
    assert asked(capsys, report, "kernel_summary")[1] == ""


def test_the_pass_of_a_report_is_a_row(tmp_path: Path, capsys: CAPTURE) -> None:
    report = export(tmp_path / "step 1.sqlite")
    found, _ = asked(capsys, report, "passes")
    assert [(row["pass"], row["state"]) for row in found] == [("step_1", "ok")]
    page = tmp_path / "counters.csv"
    page.write_text(raw(["dram__bytes_read.sum"], ["byte"], ["1"]), encoding="utf-8")
    found, _ = asked(capsys, page, "passes")
    assert [(row["pass"], row["state"]) for row in found] == [("counters", "ok")]


def test_doubts_of_an_ncu_report_are_told(tmp_path: Path, capsys: CAPTURE) -> None:
    page = tmp_path / "counters.csv"
    page.write_text(raw(["dram__bytes_read.sum"], ["byte"], ["1"]).rstrip("\n")[:-4], encoding="utf-8")
    assert main([str(page), "sources"]) in (0, 2)
    told = capsys.readouterr().err
    assert "truncated-report" in told


@pytest.mark.parametrize("sql", ["SELECT count(*) FROM kernel", "SELECT count(*) FROM launch"])
def test_a_question_has_a_memory_limit_and_spills_outside_the_working_folder(tmp_path: Path, sql: str) -> None:
    report = report_at(export(tmp_path / "r.sqlite"))
    assert report is not None
    with open_report(report, sql).connection as connection:
        settings = dict(
            connection.execute(
                "SELECT name, value FROM duckdb_settings() WHERE name IN ('memory_limit', 'temp_directory')"
            ).fetchall()
        )
    value, unit = settings["memory_limit"].split()
    assert float(value) * {"MiB": 2**20, "GiB": 2**30}[unit] <= 4e9
    assert Path(settings["temp_directory"]).is_absolute()


def test_nothing_is_written_beside_a_report_with_a_journal(tmp_path: Path, capsys: CAPTURE) -> None:
    live, copy = export(tmp_path / "live.sqlite"), tmp_path / "copy"
    copy.mkdir()
    with closing(sqlite3.connect(live)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL")
        writer.commit()
        for suffix in ("", "-wal"):
            shutil.copy(f"{live}{suffix}", copy / f"r.sqlite{suffix}")
    found, told = asked(capsys, copy / "r.sqlite", "--sql", "SELECT count(*) AS n FROM kernel")
    assert (found, told) == ([{"n": 2}], "")
    assert sorted(path.name for path in copy.iterdir()) == ["r.sqlite", "r.sqlite-wal"]


def test_a_question_that_fails_on_a_report_tells_of_the_report(tmp_path: Path) -> None:
    report = report_at(export(tmp_path / "r.sqlite"))
    assert report
    store = open_report(report, find_query("kernel_summary", "").sql)
    store.connection.execute("DROP VIEW kernel")
    with pytest.raises(CannotAnswer, match="'kernel_summary' has no answer") as told:
        run_named(store, "kernel_summary")
    assert "evidence/" not in told.value.way_out
    assert f"query {report.path} report_completeness" in told.value.way_out


def test_an_answer_about_a_report_can_be_a_parquet_file(tmp_path: Path) -> None:
    report, target = export(tmp_path / "r.sqlite"), tmp_path / "names.parquet"
    assert main([str(report), "--sql", "SELECT name FROM kernel", "--out", str(target)]) == 0
    with empty_store() as connection:
        assert connection.execute(f"FROM read_parquet('{target}')").fetchall() == [("k",)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["names.parquet", "r.sqlite"]


def test_an_answer_without_rows_says_which_table_is_empty(tmp_path: Path, capsys: CAPTURE) -> None:
    report = export(tmp_path / "r.sqlite")
    found, told = asked(capsys, report, "counters_by_kernel")
    assert found == []
    assert "No rows: `counter` is empty here." in told
    found, told = asked(capsys, report, "--sql", "SELECT name FROM kernel WHERE name = 'other'")
    assert (found, told) == ([], "nsight-suite: No rows: nothing in `kernel` fits.\n")
    target = tmp_path / "none.parquet"
    assert main([str(report), "counters_by_kernel", "--out", str(target)]) == 0
    assert "No rows: `counter` is empty here." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("r.nsys-rep", bytes(range(256)), "no report of Nsight Systems, whatever its name says"),
        ("r.ncu-rep", bytes(range(256)), "r.ncu-rep is no Nsight Compute report"),
        ("r.nsys-rep", b"\x89PNG\r\n\x1a\n\0", "a PNG image"),
        ("r.sqlite.gz", b"\x1f\x8b\x08\0", "is compressed by gzip"),
    ],
)
def test_what_is_no_report_is_told_for_what_it_is(
    tmp_path: Path, capsys: CAPTURE, name: str, content: bytes, told: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert main([str(tmp_path / name), "kernel_summary"]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert "must be exported" not in error


def test_a_folder_of_reports_is_to_be_ingested(tmp_path: Path, capsys: CAPTURE) -> None:
    export(tmp_path / "r.sqlite")
    assert main([str(tmp_path), "kernel_summary"]) == 2
    assert f"python -m nsight_suite.ingest {tmp_path} --out RUN" in capsys.readouterr().err


def test_a_report_is_no_run(tmp_path: Path, capsys: CAPTURE) -> None:
    report = export(tmp_path / "r.sqlite")
    with pytest.raises(UsageError, match="ingest it first"):
        nsight_suite.open_run(report)
    assert share.main([str(report), "--out", str(tmp_path / "copy")]) == 2
    assert "ingest it first" in capsys.readouterr().err


def test_a_run_tells_the_doubts_of_its_reports(tmp_path: Path, capsys: CAPTURE) -> None:
    replayed = export(tmp_path / "replayed.sqlite", api=REPLAYED, nvtx=STEPS, capture=GRAPH_MODE)
    page = tmp_path / "counters.csv"
    page.write_text(raw(["dram__bytes_read.sum"], ["byte"], ["1"]), encoding="utf-8")
    run = tmp_path / "run"
    assert ingest.main([str(replayed), str(page), "--out", str(run), "--merge-anyway", "--quiet"]) == 0
    for name in ("kernel_summary", "range_summary"):
        told = asked(capsys, run, name)[1]
        assert f"{run} leaves in doubt what this answer may rest on: graph-level-trace" in told
        assert f"query {run} report_completeness" in told
    for name in ("counters_by_kernel", "findings", "report_completeness"):
        assert "graph-level-trace" not in asked(capsys, run, name)[1]


def test_a_run_of_counters_alone_is_asked_for_counters(tmp_path: Path, capsys: CAPTURE) -> None:
    page = tmp_path / "counters.csv"
    page.write_text(raw(["dram__bytes_read.sum"], ["byte"], ["1"]), encoding="utf-8")
    assert ingest.main([str(page), "--out", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out.rstrip().endswith("counters_by_kernel")
