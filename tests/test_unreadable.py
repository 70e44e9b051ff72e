"""What is there and cannot be read is told as that, not as missing; the system's refusals give no traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from real_run import make_real_run

from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.evidence import store
from nsight_suite.evidence.build import collect
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import find_run

needs_permissions = pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")


def folder_in_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


def dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def no_permission(path: Path) -> None:
    path.chmod(0)


SPOIL = [folder_in_place, dangling, pytest.param(no_permission, marks=needs_permissions)]


@pytest.mark.parametrize("spoil", SPOIL)
@pytest.mark.parametrize("name", ["nsys.sqlite", "ncu.csv", "timing.jsonl", "sanitize.memcheck.log"])
def test_a_report_that_cannot_be_read_is_told_once(
    tmp_path: Path, name: str, spoil: Callable[[Path], None]
) -> None:
    run = make_real_run(tmp_path / "run")
    spoil(run.reports / name)
    with collect(run) as connection:
        found = connection.execute("SELECT code, subject FROM finding").fetchall()
    assert found == [("unreadable-report", name)]


@pytest.mark.parametrize("spoil", SPOIL)
def test_a_run_or_pass_that_cannot_be_read_is_named(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    run = make_real_run(tmp_path / "run")
    spoil(run.passes / "nsys.json")
    with pytest.raises(SuiteError, match=r"nsys\.json cannot be read"):
        run.pass_records()
    spoil(run.run_json)
    assert find_run(run.path) == run.path
    with pytest.raises(SuiteError, match=r"run\.json cannot be read"):
        run.read_run()


def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    run = make_real_run(tmp_path / "run")
    shutil.rmtree(run.passes)
    run.passes.touch()
    with pytest.raises(SuiteError, match="passes cannot be read: Not a directory"):
        collect(run)


@needs_permissions
def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    run = make_real_run(tmp_path / "run")
    run.path.chmod(0)
    with pytest.raises(UsageError, match="cannot be read: Permission denied"):
        find_run(run.path)
    run.path.chmod(0o755)


def test_a_table_that_cannot_be_read_is_not_called_missing(synthetic_run: RunFolder, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    shutil.copytree(synthetic_run.path, run.path)
    folder_in_place(run.evidence / "kernel.parquet")
    assert store.open_store(run).missing == {"kernel": "kernel.parquet cannot be read"}


def query(
    run: RunFolder, *options: str, redirected: str = "", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "nsight_suite.query", str(run.path), *options]
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", *command],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.parametrize(
    ("redirected", "message"), [("> /dev/full", b"No space left on device"), (">&-", b"output is closed")]
)
def test_output_that_nothing_takes_is_told(synthetic_run: RunFolder, redirected: str, message: bytes) -> None:
    done = query(synthetic_run, "kernel_counts", redirected=redirected)
    assert done.returncode == 2
    assert message in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stderr.startswith(b"nsight-suite: ")


def test_a_reader_that_goes_away_is_no_error(synthetic_run: RunFolder) -> None:
    done = query(synthetic_run, "kernel_counts", redirected="| true")
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_that_knows_ascii_only_gets_an_answer(synthetic_run: RunFolder) -> None:
    done = query(synthetic_run, "--sql", "SELECT 'µ' AS unit, NULL AS none", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.split()[-2:] == [b"?", b"?"]
    as_json = query(synthetic_run, "--sql", "SELECT 1 AS n", "--format", "json", PYTHONIOENCODING="ascii")
    assert json.loads(as_json.stdout) == [{"n": 1}]
