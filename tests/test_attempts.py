"""Attempts at a pass that was made again stay recorded, and no evidence is built from them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fake_tools.bench import capture_fake, with_fakes
from real_run import HOME, make_real_run
from test_capture_resume import hanging_in

from nsight_suite.evidence.build import collect
from nsight_suite.evidence.tables import tables
from nsight_suite.manifest import read_manifest
from nsight_suite.runfolder import RunFolder, read_json, sha256, write_json
from nsight_suite.sharing.copying import copy_sources
from nsight_suite.sharing.leaving import left_out


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    with_fakes(monkeypatch)


def test_a_failed_attempt_is_kept_when_the_pass_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunFolder(tmp_path / "run")
    monkeypatch.setenv("FAKE_NSYS", "export-fails")
    capture_fake("--quick", "--passes", "validate,nsys", out=run.path)
    assert read_manifest(run.manifest).state == "incomplete"
    assert read_manifest(run.manifest).passes["nsys"].state == "failed"
    failed, report = run.pass_records()["nsys"], (run.reports / "nsys.nsys-rep").read_bytes()
    monkeypatch.delenv("FAKE_NSYS")
    capture_fake("--resume", str(run.path))

    kept = read_json(run.path / "attempts" / "nsys-1" / "pass.json")
    assert {key: kept[key] for key in ("state", "reason", "steps", "started_utc")} == {
        key: failed[key] for key in ("state", "reason", "steps", "started_utc")
    }
    assert (run.path / "attempts" / "nsys-1" / "nsys.nsys-rep").read_bytes() == report
    for file in kept["artifacts"]:
        assert sha256(run.path / file["path"]) == file["sha256"]

    manifest = read_manifest(run.manifest)
    (attempt,) = manifest.attempts
    assert (attempt.pass_name, attempt.state, attempt.reason) == ("nsys", "failed", failed["reason"])
    assert (manifest.state, manifest.passes["nsys"].state) == ("complete", "ok")
    assert {entry.path for entry in manifest.files} >= {attempt.path, "attempts/nsys-1/nsys.nsys-rep"}


def test_an_attempt_that_was_killed_is_kept_as_abandoned(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    with hanging_in("timing", run.path) as process:
        process.kill()
        process.wait()
    manifest = read_manifest(run.manifest)
    assert manifest.state == "running"
    assert (manifest.passes["validate"].state, manifest.passes["timing"].state) == ("ok", "absent")

    assert capture_fake("--resume", str(run.path)) == 0
    (attempt,) = read_manifest(run.manifest).attempts
    assert (attempt.pass_name, attempt.state, attempt.started_utc) == ("timing", "abandoned", None)
    assert (run.path / "attempts" / "timing-1" / "timing.log").is_file()
    assert read_manifest(run.manifest).passes["timing"].state == "ok"


def test_a_pass_whose_files_were_changed_is_kept_as_it_was_found(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    capture_fake("--quick", "--passes", "validate,ncu", out=run.path)
    (run.reports / "ncu.csv").write_text("changed\n")
    capture_fake("--resume", str(run.path))
    assert (run.path / "attempts" / "ncu-1" / "ncu.csv").read_text() == "changed\n"
    assert (run.reports / "ncu.csv").read_text() != "changed\n"


def test_each_attempt_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunFolder(tmp_path / "run")
    monkeypatch.setenv("FAKE_NSYS", "export-fails")
    capture_fake("--quick", "--passes", "nsys", out=run.path)
    for _ in range(2):
        capture_fake("--resume", str(run.path))
    assert [(one.path, one.state) for one in read_manifest(run.manifest).attempts] == [
        ("attempts/nsys-1/pass.json", "failed"),
        ("attempts/nsys-2/pass.json", "failed"),
    ]


def test_nothing_of_an_attempt_enters_the_evidence(tmp_path: Path) -> None:
    """The attempt is a whole, plausible pass: if anything read it, rows would be doubled."""
    run = make_real_run(tmp_path / "run")
    plain = rows(run)
    for name in ("timing", "nsys", "ncu"):
        folder = run.path / "attempts" / f"{name}-1"
        folder.mkdir(parents=True)
        for path in run.reports.glob(f"{name}.*"):
            shutil.copyfile(path, folder / path.name)
        record = {**run.pass_records()[name], "state": "failed", "reason": "planted", "artifacts": []}
        write_json(folder / "pass.json", record)
    assert len(run.attempt_records()) == 3
    assert rows(run) == plain


def test_a_copy_tells_an_attempt_and_holds_none_of_its_files(tmp_path: Path) -> None:
    run, draft = make_real_run(tmp_path / "run"), RunFolder(tmp_path / "draft")
    folder = run.attempts / "nsys-1"
    folder.mkdir(parents=True)
    (folder / "nsys.log").write_text("what was printed\n")
    (folder / "nsys.nsys-rep").write_bytes(b"a whole report")
    reason = f"{HOME}/bin/nsys ended with 1."
    write_json(folder / "pass.json", {**run.pass_records()["nsys"], "state": "failed", "reason": reason})
    copy_sources(run, draft, without=())

    assert [path.name for path in (draft.attempts / "nsys-1").iterdir()] == ["pass.json"]
    (record,) = draft.attempt_records().values()
    assert (record["state"], record["reason"]) == ("failed", "nsys ended with 1.")
    assert HOME not in (draft.attempts / "nsys-1" / "pass.json").read_text()
    left = {one.path: one.sha256 for one in left_out(run, draft, {})}
    for name in ("nsys.log", "nsys.nsys-rep"):
        assert left[f"attempts/nsys-1/{name}"] == sha256(folder / name)


def rows(run: RunFolder) -> dict[str, list[tuple[object, ...]]]:
    """Every row of the evidence: whatever a query says is made of them."""
    with collect(run) as connection:
        return {
            name: connection.execute(f'SELECT * FROM "{name}" ORDER BY ALL').fetchall() for name in tables()
        }
