"""Writing into a run folder and elsewhere: whole or not at all, and never over what is not a file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from nsight_suite.errors import SuiteError
from nsight_suite.runfolder import replacing, write_text


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
