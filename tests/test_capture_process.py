"""One child process: its log, its time-out, and its end together with everything it started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_tools.bench import is_running

from nsight_suite.capturing import process
from nsight_suite.capturing.environment import child_environment
from nsight_suite.capturing.process import Ended, end_family, run_child

# Starts a grandchild in a session of its own, as nsys does with the program it profiles, and tells its number.
FAMILY = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {grandchild!r}], start_new_session=True)
print(child.pid, flush=True)
time.sleep({seconds})
"""
SLEEP = "import time; time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def run(folder: Path, code: str, timeout_s: float = 20.0, **options: object) -> Ended:
    environment = child_environment(os.environ, folder)
    argv = [sys.executable, "-c", code]
    return run_child(
        argv, folder=folder, environment=environment, log=folder / "log", timeout_s=timeout_s, **options
    )


def test_exit_status_and_output(tmp_path: Path):
    ended = run(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (ended.exit_status, ended.timed_out) == (3, False)
    assert ended.duration_ns > 0
    assert {"out", "err"} <= set((tmp_path / "log").read_text().splitlines())


def test_standard_output_can_go_to_a_file_of_its_own(tmp_path: Path):
    run(tmp_path, "import sys; print('1,2'); print('==PROF==', file=sys.stderr)", stdout=tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text() == "1,2\n"
    assert "==PROF==" in (tmp_path / "log").read_text()


def test_a_signal_is_a_negative_status(tmp_path: Path):
    assert run(tmp_path, "import os; os.kill(os.getpid(), 9)").exit_status == -9


@pytest.mark.parametrize("grandchild", [SLEEP, DEAF], ids=["listens", "deaf"])
def test_time_out_ends_the_grandchildren_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grandchild: str):
    monkeypatch.setattr(process, "TERMINATE_PATIENCE_S", 0.3)
    ended = run(tmp_path, FAMILY.format(grandchild=grandchild, seconds=600), timeout_s=2.0)
    assert (ended.exit_status, ended.timed_out) == (None, True)
    assert not is_running(int((tmp_path / "log").read_text().splitlines()[-1]))


def test_nothing_is_left_behind_by_a_child_that_ended_well(tmp_path: Path):
    assert run(tmp_path, FAMILY.format(grandchild=SLEEP, seconds=0)).exit_status == 0
    assert not is_running(int((tmp_path / "log").read_text().splitlines()[-1]))


def test_an_interruption_ends_the_child(tmp_path: Path):
    def interrupt() -> None:
        if len((tmp_path / "log").read_text().splitlines()) > 1:
            raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, FAMILY.format(grandchild=SLEEP, seconds=600), tick=interrupt)
    assert time.monotonic() - started < 15
    assert not is_running(int((tmp_path / "log").read_text().splitlines()[-1]))


def test_only_the_marked_family_is_ended(tmp_path: Path):
    """A second run on the same machine keeps its processes."""
    mine, other = (
        subprocess.Popen([sys.executable, "-c", SLEEP], env=child_environment(os.environ, tmp_path / name))
        for name in ("mine", "mine-too")
    )
    try:
        while not (
            Path(f"/proc/{mine.pid}/environ").read_bytes() and Path(f"/proc/{other.pid}/environ").read_bytes()
        ):
            time.sleep(0.01)
        assert end_family(str(tmp_path / "mine")) == 1
        assert mine.wait(5) == -15
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_the_time_of_ending_what_is_left_is_not_the_child_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process, "TERMINATE_PATIENCE_S", 3.0)
    # The grandchild ignores SIGTERM before the child ends.
    code = FAMILY.format(grandchild=DEAF, seconds=1)
    started = time.monotonic()
    ended = run(tmp_path, code)
    assert time.monotonic() - started > 3.5
    assert ended.duration_ns < 3e9


def test_a_program_that_cannot_be_started(tmp_path: Path):
    environment = child_environment(os.environ, tmp_path)
    with pytest.raises(OSError, match="No such file"):
        run_child(["/no/such"], folder=tmp_path, environment=environment, log=tmp_path / "log", timeout_s=1)
