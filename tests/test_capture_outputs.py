"""What a pass left must be its own, and what it should be, even where its tools ended well."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fake_tools.bench import capture_fake, with_fakes

from nsight_suite import capture
from nsight_suite.runfolder import RunFolder


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("export-garbage", "wrote a nsys.sqlite that is no whole SQLite database: file is not a database"),
        ("export-empty", "wrote a nsys.sqlite without any table"),
        ("export-link", "left a symbolic link in place of nsys.sqlite"),
    ],
)
def test_an_export_that_is_none_fails_its_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, reason: str
):
    with_fakes(monkeypatch)
    monkeypatch.setenv("FAKE_NSYS", fault)
    assert capture_fake("--quick", "--variants", "plain", "--passes", "nsys", out=tmp_path / "run") == 0
    run = RunFolder(tmp_path / "run")
    record = run.pass_records()["nsys"]
    assert record["state"] == "failed"
    assert record["reason"].startswith(f"nsys export ended well but {reason}.")
    assert not (run.reports / "nsys.sqlite").is_symlink()
    assert (run.reports / "nsys.nsys-rep").is_file()


@pytest.mark.parametrize("name", ["sanitize.log", "sanitize.memcheck.old.log", "notes.log"])
def test_a_log_that_tells_no_tool_is_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str):
    (tmp_path / "brought").mkdir()
    (tmp_path / "brought" / name).write_text("ERROR SUMMARY: 0 errors\n")
    assert capture.main(["row", "--reports", str(tmp_path / "brought"), "--out", str(tmp_path / "run")]) == 2
    assert "holds no report that the suite knows" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["nsys.sqlite", "sanitize.memcheck.log", "validate.jsonl"])
def test_reports_of_nothing_of_the_experiment_are_no_success(
    tmp_path: Path, name: str, recorded_run: RunFolder
):
    brought = tmp_path / "brought"
    brought.mkdir()
    if name == "nsys.sqlite":
        shutil.copyfile(Path(__file__).parent / "data" / "nsys_two_gpus.sqlite", brought / name)
    elif name == "validate.jsonl":
        (brought / name).write_text('{"table": "_end", "state": "ok"}\n')
    else:
        shutil.copyfile(recorded_run.reports / name, brought / name)
    assert capture.main(["row", "--reports", str(brought), "--out", str(tmp_path / "run")]) == 2


def test_what_was_compiled_is_kept_once_as_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with_fakes(monkeypatch)
    assert (
        capture_fake("--quick", "--variants", "plain", "--passes", "validate,timing", out=tmp_path / "run") == 0
    )
    run = RunFolder(tmp_path / "run")
    assert sorted(path.name for path in (run.reports / "builds").iterdir()) == ["validate"]
    kept = run.builds("validate") / "plain.sm_90.log"
    assert kept.read_text() == "compiled for the pass validate\n"
    listed = {entry["path"]: entry["private"] for entry in run.pass_records()["validate"]["artifacts"]}
    assert listed["reports/builds/validate/plain.sm_90.log"] is True  # until `share` has looked through it
    assert not any("builds" in entry["path"] for entry in run.pass_records()["timing"]["artifacts"])
