"""Whole runs on the fake experiment with fake profilers: what is written, and what a fault in one pass does."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from fake_tools.bench import EXPERIMENT, PASSES, capture_fake, with_fakes, without

from nsight_suite.runfolder import RunFolder, sha256


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    with_fakes(monkeypatch)


def captured(folder: Path, *options: str, **given: Any) -> RunFolder:
    """A run of few cases."""
    assert capture_fake("--quick", "--variants", "plain", *options, out=folder, **given) == 0
    return RunFolder(folder)


def reason(run: RunFolder, name: str) -> str:
    record = run.pass_records()[name]
    assert record["state"] == "failed"
    assert run.read_run()["state"] == "incomplete"
    others = {other for other, record in run.pass_records().items() if record["state"] == "ok"}
    assert others == set(PASSES) - {name}, "a failing pass must not lose the others"
    return str(record["reason"])


def test_a_run_that_goes_well(tmp_path: Path):
    run = captured(tmp_path / "run")
    info = run.read_run()
    assert (info["state"], info["source"], info["quick"], info["passes"]) == (
        "complete",
        "capture",
        True,
        list(PASSES),
    )
    assert info["cases"] == [
        f"fake:plain:{submission}:{shape}" for shape in ("small", "odd") for submission in ("stream", "graph")
    ]
    assert run.protocol.read_bytes().startswith(b"# An experiment whose driver")
    assert run.expected.is_file()
    assert not run.work.exists()
    assert sorted(path.name for path in run.reports.iterdir()) == [
        "builds",
        *("ncu-warm.csv", "ncu-warm.jsonl", "ncu-warm.ncu-rep", "ncu.csv", "ncu.jsonl", "ncu.ncu-rep"),
        *("nsys.jsonl", "nsys.nsys-rep", "nsys.sqlite", "sanitize.jsonl", "sanitize.memcheck.log"),
        *("sanitize.synccheck.log", "timing.jsonl", "validate.jsonl"),
    ]


def test_the_record_of_a_pass(tmp_path: Path):
    run = captured(tmp_path / "run", "--passes", "nsys")
    record = run.pass_records()["nsys"]
    assert (record["state"], record["reason"], record["exit_status"]) == ("ok", None, 0)
    assert record["options"]["graph_trace"] == "node"
    assert record["tools"]["nsys"] == "2023.4.4.54-234433681190v0"
    assert [step["argv"][1] for step in record["steps"]] == ["profile", "export"]
    assert sum(step["duration_ns"] for step in record["steps"]) <= record["duration_ns"]
    for artifact in record["artifacts"]:
        assert sha256(run.path / artifact["path"]) == artifact["sha256"]
    public = [artifact["path"] for artifact in record["artifacts"] if not artifact["private"]]
    assert public == ["reports/nsys.jsonl"]


def test_children_are_cleaned_of_other_profilers_and_find_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/nowhere")
    monkeypatch.setenv("NSYS_SESSION", "1")
    run = captured(tmp_path / "run", "--passes", "validate")
    log = (run.logs / "validate.log").read_text()
    assert "injected: []" in log
    assert "suite importable: True" in log


def test_a_failed_check_gives_the_drivers_reason_and_keeps_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAKE_DRIVER", "validate:fail")
    run = captured(tmp_path / "run")
    assert reason(run, "validate") == "the check 'error' failed in fake:plain:stream:odd"
    assert run.pass_records()["validate"]["exit_status"] == 1
    assert '"driven"' in (run.reports / "validate.jsonl").read_text()


@pytest.mark.parametrize("name", ["timing", "nsys", "ncu"])
def test_a_driver_that_was_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    """A profiler hands on the exit status, and leaves a well-formed report of half a run."""
    monkeypatch.setenv("FAKE_DRIVER", f"{name}:cut")
    run = captured(tmp_path / "run", "--shapes", "small")  # sanitize has no case then
    record = run.pass_records()[name]
    assert record["state"] == "failed"
    assert record["reason"].startswith("The driver was cut off (exit status 3).")
    assert run.read_run()["state"] == "incomplete"


@pytest.mark.parametrize("name", ["ncu", "ncu-warm"])
def test_missing_permission_is_recognised_whatever_the_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setenv("FAKE_NCU", "permission")
    run = captured(tmp_path / "run", "--passes", f"validate,{name}")
    record = run.pass_records()[name]
    assert "ERR_NVGPUCTRPERM" in record["reason"]
    assert "NVreg_RestrictProfilingToAdminUsers=0" in record["reason"]
    assert run.pass_records()["validate"]["state"] == "ok"


def test_ncu_that_profiled_nothing_names_what_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_NCU", "nothing")
    run = captured(tmp_path / "run", "--passes", "ncu")
    record = run.pass_records()["ncu"]
    assert record["exit_status"] == 0
    assert "profiled no kernel" in record["reason"]
    assert "fake_kernel, fake_setup" in record["reason"]


def test_nsys_without_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_NSYS", "no-report")
    assert "nsys generated no report" in reason(captured(tmp_path / "run"), "nsys")


def test_an_export_that_fails_is_fatal_and_says_what_nsys_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_NSYS", "export-fails")
    run = captured(tmp_path / "run")
    text = reason(run, "nsys")
    assert text.startswith("nsys export ended with exit status 1.")
    assert "newer version" in text
    assert (run.reports / "nsys.nsys-rep").is_file(), "the report itself is good and stays"


def test_errors_found_by_the_sanitizer_are_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_SANITIZER", "errors")
    run = captured(tmp_path / "run", "--passes", "sanitize")
    record = run.pass_records()["sanitize"]
    assert (record["state"], record["exit_status"]) == ("ok", 9)
    assert "ERROR SUMMARY: 2 errors" in (run.reports / "sanitize.memcheck.log").read_text()


def test_a_pass_that_takes_too_long_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_DRIVER", "nsys:hang")
    experiment = short_of_time(tmp_path)
    monkeypatch.setattr("fake_tools.bench.EXPERIMENT", experiment)
    run = captured(tmp_path / "run", "--passes", "nsys,validate")
    record = run.pass_records()["nsys"]
    assert record["exit_status"] is None
    assert record["steps"][0]["timed_out"]
    assert "ended after 2 s, the time-out of this pass" in record["reason"]
    assert run.pass_records()["validate"]["state"] == "ok"
    assert not processes_of(tmp_path / "run")


def test_missing_profilers_fail_their_passes_only(tmp_path: Path):
    run = captured(tmp_path / "run", inspect=without("ncu"))
    assert reason_of_both(run) == {"ncu is not installed. Install ncu."}
    assert {name for name, record in run.pass_records().items() if record["state"] == "ok"} == {
        *("validate", "timing", "nsys", "sanitize")
    }


def reason_of_both(run: RunFolder) -> set[str]:
    return {run.pass_records()[name]["reason"] for name in ("ncu", "ncu-warm")}


def short_of_time(folder: Path) -> Path:
    """The fake experiment with two seconds for nsys."""
    copy = folder / "fake"
    shutil.copytree(EXPERIMENT, copy)
    protocol = copy / "protocol.toml"
    protocol.write_text(
        protocol.read_text().replace("[passes.nsys]\ntimeout_s = 20", "[passes.nsys]\ntimeout_s = 2")
    )
    return copy


def processes_of(folder: Path) -> list[str]:
    """Processes that a run has left behind."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"NSIGHT_SUITE_PASS={folder}{os.sep}".encode() in (entry / "environ").read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return found
