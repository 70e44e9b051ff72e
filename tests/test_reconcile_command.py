"""`python -m nsight_suite.reconcile`"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nsight_suite.reconcile import main
from nsight_suite.reconciliation import reconcile_run
from nsight_suite.reconciliation.table import render
from nsight_suite.runfolder import RunFolder, write_json

LARGE = "row:fused:graph:4096x4096"


def test_clean_run_exits_0_with_a_verdict_for_every_case(
    synthetic_run: RunFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    assert main([str(synthetic_run.path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["case", "counts", "completeness", "order", "time", "traffic", "limits"]
    (row,) = [line.split() for line in lines if line.startswith(LARGE)]
    assert row == [LARGE, "agree", "agree", "agree", "explained", "explained", "agree:", "neither-bound"]
    assert lines[-1] == "Reconciled: every verdict is agreement or explained."


def test_json_has_everything(synthetic_run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(synthetic_run.path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["run_id"], data["exit_status"], len(data["cases"])) == ("row-synthetic", 0, 18)
    assert {"code", "family", "verdict", "case_id", "seen", "numbers", "means", "next_step", "sources"} == set(
        data["findings"][0]
    )
    assert {rule["code"] for rule in data["rules"] if rule["applies"]} >= {
        "flushed-is-not-warm",
        "other-device",
    }


def test_markdown_has_the_table(synthetic_run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(synthetic_run.path), "--markdown"]) == 0
    text = capsys.readouterr().out
    assert (
        f"| `{LARGE}` | ✓ agree | ✓ agree | ✓ agree | ≈ explained | ≈ explained | ✓ agree: neither-bound |"
        in text
    )


def test_case_shows_one_case(synthetic_run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(synthetic_run.path), "--case", LARGE]) == 0
    out = capsys.readouterr().out
    assert LARGE in out
    assert "row:staged" not in out
    assert main([str(synthetic_run.path), "--case", "row:none"]) == 2
    assert "The run has no case 'row:none'" in capsys.readouterr().err


def test_nothing_is_written(synthetic_run: RunFolder, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    shutil.copytree(synthetic_run.path, run.path)
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*")}
    assert main([str(run.path)]) == 0
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*")} == before


def test_a_fault_exits_2_or_1_and_leaves_no_traceback(synthetic_run: RunFolder, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    shutil.copytree(synthetic_run.path, run.path)
    (run.evidence / "counter.parquet").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "nsight_suite.reconcile", str(run.path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "evidence/counter.parquet is missing" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("state", ["running", "incomplete"])
def test_a_run_that_has_not_ended_is_told(
    synthetic_run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str], state: str
) -> None:
    shutil.copytree(synthetic_run.path, tmp_path / "run")
    run = RunFolder(tmp_path / "run")
    write_json(run.run_json, {**run.read_run(), "state": state})
    main([str(run.path)])
    assert f"The run is {state}: judged is what its passes have left so far." in capsys.readouterr().err


def test_unknown_run_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere"]) == 2
    assert "There is no run 'nowhere'" in capsys.readouterr().err


@pytest.mark.parametrize("width", [60, 80, 200])
def test_text_keeps_to_its_width(synthetic_run: RunFolder, width: int) -> None:
    text = render(reconcile_run(synthetic_run), width=width)
    assert max(map(len, text.splitlines())) <= width


def test_colour_only_when_asked(synthetic_run: RunFolder) -> None:
    reconciliation = reconcile_run(synthetic_run)
    assert "\x1b[" in render(reconciliation, width=100, colour=True)
    assert "\x1b[" not in render(reconciliation, width=100)
