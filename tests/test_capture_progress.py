"""Following the driver's records while they grow, and showing how far it is."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from nsight_suite.capturing import progress
from nsight_suite.capturing.progress import PlainDisplay, display
from nsight_suite.capturing.records import Progress, RecordsFollower, end_of_records
from nsight_suite.runfolder import RunFolder


def line(done: int, what: str = "row:fused:graph:32x1024") -> str:
    return json.dumps({"table": "_progress", "done": done, "total": 9, "what": what}) + "\n"


def test_the_newest_progress_is_read_as_the_file_grows(tmp_path: Path):
    path = tmp_path / "records.jsonl"
    follower = RecordsFollower(path)
    assert follower.latest() is None
    with path.open("w") as file:
        file.write(line(1) + line(2) + '{"table": "sample"}\n' + line(3)[:20])
        file.flush()
        assert follower.latest() == Progress(2, 9, "row:fused:graph:32x1024")
        assert follower.latest() is None
        file.write(line(3)[20:])
        file.flush()
        assert follower.latest() == Progress(3, 9, "row:fused:graph:32x1024")


@pytest.mark.parametrize(
    "text", ['{"table": "_progress"}\n', "_progress\n", '["_progress"]\n', "\xff_progress\n"]
)
def test_a_malformed_line_is_passed_over(tmp_path: Path, text: str):
    path = tmp_path / "records.jsonl"
    path.write_text(line(1) + text, encoding="latin-1")
    assert RecordsFollower(path).latest() == Progress(1, 9, "row:fused:graph:32x1024")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ('{"table": "sample"}\n{"table": "_end", "state": "ok"}\n', {"table": "_end", "state": "ok"}),
        ('{"table": "_end", "state": "ok"}', None),
        ('{"table": "_end", "state": "ok"}\n{"table": "sample"}\n', None),
        ('{"table": "_end", "sta', None),
        ("", None),
    ],
    ids=["ended", "last line cut", "written on after the end", "cut inside", "empty"],
)
def test_how_records_ended(tmp_path: Path, text: str, end: dict[str, str] | None):
    (tmp_path / "records.jsonl").write_text(text)
    assert end_of_records(tmp_path / "records.jsonl") == end


def test_no_records_at_all(tmp_path: Path):
    assert end_of_records(tmp_path / "records.jsonl") is None


def test_plain_lines_are_few_and_tell_the_time_left(monkeypatch: pytest.MonkeyPatch):
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    stream = io.StringIO()
    shown = PlainDisplay(stream)
    shown.pass_started("ncu", 4, 6)
    for done in range(1, 10):
        now += 4.0
        shown.advanced(Progress(done, 9, f"case {done}"))
    shown.pass_ended("ncu", None, 36_000_000_000)
    assert stream.getvalue().splitlines() == [
        "[4/6] ncu …",
        "      ncu: 3/9 case 3, about 24 s left",
        "      ncu: 6/9 case 6, about 12 s left",
        "      ncu: 9/9 case 9, about 0 s left",
        "      ncu: ok, 36.0 s",
    ]


def test_the_live_display_names_pass_case_and_time_left(monkeypatch: pytest.MonkeyPatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    with display(stream) as shown:
        shown.pass_kept("timing", 2, 6)
        shown.pass_started("nsys", 3, 6)
        shown.advanced(Progress(4, 9, "row:fused:graph:32x1024"))
        shown._bar.refresh()  # it refreshes itself twice a second
        shown.pass_ended("nsys", "no [bold] report", 1_000_000_000)
    text = stream.getvalue()
    for expected in (
        "[2/6] timing: finished earlier, kept",
        "[3/6] nsys",
        "4/9",
        "row:fused:graph:32x1024",
        "left",
    ):
        assert expected in text
    assert "nsys: failed: no [bold] report" in text


def test_a_temporary_file_of_a_killed_process_is_no_pass(tmp_path: Path):
    run = RunFolder(tmp_path)
    run.passes.mkdir()
    (run.passes / f".timing.{os.getpid()}.json").write_text('{"state": "ok"')
    assert run.pass_records() == {}
