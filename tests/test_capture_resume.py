"""Killing a capture at every pass, resuming it, and two processes on one run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fake_tools import bench
from fake_tools.bench import EXPERIMENT, PASSES, capture_fake, is_running, with_fakes

from nsight_suite.runfolder import RunFolder, write_json

BENCH = Path(bench.__file__)
ROOT = BENCH.parent.parent.parent


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    with_fakes(monkeypatch)


@contextmanager
def hanging_in(name: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A capture in a process of its own, stuck in the middle of one pass."""
    environment = {**os.environ, "FAKE_DRIVER": f"{name}:hang", "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, str(BENCH), "--quick", "--variants", "plain", "--out", str(folder)]
    with subprocess.Popen(argv, env=environment, stderr=subprocess.PIPE) as process:
        try:
            deadline = time.monotonic() + 30
            grandchild = folder / "work" / name / "grandchild"
            while not (grandchild.is_file() and grandchild.read_text()):
                assert process.poll() is None, process.stderr and process.stderr.read()
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield process
        finally:
            process.kill()


def files_of(run: RunFolder) -> dict[str, bytes]:
    """Every report, by its path."""
    files = (path for path in run.reports.rglob("*") if path.is_file())
    return {path.relative_to(run.reports).as_posix(): path.read_bytes() for path in files}


def contents(run: RunFolder) -> dict[str, object]:
    """Everything that must be the same in an interrupted and an uninterrupted run."""
    info = run.read_run()
    records = {
        name: (
            record["state"],
            record["exit_status"],
            record["options"],
            [step["argv"] for step in record["steps"]],
        )
        for name, record in run.pass_records().items()
    }
    reports = files_of(run)
    return {"state": info["state"], "cases": info["cases"], "records": records, "reports": reports}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("uninterrupted") / "run"
    with pytest.MonkeyPatch.context() as patch:
        with_fakes(patch)
        assert capture_fake("--quick", "--variants", "plain", out=folder) == 0
    return contents(RunFolder(folder))


@pytest.mark.parametrize("name", PASSES)
def test_killed_in_any_pass_and_resumed_equals_an_uninterrupted_run(
    tmp_path: Path, uninterrupted: dict[str, object], name: str
):
    run = RunFolder(tmp_path / "run")
    with hanging_in(name, run.path) as process:
        process.send_signal(signal.SIGKILL)
    orphan = int((run.work / name / "grandchild").read_text())
    assert run.read_run()["state"] == "running", "a killed run never looks finished"
    finished = run.pass_records()
    assert list(PASSES[: PASSES.index(name)]) == sorted(finished, key=PASSES.index)

    assert capture_fake("--resume", str(run.path)) == 0
    assert contents(run) == uninterrupted
    for earlier, record in finished.items():
        assert run.pass_records()[earlier] == record, "finished passes are not repeated"
    assert not is_running(orphan), "what the killed run left running is ended"
    assert not list(run.path.rglob(".*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_an_interrupted_run_ends_its_children_and_says_how_to_go_on(tmp_path: Path, number: signal.Signals):
    folder = tmp_path / "run"
    with hanging_in("nsys", folder) as process:
        grandchild = int((folder / "work" / "nsys" / "grandchild").read_text())
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number]
    assert f"--resume {folder}" in errors.decode()
    assert "Traceback" not in errors.decode()
    assert not is_running(grandchild)
    assert RunFolder(folder).read_run()["state"] == "running"
    assert "nsys" not in RunFolder(folder).pass_records()


def test_a_second_process_on_the_same_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "run"
    with hanging_in("timing", folder) as process:
        assert capture_fake("--resume", str(folder)) == 2
        assert f"Another process is writing to {folder}: process {process.pid} on" in capsys.readouterr().err


def test_a_report_that_was_changed_is_measured_again(tmp_path: Path):
    run = RunFolder(tmp_path / "run")
    assert capture_fake("--quick", out=run.path) == 0
    before = run.pass_records()
    good = (run.reports / "ncu.csv").read_bytes()
    (run.reports / "ncu.csv").write_bytes(good[:10])
    assert capture_fake("--resume", str(run.path)) == 0
    assert (run.reports / "ncu.csv").read_bytes() == good
    changed = {name for name, record in run.pass_records().items() if record != before[name]}
    assert changed == {"ncu"}


def test_a_failed_pass_is_tried_again_and_its_old_files_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run = RunFolder(tmp_path / "run")
    monkeypatch.setenv("FAKE_NSYS", "export-fails")
    capture_fake("--quick", "--passes", "validate,nsys", out=run.path)
    assert run.read_run()["state"] == "incomplete"
    (run.reports / "nsys.nsys-rep").write_bytes(b"yesterday's report")
    monkeypatch.delenv("FAKE_NSYS")
    assert capture_fake("--resume", str(run.path)) == 0
    assert run.read_run()["state"] == "complete"
    assert b"fake report\n" in (run.reports / "nsys.sqlite").read_bytes()


def test_a_finished_run_needs_no_gpu_to_be_analysed_again(tmp_path: Path):
    run = RunFolder(tmp_path / "run")
    capture_fake("--quick", "--passes", "validate", out=run.path)
    assert capture_fake("--resume", str(run.path), inspect=bench.without_gpu) == 0


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the fake experiment that a test may change."""
    copy = tmp_path / "fake"
    shutil.copytree(EXPERIMENT, copy)
    monkeypatch.setattr(bench, "EXPERIMENT", copy)
    return copy


def test_a_changed_protocol_is_refused(experiment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    capture_fake("--quick", "--passes", "validate", out=tmp_path / "run")
    protocol = experiment / "protocol.toml"
    protocol.write_text(protocol.read_text().replace("seed = 7", "seed = 8"))
    assert capture_fake("--resume", str(tmp_path / "run")) == 2
    assert "has changed since" in capsys.readouterr().err


@pytest.mark.parametrize(("file", "named"), [("driver.py", "driver"), ("kernels/new.cu", "kernels")])
def test_changed_code_is_refused_while_passes_are_left(
    experiment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, named: str
):
    run = RunFolder(tmp_path / "run")
    capture_fake("--quick", "--passes", "validate,timing", out=run.path)
    (experiment / file).parent.mkdir(exist_ok=True)
    with (experiment / file).open("a") as changed:
        changed.write("\n")
    assert capture_fake("--resume", str(run.path)) == 0, "nothing is left to be made"
    (run.passes / "timing.json").unlink()
    assert capture_fake("--resume", str(run.path)) == 2
    assert f"Changed since {run.path} was begun: {named}.\n" in capsys.readouterr().err
    assert "timing" not in run.pass_records()


@pytest.mark.parametrize(("left", "status"), [("ncu", 2), ("timing", 0)])
def test_another_profiler_version_is_refused_where_it_would_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], left: str, status: int
):
    run = RunFolder(tmp_path / "run")
    capture_fake("--quick", "--passes", "timing,ncu,ncu-warm", out=run.path)
    record = run.pass_records()["ncu-warm"]
    write_json(run.passes / "ncu-warm.json", {**record, "tools": {**record["tools"], "ncu": "2022.1"}})
    (run.passes / f"{left}.json").unlink()
    assert capture_fake("--resume", str(run.path)) == status
    assert ("ncu (2022.1 → " in capsys.readouterr().err) == (status == 2)


def test_resume_takes_the_run_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    capture_fake("--quick", "--passes", "validate", out=tmp_path / "run")
    assert capture_fake("--resume", str(tmp_path / "run"), "--passes", "nsys") == 2
    assert "--passes cannot change it" in capsys.readouterr().err
