"""Writing into a run folder and elsewhere: whole or not at all, and never over what is not a file."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nsight_suite.errors import SuiteError
from nsight_suite.evidence.build import collect
from nsight_suite.runfolder import RunFolder, read_json, replacing, write_json, write_text


def test_a_symlink_stays_and_its_target_is_written(tmp_path: Path) -> None:
    target = tmp_path / "real" / "a.txt"
    target.parent.mkdir()
    target.write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert sorted(tmp_path.rglob("*.txt")) == [link, target]


def test_a_pipe_stays_and_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_text(pipe, "through")
    reader.join(10)
    assert read == ["through"]
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_what_fails_halfway_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyError), replacing(path) as temporary:
        raise KeyError(temporary.write_text("half"))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", ["folder", "loop"])
def test_what_cannot_be_written_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    if kind == "folder":
        path.mkdir()
        (path / "b").touch()
    else:
        path.symlink_to(path)
    with pytest.raises(SuiteError, match=r"Cannot write .*/a: "):
        write_text(path, "new")
    assert path.is_dir() or path.is_symlink()


@pytest.fixture
def run(synthetic_run: RunFolder, tmp_path: Path) -> RunFolder:
    """A copy that a test may spoil."""
    copy = RunFolder(tmp_path / "run")
    for name in ("passes", "protocol", "reports"):
        shutil.copytree(synthetic_run.path / name, copy.path / name)
    shutil.copyfile(synthetic_run.run_json, copy.run_json)
    return copy


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(
            ("cases", None),
            ("cases", "row"),
            ("passes", [1]),
            ("passes", ["../nsys"]),
            ("experiment", "/tmp/x"),
        ),
        *(("experiment", ".."), ("experiment", ["row"]), ("quick", "no"), ("device", True), ("device", 10**30)),
        *(("argv", "capture row"), ("made_with", ["x"]), ("run_id", 1), ("state", None)),
    ],
)
def test_a_misshapen_run_is_named_with_its_key(run: RunFolder, key: str, value: object) -> None:
    write_json(run.run_json, {**read_json(run.run_json), key: value})
    with pytest.raises(SuiteError, match=rf"run\.json has a malformed '{key}'"):
        collect(run)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("duration_ns", 10**30), ("duration_ns", -1), ("duration_ns", "9"), ("duration_ns", 1.5)),
        *(("steps", "nsys"), ("steps", [{}]), ("steps", [{"argv": []}]), ("steps", [{"argv": [1]}])),
        *(("tools", []), ("tools", {"nsys": 1}), ("options", "none"), ("state", None), ("exit_status", "0")),
        *(("artifacts", ["reports/nsys.sqlite"]), ("artifacts", [{"path": "reports/nsys.sqlite"}])),
        ("artifacts", [{"path": "../../x", "bytes": 1, "sha256": "", "private": False}]),
    ],
)
def test_a_misshapen_pass_is_named_with_its_key(run: RunFolder, key: str, value: object) -> None:
    path = run.passes / "nsys.json"
    write_json(path, {**read_json(path), key: value})
    with pytest.raises(SuiteError, match=rf"nsys\.json has a malformed '{key}'"):
        collect(run)


def test_a_key_that_is_lacking_is_named(run: RunFolder) -> None:
    data = read_json(run.run_json)
    write_json(run.run_json, {key: value for key, value in data.items() if key != "cases"})
    with pytest.raises(SuiteError, match=r"run\.json lacks 'cases'"):
        run.read_run()


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a": ' * 100_000, f'{{"a": {"1" * 10_000}}}', '{"a": "\\ud800"}', '{"a": NaN}', "[]", ""],
    ids=["lists", "objects", "digits", "surrogate", "NaN", "list", "empty"],
)
def test_json_that_is_none_is_told(run: RunFolder, text: str) -> None:
    for path, read in [(run.run_json, run.read_run), (run.passes / "nsys.json", run.pass_records)]:
        assert_told(path, read, text)


def assert_told(path: Path, read: Callable[[], Any], text: str) -> None:
    whole = path.read_text()
    path.write_text(text)
    with pytest.raises(SuiteError, match=path.name):
        read()
    path.write_text(whole)
