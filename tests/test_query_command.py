"""`python -m nsight_suite.query`"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from nsight_suite.ingesting.making import ingest
from nsight_suite.query import main
from nsight_suite.runfolder import RunFolder


def test_named_query_as_json(synthetic_run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(synthetic_run.path), "kernel_counts", "--format", "json"]) == 0
    counts = {(row["variant"], row["submission"]): row for row in json.loads(capsys.readouterr().out)}
    assert {key: row["kernels_per_invocation"] for key, row in counts.items()} == {
        ("staged", "stream"): 4,
        ("staged", "graph"): 4,
        ("fused", "stream"): 1,
        ("fused", "graph"): 1,
        ("cudnn", "stream"): 1,
        ("cudnn", "graph"): 1,
    }


def test_sql_text_as_table(synthetic_run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(synthetic_run.path), "--sql", "SELECT count(*) AS kernels FROM kernel"]) == 0
    assert capsys.readouterr().out.split() == ["kernels", "---------", "183"]


def test_list_and_describe_need_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert "launch_split" in capsys.readouterr().out
    assert main(["--describe", "launch_split"]) == 0
    assert "the device idles between its first and its last work" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["dram_bytes"], ["RUN", "dram_bytes"]])
def test_help_with_a_query_tells_its_columns(
    synthetic_run: RunFolder, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main([str(synthetic_run.path) if word == "RUN" else word for word in words] + ["--help"]) == 0
    helped = capsys.readouterr().out
    assert "read_ratio            DRAM reads over logical reads" in helped
    assert main(["--describe", "dram_bytes"]) == 0
    assert capsys.readouterr().out == helped


@pytest.mark.parametrize("words", [[], ["RUN"]])
def test_help_without_a_query_tells_of_the_command(
    synthetic_run: RunFolder, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main([str(synthetic_run.path) if word == "RUN" else word for word in words] + ["--help"]) == 0
    assert "--sql TEXT" in capsys.readouterr().out


@pytest.mark.parametrize("suffix", ["csv", "json", "md", "parquet"])
def test_out_takes_the_format_from_the_name(synthetic_run: RunFolder, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"counts.{suffix}"
    assert main([str(synthetic_run.path), "kernel_counts", "--out", str(target)]) == 0
    start = {"csv": b"case_id,", "json": b"[\n", "md": b"| case_id", "parquet": b"PAR1"}[suffix]
    assert target.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "No run was given"),
        (["RUN"], "Give the name of a query, or --sql TEXT"),
        (["RUN", "kernel_counts", "--sql", "SELECT 1"], "not both"),
        (["RUN", "kernel_counts", "--out", "k.xlsx"], "No format of answers is called '.xlsx'"),
        (
            ["RUN", "kernel_counts", "--out", "k.json", "--format", "csv"],
            "Name it k.csv, or leave --format away",
        ),
        (["RUN", "kernel_counts", "--out", "k.txt", "--format", "parquet"], "Name it k.parquet"),
        (["nope.nsys-rep", "kernel_summary"], "There is no run or report 'nope.nsys-rep': no such file"),
        (["no/such/report", "kernel_summary"], "There is no run or report 'no/such/report': no such file"),
        (["kernel_summary", "r.sqlite"], "The run or report comes first: query r.sqlite kernel_summary"),
        (["RUN", "kernelcounts"], "Did you mean kernel_counts"),
        (["RUN", "kernel_counts", "--format", "parquet"], "Parquet is no text"),
        (["nowhere", "kernel_counts"], "There is no run 'nowhere'"),
        (["RUN", "--sql", "DELETE FROM kernel"], "read only"),
        (["--describe", "nothing_of_the_kind"], "There is no query"),
        (["kernelcounts", "--help"], "Did you mean kernel_counts"),
    ],
)
def test_a_wrong_call_says_the_way_out(
    synthetic_run: RunFolder, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main([str(synthetic_run.path) if word == "RUN" else word for word in arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_a_missing_table_is_told_and_not_taken_for_empty(
    synthetic_run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "run"
    shutil.copytree(synthetic_run.path, copy)
    (copy / "evidence" / "kernel.parquet").unlink()
    assert main([str(copy), "kernel_counts"]) == 2
    captured = capsys.readouterr()
    assert "the table 'kernel' is not empty but missing: kernel.parquet is missing" in captured.err
    assert captured.out == ""
    assert main([str(copy), "host_completion"]) == 0


@pytest.mark.parametrize("place", ["run.json", "manifest.json", "evidence/kernel.parquet"])
def test_an_answer_takes_no_place_of_what_is_asked(
    synthetic_run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    copy = tmp_path / "run"
    shutil.copytree(synthetic_run.path, copy)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    assert main([str(copy), "kernel_counts", "--out", str(copy / place)]) == 2
    assert "the answer would take its place" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_an_answer_takes_no_place_of_the_report_that_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.csv"
    shutil.copyfile(Path(__file__).parent / "data" / "ncu_kernel_raw.csv", page)
    before = page.read_bytes()
    assert main([str(page), "ncu_workloads", "--out", str(page)]) == 2
    assert "the answer would take its place" in capsys.readouterr().err
    assert page.read_bytes() == before


def test_findings_that_are_lost_are_a_doubt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ingest([Path(__file__).parent / "data" / "ncu_kernel_raw.csv"], tmp_path / "run").run
    (run.evidence / "finding.parquet").unlink()
    assert main([str(run.path), "ncu_workloads"]) == 0
    assert "findings-missing" in capsys.readouterr().err


def test_the_folder_of_an_output_file_is_not_made(
    synthetic_run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(synthetic_run.path), "kernel_counts", "--out", str(tmp_path / "no" / "a.csv")]) == 2
    assert f"there is no folder '{tmp_path / 'no'}'" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
