"""`capture` as a person meets it: messages, statuses, dry runs, no GPU, reports from elsewhere."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from unittest import mock

import pytest
from fake_tools import bench
from fake_tools.bench import EXPERIMENT, PASSES, capture_fake, ready, with_fakes, without_gpu

from nsight_suite import capture
from nsight_suite.capturing import recorded
from nsight_suite.manifest import read_manifest
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import find_experiment

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_fakes(monkeypatch)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def made_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A finished run of the fake experiment; read only."""
    folder = tmp_path_factory.mktemp("elsewhere") / "run"
    with pytest.MonkeyPatch.context() as patch:
        with_fakes(patch)
        assert capture_fake("--quick", "--variants", "plain", out=folder) == 0
    return RunFolder(folder)


def test_without_a_gpu_it_says_what_is_missing_and_what_to_do_and_leaves_nothing(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch, made_elsewhere: RunFolder
):
    monkeypatch.setattr(recorded, "recorded_runs", lambda: [made_elsewhere.path])
    assert capture_fake(inspect=without_gpu) == 2
    message = capsys.readouterr().err
    assert "This machine cannot capture 'fake'" in message
    assert "GPU and driver: no NVIDIA driver\n    Use a machine with a GPU." in message
    assert "python -m nsight_suite.reconcile examples/run" in message
    assert not list(tmp_path.iterdir())


def test_without_a_gpu_and_a_recorded_run_it_names_the_other_way(capsys: Output):
    assert capture_fake("--or-recorded", inspect=without_gpu) == 2
    assert "--reports DIR" in capsys.readouterr().err


def test_or_recorded_goes_on_with_a_copy(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch, made_elsewhere: RunFolder
):
    monkeypatch.setattr(recorded, "recorded_runs", lambda: [made_elsewhere.path])
    with mock.patch.object(capture, "analyse", return_value=1) as analyse:
        argv = [str(EXPERIMENT), "--or-recorded", "--out", "copy"]
        assert capture.main(argv, inspect=without_gpu) == 1
    assert analyse.call_args.args == (RunFolder(Path("copy")), find_experiment(str(EXPERIMENT)))
    assert RunFolder(Path("copy")).read_run() == {**made_elsewhere.read_run(), "source": "recorded"}
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]
    output = capsys.readouterr()
    assert "Going on with the recorded run" in output.err
    last = output.out.splitlines()[-1]
    assert last.startswith(f"These are the numbers of the recorded run {made_elsewhere.path.name} (")
    assert last.endswith("), not of this machine.")


def test_the_recorded_run_is_never_taken_for_a_capture(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch, made_elsewhere: RunFolder
):
    """Its copy has a name of its own, no choice is quietly ignored, and only the lack of a GPU leads to it."""
    monkeypatch.setattr(recorded, "recorded_runs", lambda: [made_elsewhere.path])
    assert capture_fake("--or-recorded", "--quick", inspect=without_gpu) == 2
    assert "--quick cannot change it" in capsys.readouterr().err

    def without_library(*_: object) -> tuple[bench.Check, ...]:
        return (*ready(), bench.Check("a library", "missing", "not found", "Install it.", (), ("other",)))

    assert capture_fake("--or-recorded", inspect=without_library) == 2
    assert "a library: not found\n    Install it." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert capture_fake("--or-recorded", inspect=without_gpu) == 0
    assert [path.name.startswith("recorded-run-2") for path in Path("runs").iterdir()] == [True]


def test_a_package_that_is_missing_is_told_before_anything_is_measured(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "sqlite_utils", None)
    assert capture_fake() == 2
    message = capsys.readouterr().err
    assert "The package sqlite_utils is missing" in message
    assert "Traceback" not in message
    assert not list(tmp_path.iterdir())


def test_or_recorded_captures_where_there_is_a_gpu(tmp_path: Path):
    assert capture_fake("--or-recorded", "--passes", "validate", out=tmp_path / "run") == 0
    assert RunFolder(tmp_path / "run").read_run()["source"] == "capture"


def test_a_variant_whose_library_is_missing_stops_the_capture(tmp_path: Path, capsys: Output):
    def inspect(*_: object) -> tuple[bench.Check, ...]:
        return (bench.Check("a library", "missing", "not found", "--variants plain", (), ("other",)),)

    assert capture_fake(inspect=inspect) == 2
    assert "a library: not found" in capsys.readouterr().err
    assert capture_fake("--variants", "plain", "--passes", "validate", inspect=inspect) == 0


def test_every_lack_is_told_not_only_those_that_stop_the_capture(capsys: Output):
    def inspect(*_: object) -> tuple[bench.Check, ...]:
        return (*without_gpu(), *bench.without("nsys", "ncu")())

    assert capture_fake(inspect=inspect) == 2
    message = capsys.readouterr().err
    assert all(said in message for said in ("no NVIDIA driver", "Install nsys.", "Install ncu."))


def test_dry_run_prints_the_commands_and_does_nothing(tmp_path: Path, capsys: Output):
    assert capture_fake("--dry-run", "--passes", "nsys,ncu", "--quick", inspect=without_gpu) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if "-o nsys " in line or "-o ncu " in line] == [
        "profile",
        "--nvtx",
    ]
    plans = [json.loads(line.partition(": ")[2]) for line in lines if line.startswith("# plan.json")]
    assert [plan["pass"] for plan in plans] == ["nsys", "ncu"]
    assert lines[-1].endswith("ncu --import ncu.ncu-rep --csv --page raw --print-units base > ncu.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--variants", "fussed"], "no variant 'fussed'"),
        (["--passes", "timing,nope"], "no pass 'nope'"),
        (["--reports", "nowhere"], "There is no folder 'nowhere'"),
        (["--resume", "nowhere"], "There is no run 'nowhere'"),
        (["--reports", ".", "--quick"], "--quick cannot change it"),
        (["--device", "-1"], "no device -1"),
    ],
)
def test_a_wrong_call_is_a_message_and_status_2(
    options: list[str], message: str, capsys: Output, tmp_path: Path
):
    assert capture_fake(*options) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert "Traceback" not in output.err
    assert not list(tmp_path.iterdir())


def test_an_unknown_experiment_names_the_known_ones(capsys: Output):
    assert capture.main(["rwo"]) == 2
    assert "Name one of:" in capsys.readouterr().err


@pytest.mark.parametrize("lacking", ["driver.py", "expected.sql", "kernels"])
@pytest.mark.parametrize("dry", [[], ["--dry-run"]], ids=["run", "dry"])
def test_an_experiment_that_is_not_whole(tmp_path: Path, capsys: Output, lacking: str, dry: list[str]):
    shutil.copytree(EXPERIMENT, tmp_path / "fake")
    (tmp_path / "fake" / lacking).rename(tmp_path / "away")
    assert capture.main(["fake", *dry, "--out", "run"], inspect=ready) == 2
    assert f"it lacks {tmp_path / 'fake' / lacking}" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_folder_of_another_name(tmp_path: Path, capsys: Output):
    shutil.copytree(EXPERIMENT, tmp_path / "other")
    assert capture.main(["other", "--dry-run"], inspect=ready) == 2
    assert "calls its experiment 'fake', its folder is 'other'" in capsys.readouterr().err


def test_no_experiment_at_all(capsys: Output):
    with pytest.raises(SystemExit) as ended:
        capture.main([])
    assert ended.value.code == 2
    assert "name an experiment" in capsys.readouterr().err


def test_runs_go_to_new_folders(tmp_path: Path, capsys: Output):
    capture_fake("--passes", "validate")
    capture_fake("--passes", "validate")
    assert len(list((tmp_path / "runs").glob("fake-2*/run.json"))) == 2

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("important")
    assert capture_fake(out=tmp_path / "mine") == 2
    assert "is not empty, and no run" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]

    (tmp_path / "empty").mkdir()
    assert capture_fake("--passes", "validate", out=tmp_path / "empty") == 0
    assert capture_fake("--passes", "validate", out=tmp_path / "empty") == 2
    assert f"--resume {tmp_path / 'empty'}" in capsys.readouterr().err


def test_secrets_do_not_enter_the_run(tmp_path: Path):
    folder = tmp_path / "token=abc123"
    capture_fake("--passes", "validate", out=folder)
    assert "abc123" not in json.dumps(RunFolder(folder).read_run())


def test_progress_is_a_few_lines_when_it_is_no_terminal(tmp_path: Path, capsys: Output):
    capture_fake("--quick", out=tmp_path / "run")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 * len(PASSES)
    assert lines[0] == "[1/6] validate …"
    assert lines[1].startswith("      validate: ok, ")


def test_reports_of_a_run_make_the_same_run(tmp_path: Path, made_elsewhere: RunFolder):
    assert capture_fake("--reports", str(made_elsewhere.reports), out=tmp_path / "run") == 0
    run = RunFolder(tmp_path / "run")
    assert run.pass_records() == made_elsewhere.pass_records()
    info, original = run.read_run(), made_elsewhere.read_run()
    assert info["source"] == "reports"
    assert {key: info[key] for key in ("run_id", "state", "cases", "passes", "quick")} == {
        key: original[key] for key in ("run_id", "state", "cases", "passes", "quick")
    }
    made, brought = (
        {path.relative_to(one.reports): path.read_bytes() for path in one.reports.rglob("*") if path.is_file()}
        for one in (run, made_elsewhere)
    )
    assert made == brought


def test_loose_reports_make_a_run_that_knows_what_it_does_not_know(
    tmp_path: Path, capsys: Output, made_elsewhere: RunFolder
):
    loose = tmp_path / "loose"
    loose.mkdir()
    for name in ("nsys.sqlite", "timing.jsonl", "ncu.jsonl", "sanitize.memcheck.log"):
        shutil.copy(made_elsewhere.reports / name, loose)
    (loose / "notes.txt").write_text("mine")
    assert capture_fake("--reports", str(loose), out=tmp_path / "run") == 0
    assert "left aside, no report that the suite knows: notes.txt" in capsys.readouterr().err
    run = RunFolder(tmp_path / "run")
    info, records = run.read_run(), run.pass_records()
    assert (info["passes"], info["state"]) == (["timing", "nsys", "ncu", "sanitize"], "incomplete")
    assert {name: record["state"] for name, record in records.items()} == {
        "timing": "ok",
        "nsys": "ok",
        "ncu": "failed",
        "sanitize": "ok",
    }
    assert "Only the driver's records of the pass ncu" in records["ncu"]["reason"]
    assert records["nsys"]["options"]["graph_trace"] is None
    assert records["nsys"]["exit_status"] is None
    assert not (run.reports / "notes.txt").exists()


def test_a_report_without_its_export_is_exported_where_nsys_is(tmp_path: Path, made_elsewhere: RunFolder):
    loose = tmp_path / "loose"
    loose.mkdir()
    shutil.copy(made_elsewhere.reports / "nsys.nsys-rep", loose)
    assert capture_fake("--reports", str(loose), out=tmp_path / "with") == 0
    assert b"fake report\n" in (tmp_path / "with" / "reports" / "nsys.sqlite").read_bytes()
    with mock.patch.object(capture, "find_tools", return_value={}):
        assert capture_fake("--reports", str(loose), out=tmp_path / "without") == 0
    record = RunFolder(tmp_path / "without").pass_records()["nsys"]
    assert record["state"] == "failed"
    assert "nsys export --type=sqlite -o nsys.sqlite nsys.nsys-rep" in record["reason"]


def test_records_that_were_cut_off_are_told(tmp_path: Path, made_elsewhere: RunFolder):
    loose = tmp_path / "loose"
    loose.mkdir()
    whole = (made_elsewhere.reports / "timing.jsonl").read_bytes()
    (loose / "timing.jsonl").write_bytes(whole[: len(whole) // 2])
    capture_fake("--reports", str(loose), out=tmp_path / "run")
    assert "was cut off" in RunFolder(tmp_path / "run").pass_records()["timing"]["reason"]


def test_reports_of_another_experiment_are_refused(tmp_path: Path, capsys: Output, made_elsewhere: RunFolder):
    assert capture.main(["row", "--reports", str(made_elsewhere.reports), "--out", "run"]) == 2
    assert "are of the experiment 'fake', not of 'row'" in capsys.readouterr().err


def test_the_readmes_first_command(tmp_path: Path, capsys: Output, recorded_run: RunFolder):
    """Everything after the passes, for real, on the recorded run."""
    assert capture.main(["row", "--or-recorded", "--out", "copy"], inspect=without_gpu) == 0
    for name in ("report.html", "report.md", "evidence.duckdb", "evidence.sqlite"):
        assert (tmp_path / "copy" / name).is_file()
    assert list((tmp_path / "copy" / "figures").glob("*.png"))
    manifest = read_manifest(tmp_path / "copy" / "manifest.json")
    assert {"page", "figure", "summary", "store", "evidence"} <= {entry.role for entry in manifest.files}
    assert manifest.queries
    output = capsys.readouterr().out
    assert "copy/report.html" in output
    assert re.search(r"recorded run row-h200 \(NVIDIA H200, 2026-\d\d-\d\d\), not of this machine\.\n$", output)
    assert "a copy of a run that ships with the suite" in (tmp_path / "copy" / "report.md").read_text()


def test_a_failed_pass_makes_the_status_2_even_when_the_rest_agrees(tmp_path: Path, made_elsewhere: RunFolder):
    """Checked on `analyse` itself, with its stages replaced."""
    run = RunFolder(tmp_path / "run")
    shutil.copytree(made_elsewhere.path, run.path)
    assert analysed(run, 0) == 0
    run.run_json.write_text(json.dumps({**run.read_run(), "state": "incomplete"}))
    assert analysed(run, 0) == 2
    assert analysed(run, 1) == 1


def analysed(run: RunFolder, reconciled: int) -> int:
    reconciliation = mock.Mock(exit_status=reconciled)
    stages = {
        "nsight_suite.evidence.build": mock.Mock(),
        "nsight_suite.reconciliation": mock.Mock(reconcile_run=mock.Mock(return_value=reconciliation)),
        "nsight_suite.reconciliation.table": mock.Mock(
            render=mock.Mock(return_value="a table"), to_json=mock.Mock(return_value="{}")
        ),
        "nsight_suite.drawing": mock.Mock(),
        "nsight_suite.reporting": mock.Mock(write_report=mock.Mock(return_value=("html", "md"))),
        "nsight_suite.sealing": mock.Mock(),
    }
    with mock.patch.dict("sys.modules", stages):
        return capture.analyse(run, find_experiment(str(EXPERIMENT)))


def test_a_run_that_lacks_a_pass_still_ends_with_verdicts_and_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
):
    """Nothing is replaced here but the tools: passes, evidence, reconciliation, figures and report are real."""
    monkeypatch.setenv("FAKE_NCU", "permission")
    argv = [str(EXPERIMENT), "--quick", "--variants", "plain", "--passes", "validate,ncu", "--out", "run"]
    assert capture.main(argv, inspect=ready) == 2
    output = capsys.readouterr()
    assert "failed-pass" in output.out
    assert "ERR_NVGPUCTRPERM" in output.out
    assert output.out.endswith("Run: run\nReport: run/report.html\n")
    assert (tmp_path / "run" / "report.html").is_file()
    assert json.loads((tmp_path / "run" / "reconciliation.json").read_text())["exit_status"] == 2
