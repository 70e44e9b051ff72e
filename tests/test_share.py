"""Sharing: the copy gives the same evidence, and nothing that was planted as private is anywhere in it."""

from __future__ import annotations

import errno
import getpass
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from faults import largest_file
from real_run import HOME, SECRETS, TOKEN, make_real_run, refresh_artifacts

from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.evidence.build import build, collect
from nsight_suite.evidence.ingested import rebuild
from nsight_suite.evidence.store import empty_store, open_store
from nsight_suite.evidence.tables import tables
from nsight_suite.ingesting.making import ingest
from nsight_suite.manifest import read_manifest
from nsight_suite.runfolder import RunFolder, read_json, write_json
from nsight_suite.scanning import scan
from nsight_suite.sharing import Options
from nsight_suite.sharing import share as share_bundle
from nsight_suite.sharing.copying import copy_sources
from nsight_suite.sharing.secrecy import refuse_leaks, secrets_of_run

NO_ENVIRONMENT: dict[str, str] = {}


def share(run: RunFolder, out: Path, *, environment: dict[str, str], force: bool = False) -> RunFolder:
    """The run in a folder without figures and report: these are drawn in tests of bundles."""
    return share_bundle(run, out, Options(force=force, without=("figures", "report")), environment).run


def reduced(run: RunFolder, folder: Path) -> RunFolder:
    """What a copy's evidence is built from, without what is made of it."""
    copy_sources(run, RunFolder(folder), without=())
    return RunFolder(folder)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return make_real_run(tmp_path / "run")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, RunFolder]:
    """A run and its copy; read only."""
    folder = tmp_path_factory.mktemp("shared")
    run = make_real_run(folder / "run")
    return run, share(run, folder / "copy", environment=NO_ENVIRONMENT)


def test_the_copy_gives_the_same_rows(shared: tuple[RunFolder, RunFolder]) -> None:
    original, copy = shared
    with collect(original) as first, collect(copy) as second:
        for name in tables():
            without = {"report": "EXCLUDE (sha256)"}.get(name, "")
            sql = f'SELECT * {without} FROM "{name}" ORDER BY ALL'
            if name != "artifact":
                assert first.execute(sql).fetchall() == second.execute(sql).fetchall(), name
        assert second.execute("SELECT count(*) FROM kernel").fetchall() == [(63,)]
        assert second.execute("SELECT count(*) FROM finding").fetchall() == [(0,)]


def test_the_copy_holds_only_what_may_be_published(shared: tuple[RunFolder, RunFolder]) -> None:
    _, copy = shared
    files = sorted(path.relative_to(copy.path).as_posix() for path in copy.path.rglob("*") if path.is_file())
    assert [name for name in files if not name.startswith(("evidence/", "passes/", "summaries/"))] == [
        *("manifest.json", "protocol/expected.sql", "protocol/protocol.toml", "reconciliation.json"),
        *("reports/ncu-warm.csv", "reports/ncu-warm.jsonl", "reports/ncu.csv", "reports/ncu.jsonl"),
        *("reports/nsys.jsonl", "reports/nsys.sqlite", "reports/sanitize.jsonl"),
        *("reports/sanitize.memcheck.log", "reports/timing.jsonl", "reports/validate.jsonl", "run.json"),
    ]


@pytest.mark.parametrize("secret", SECRETS)
def test_no_planted_secret_is_in_any_file(shared: tuple[RunFolder, RunFolder], secret: str) -> None:
    original, copy = shared

    def holders(run: RunFolder) -> list[str]:
        files = (path for path in run.path.rglob("*") if path.is_file())
        return [path.name for path in files if secret.encode() in path.read_bytes()]

    assert holders(original), "the secret was not planted"
    assert holders(copy) == []


def test_command_lines_keep_their_words_and_lose_their_paths(shared: tuple[RunFolder, RunFolder]) -> None:
    _, copy = shared
    assert read_json(copy.run_json)["argv"] == ["nsight-suite", "capture", "row"]
    step = read_json(copy.passes / "ncu.json")["steps"][0]
    assert step["argv"] == ["python", "driver.py", "--plan", "plan.json"]


def test_the_records_tell_of_the_copy_s_own_files(shared: tuple[RunFolder, RunFolder]) -> None:
    _, copy = shared
    files = {entry["path"]: entry for entry in read_json(copy.passes / "nsys.json")["artifacts"]}
    assert set(files) == {"reports/nsys.jsonl", "reports/nsys.sqlite"}
    assert not any(entry["private"] for entry in files.values())


def test_a_copy_can_be_built_again(shared: tuple[RunFolder, RunFolder], tmp_path: Path) -> None:
    import shutil

    _, copy = shared
    moved = RunFolder(tmp_path / "moved")
    shutil.copytree(copy.path, moved.path)
    shutil.rmtree(moved.evidence)
    build(moved)
    for path in copy.evidence.iterdir():
        assert (moved.evidence / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("state", ["running", "incomplete"])
def test_a_run_that_is_not_complete_is_refused(run: RunFolder, tmp_path: Path, state: str) -> None:
    write_json(run.run_json, {**read_json(run.run_json), "state": state})
    with pytest.raises(UsageError, match=state):
        share(run, tmp_path / "copy", environment=NO_ENVIRONMENT)
    assert not (tmp_path / "copy").exists()


def test_a_run_that_is_not_complete_is_shared_when_forced(run: RunFolder, tmp_path: Path) -> None:
    write_json(run.run_json, {**read_json(run.run_json), "state": "incomplete"})
    copy = share(run, tmp_path / "copy", force=True, environment=NO_ENVIRONMENT)
    assert read_json(copy.run_json)["state"] == read_json(copy.manifest)["state"] == "incomplete"


def test_a_run_that_lost_or_changed_a_report_is_refused(run: RunFolder, tmp_path: Path) -> None:
    """What is not as its pass left it could not be checked by anybody."""
    timing = run.reports / "timing.jsonl"
    lines = timing.read_bytes().splitlines(keepends=True)
    timing.write_bytes(b"".join(lines[:5] + lines[6:]))
    with pytest.raises(UsageError, match=r"reports/timing.jsonl is not as its pass left it \(pass timing\)"):
        share(run, tmp_path / "copy", environment=NO_ENVIRONMENT)
    timing.unlink()
    with pytest.raises(UsageError, match=r"reports/timing\.jsonl is gone"):
        share(run, tmp_path / "copy", environment=NO_ENVIRONMENT)
    assert not (tmp_path / "copy").exists()


def test_an_archive_of_another_kind_is_refused(run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"run.tar.gz.*would be a folder"):
        share(run, tmp_path / "run.tar.gz", environment=NO_ENVIRONMENT)


def test_reports_that_were_cut_stay_cut(run: RunFolder, tmp_path: Path) -> None:
    """A copy must not look better than its run."""
    for name, size in (("ncu.csv", -400), ("timing.jsonl", -30)):
        path = run.reports / name
        path.write_bytes(path.read_bytes()[:size])
    page = (run.reports / "ncu-warm.csv").read_text().splitlines(keepends=True)
    (run.reports / "ncu-warm.csv").write_text("".join([*page[:3], "planted output, foreign\n", *page[3:]]))
    refresh_artifacts(run)
    copy = reduced(run, tmp_path / "copy")
    with collect(copy) as connection:
        found = connection.execute("SELECT code, subject FROM finding ORDER BY ALL").fetchall()
        complete = connection.execute("SELECT file FROM report WHERE NOT complete ORDER BY 1").fetchall()
    assert found == [
        ("foreign-lines", "ncu-warm.csv"),
        ("truncated-records", "timing.jsonl"),
        ("truncated-report", "ncu.csv"),
    ]
    assert complete == [("ncu.csv",), ("timing.jsonl",)]


def test_what_stands_beside_a_page_s_rows_is_told_of_the_copy_too(run: RunFolder, tmp_path: Path) -> None:
    """A row that lost cells, a second table, and an error of ncu: each leaves its finding, or its rows."""
    page = run.reports / "ncu-warm.csv"
    lines = page.read_text().splitlines(keepends=True)
    ragged = ",".join(lines[2].split('","')[:-2]).replace(",", '","') + '"\n'
    error = f"==ERROR== could not write {HOME}/planted.csv\n"
    page.write_text("".join([error, *lines[:3], ragged, *lines]))
    refresh_artifacts(run)
    copy = reduced(run, tmp_path / "copy")
    with collect(copy) as connection:
        sql = "SELECT code FROM finding WHERE pass = 'ncu-warm' ORDER BY ALL"
        found = [code for (code,) in connection.execute(sql).fetchall()]
    assert found == ["ragged-rows", "repeated-launches", "tool-error"]
    assert HOME not in (copy.reports / "ncu-warm.csv").read_text()


def test_a_copy_that_would_give_other_evidence_is_refused(run: RunFolder, tmp_path: Path) -> None:
    (run.reports / "ncu.csv").rename(run.reports / "ncu.txt")
    data = Path(__file__).parent / "data" / "ncu_graph_whole.ncu-rep"
    (run.reports / "ncu.ncu-rep").write_bytes(data.read_bytes())
    refresh_artifacts(run)
    pytest.importorskip("ncu_report")
    with pytest.raises(SuiteError, match="table 'report' differs"):
        share(run, tmp_path / "copy", environment=NO_ENVIRONMENT)
    assert not (tmp_path / "copy").exists()


# -- the last look ---------------------------------------------------------------------------------


def plant_in_a_range(run: RunFolder, text: str) -> None:
    """A range's name passes every list: it is what the evidence is about."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(run.reports / "nsys.sqlite")) as database:
        database.execute("UPDATE NVTX_EVENTS SET textId = NULL, text = ? WHERE rowid = 2", (text,))
        database.commit()
    refresh_artifacts(run)


@pytest.mark.parametrize(
    ("name", "environment", "what"),
    [
        ("step sk-planted-9876", {"API_KEY": "sk-planted-9876"}, "the environment variable API_KEY"),
        (f"step {TOKEN}", {}, "the captured environment variable HF_TOKEN"),
        ("on planted-host now", {}, "a captured name of host or user"),
    ],
)
def test_a_secret_in_a_range_s_name_is_found_and_never_repeated(
    run: RunFolder, tmp_path: Path, name: str, environment: dict[str, str], what: str
) -> None:
    plant_in_a_range(run, name)
    with pytest.raises(SuiteError) as caught:
        share(run, tmp_path / "copy", environment=environment)
    assert what in str(caught.value)
    assert not any(secret in str(caught.value) for secret in (*SECRETS, "sk-planted-9876"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_the_run_s_own_path_is_found(run: RunFolder, tmp_path: Path) -> None:
    plant_in_a_range(run, f"step in:{run.path.resolve()}")
    with pytest.raises(SuiteError, match="the path of the run"):
        share(run, tmp_path / "copy", environment=NO_ENVIRONMENT)


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("fused.sm_90.log", "ptxas info : Compiling /home/planted/x.cu", "a home folder"),
        ("fused.sm_90.ptx", '.file 1 "/opt/planted/include/x.cuh"', "an absolute path"),
        ("fused.sm_90.sass", "// hf_plantedplantedplanted", "a credential"),
        ("fused.dot", 'label="user: planted"\nuser: planted', "a user"),
        ("fused.cu", '#include "/data/planted/x.cuh"', "an absolute path"),
        ("common.cuh", "// export API_TOKEN=plantedplanted", "an environment variable"),
    ],
)
def test_what_a_build_tells_of_a_machine_is_refused_by_the_files_name(
    tmp_path: Path, name: str, text: str, what: str
) -> None:
    path = tmp_path / "reports" / "builds" / "validate" / name
    path.parent.mkdir(parents=True)
    path.write_text(f"first\n{text}\n")
    with (
        empty_store() as evidence,
        pytest.raises(SuiteError, match=f"reports/builds/validate/{name} holds {what}") as caught,
    ):
        refuse_leaks(RunFolder(tmp_path), [path], [], evidence)
    assert "planted" not in str(caught.value)


def test_a_copy_with_such_a_build_is_not_kept(run: RunFolder, tmp_path: Path) -> None:
    folder = run.reports / "builds" / "validate"
    folder.mkdir(parents=True)
    (folder / "fused.cu").write_text('#include "/data/planted/x.cuh"\n')
    with pytest.raises(SuiteError, match=r"reports/builds/validate/fused\.cu holds an absolute path"):
        share(run, tmp_path / "copy", environment=NO_ENVIRONMENT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_the_suites_own_names_of_sources_are_no_paths(run: RunFolder, tmp_path: Path) -> None:
    folder = run.reports / "builds" / "validate"
    folder.mkdir(parents=True)
    (folder / "fused.sm_90.ptx").write_text('.file 1 "/kernels/row/fused.cu"\n.file 2 "/kernels/common.cuh"\n')
    assert scan([folder]).exit_status == 0
    copy = reduced(run, tmp_path / "copy")
    assert (copy.reports / "builds" / "validate" / "fused.sm_90.ptx").is_file()
    for other in ("/kernels/row/fused.cu/planted", "/opt/kernels/row/fused.cu", "/kernels/planted"):
        (folder / "fused.sm_90.ptx").write_text(f'.file 1 "{other}"\n')
        assert scan([folder]).exit_status == 1


@pytest.mark.parametrize(
    ("option", "what"), [("-DKEY=hf_plantedplantedplanted", "a credential"), ("-I/home/planted/include", "")]
)
def test_an_option_of_a_compiler_tells_nothing_of_a_machine(
    run: RunFolder, tmp_path: Path, option: str, what: str
) -> None:
    """A path is cut to its last name on its way into the evidence and into the copy."""
    records = run.reports / "validate.jsonl"
    build = {"table": "build", "variant": "fused", "kernel": "k", "options": json.dumps(["-std=c++17", option])}
    records.write_text(f"{json.dumps(build)}\n{records.read_text()}")
    refresh_artifacts(run)
    if what:
        with pytest.raises(SuiteError, match=f"an option of a compiler in the table 'build' holds {what}"):
            share(run, tmp_path / "copy", environment=NO_ENVIRONMENT)
        return
    copy = reduced(run, tmp_path / "copy")
    assert b"/home/planted" not in b"".join(files_of(copy.path).values())


def test_what_the_evidence_says_by_design_is_no_secret(shared: tuple[RunFolder, RunFolder]) -> None:
    _, copy = shared
    harmless = {"GPU": "NVIDIA H200", "LANG": "en_US.UTF-8", "VERSION": "12345678", "SHORT": "row"}
    with open_store(copy).connection as evidence:
        secrets = secrets_of_run(copy, copy, harmless)
        assert any(secret.text == "NVIDIA H200" for secret in secrets)
        refuse_leaks(copy, [copy.manifest, copy.reports / "timing.jsonl"], secrets, evidence)


def test_a_user_without_name_or_home_has_no_secrets_in_them(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that runs under a number of its own."""

    def unknown() -> str:
        raise KeyError("uid not found")

    def nowhere() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(getpass, "getuser", unknown)
    monkeypatch.setattr(Path, "home", nowhere)
    told = {secret.what for secret in secrets_of_run(run, RunFolder(tmp_path), {})}
    assert "the path of the run" in told
    assert not told & {"the user's name", "the home folder"}


# -- places ----------------------------------------------------------------------------------------


def test_nothing_is_overwritten(run: RunFolder, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "file").touch()
    for out in (taken, taken / "file", run.path / "inside"):
        with pytest.raises(UsageError):
            share(run, out, environment=NO_ENVIRONMENT)
    assert sorted(path.name for path in taken.iterdir()) == ["file"]


def test_a_run_that_cannot_be_read_is_told_apart_from_a_place_that_cannot_be_written(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, _: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(source))

    monkeypatch.setattr(shutil, "copyfile", refuse)
    with pytest.raises(SuiteError, match=r"/run/protocol/protocol\.toml cannot be read: Permission denied\.\n"):
        share(run, tmp_path / "copy", environment=NO_ENVIRONMENT)
    (tmp_path / "file").touch()
    with pytest.raises(
        SuiteError, match=r"Cannot write .*/file/copy: Not a directory\.\n .*hoose another place"
    ):
        share(run, tmp_path / "file" / "copy", environment=NO_ENVIRONMENT)


@pytest.mark.parametrize(("size", "file"), [(100, "copy"), (5000, "ncu.csv"), (20_000, "nsys.sqlite")])
def test_a_disk_that_is_full_is_no_fault_of_the_reports(
    run: RunFolder, tmp_path: Path, size: int, file: str
) -> None:
    with largest_file(size), pytest.raises(SuiteError, match=r"Cannot write .*\n.* Free some space") as caught:
        share(run, tmp_path / "copy", environment=NO_ENVIRONMENT)
    assert f"/{file}: " in caught.value.what
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_the_command_tells_a_refusal_without_a_traceback(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    command = [sys.executable, "-m", "nsight_suite.share", str(run.path), "--out", str(tmp_path / "taken")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert "Traceback" not in done.stderr


# -- ingested runs ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of the captured run's reports, which hold secrets; read only."""
    folder = tmp_path_factory.mktemp("ingested")
    reports = make_real_run(folder / "captured").reports
    (reports / "nsys.nsys-rep").unlink()  # written after its export here
    return ingest([reports / "nsys.sqlite", reports / "ncu.csv"], folder / "run").run


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_of_an_ingested_run_the_evidence_alone_is_copied(ingested: RunFolder, tmp_path: Path) -> None:
    copy = share(ingested, tmp_path / "copy", environment=NO_ENVIRONMENT)
    assert sorted(path.name for path in copy.path.iterdir()) == [
        *("evidence", "manifest.json", "run.json", "summaries")
    ]
    assert files_of(copy.evidence) == files_of(ingested.evidence)
    told = read_json(copy.run_json)
    assert told["passes"] == ["nsys", "ncu"]
    sources = {Path(entry["given"]["path"]).name: entry["given"] for entry in ingested.read_run()["reports"]}
    left = {entry.path: (entry.bytes, entry.sha256) for entry in read_manifest(copy.manifest).left_out}
    asked = {query.name for query in read_manifest(copy.manifest).queries}
    assert {"report_completeness", "kernel_summary", "tools"} <= asked
    assert left == {name: (given["bytes"], given["sha256"]) for name, given in sources.items()}
    assert not {"reports", "argv"} & set(told)
    everything = b"".join(files_of(copy.path).values())
    assert not [secret for secret in SECRETS if secret.encode() in everything]
    assert str(ingested.path.parent).encode() not in everything


def test_what_is_made_of_the_run_is_looked_through_too(ingested: RunFolder, tmp_path: Path) -> None:
    """The secret stands in no source and in no evidence: only the manifest repeats it."""
    planted = {"PLANTED": "a profiler's whole report"}
    with pytest.raises(SuiteError, match=r"manifest\.json holds the value of the environment variable PLANTED"):
        share(ingested, tmp_path / "copy", environment=planted)
    assert not list(tmp_path.iterdir())


def test_two_copies_of_an_ingested_run_are_the_same_and_can_be_asked(
    ingested: RunFolder, tmp_path: Path
) -> None:
    first = share(ingested, tmp_path / "first", environment=NO_ENVIRONMENT)
    again = share(first, tmp_path / "again", environment=NO_ENVIRONMENT)
    assert files_of(again.path) == files_of(first.path)
    sql = "SELECT count(*) FROM kernel"
    assert open_store(again, sql=sql).connection.execute(sql).fetchall() == [(63,)]
    with pytest.raises(UsageError, match="made by `share`"):
        rebuild(again)


@pytest.mark.parametrize("name", [f"step {TOKEN}", "on planted-host now"])
def test_a_secret_of_the_report_is_found_in_the_evidence(tmp_path: Path, name: str) -> None:
    """A range's name is evidence, and the report says that it holds a secret."""
    captured = make_real_run(tmp_path / "captured")
    (captured.reports / "nsys.nsys-rep").unlink()
    plant_in_a_range(captured, name)
    run = ingest([captured.reports / "nsys.sqlite"], tmp_path / "run").run
    with pytest.raises(SuiteError, match="private things") as caught:
        share(run, tmp_path / "copy", environment=NO_ENVIRONMENT)
    assert not any(secret in str(caught.value) for secret in SECRETS)
    assert not (tmp_path / "copy").exists()
