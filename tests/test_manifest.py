"""The manifest of a run: what it tells, and that nothing malformed is taken for one."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from real_run import make_real_run
from synthetic_run import UUID, make_run

import nsight_suite
from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.evidence.__main__ import main as rebuild_evidence
from nsight_suite.evidence.conditions import conditions
from nsight_suite.manifest import (
    Manifest,
    as_data,
    assemble,
    files_of_run,
    read_manifest,
    role_of,
    update_manifest,
    write_manifest,
)
from nsight_suite.reconciliation.witnesses import PLAIN, QUERIES
from nsight_suite.runfolder import RunFolder, read_json, sha256, write_json, write_text
from nsight_suite.sealing import queries_of_run, seal


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, Manifest]:
    """A complete run and its manifest; read only."""
    run = make_run(tmp_path_factory.mktemp("sealed") / "run")
    return run, seal(run)


def test_what_is_written_is_read_again(sealed: tuple[RunFolder, Manifest]) -> None:
    run, manifest = sealed
    assert read_manifest(run.manifest) == manifest
    info = run.read_run()
    assert (manifest.run_id, manifest.state, list(manifest.argv)) == (info["run_id"], "complete", info["argv"])
    assert manifest.protocol_sha256 == sha256(run.protocol)


def test_every_file_is_named_with_its_size_and_hash(sealed: tuple[RunFolder, Manifest]) -> None:
    run, manifest = sealed
    there = {path.relative_to(run.path).as_posix() for path in run.path.rglob("*") if path.is_file()}
    assert [entry.path for entry in manifest.files] == sorted(there - {"manifest.json"})
    for entry in manifest.files:
        assert entry.bytes == (run.path / entry.path).stat().st_size
        assert entry.sha256 == sha256(run.path / entry.path)


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("run.json", "run"),
        ("passes/nsys.json", "pass"),
        ("attempts/nsys-1/pass.json", "pass"),
        ("protocol/protocol.toml", "protocol"),
        ("protocol/expected.sql", "expectation"),
        ("reports/timing.jsonl", "records"),
        ("reports/nsys.sqlite", "export"),
        ("reports/ncu.csv", "report"),
        ("reports/nsys.nsys-rep", "report"),
        ("reports/sanitize.memcheck.log", "log"),
        ("logs/ncu.log", "log"),
        ("attempts/ncu-2/ncu.log", "log"),
        ("reports/builds/validate/fused.log", "build"),
        ("evidence/kernel.parquet", "evidence"),
        ("evidence.duckdb", "store"),
        ("summaries/dram_bytes.csv", "summary"),
        ("figures/row.svg", "figure"),
        ("figures/row.provenance.json", "provenance"),
        ("reconciliation.json", "reconciliation"),
        ("report.html", "page"),
        ("notes.txt", "other"),
        ("evidence/deeper/kernel.parquet", "other"),
    ],
)
def test_a_file_has_a_role(path: str, role: str) -> None:
    assert role_of(path) == role


def test_a_pass_tells_tools_gpu_and_the_gpus_state(sealed: tuple[RunFolder, Manifest]) -> None:
    ncu = sealed[1].passes["ncu"]
    assert (ncu.state, ncu.tools["ncu"]) == ("ok", "2025.3.1")
    assert ncu.device == {"uuid": UUID, "name": "NVIDIA H200", "driver_version": "580.159.03"}
    assert ncu.before
    assert ncu.before["sm_clock_mhz"] == 1_980
    assert ncu.after
    assert (ncu.after["temperature_c"], ncu.after["throttle_reasons"]) == (41, "none")


def test_what_was_not_recorded_is_null(tmp_path: Path) -> None:
    def forget(tables: dict[str, list[dict[str, Any]]]) -> None:
        tables["device_state"] = [row for row in tables["device_state"] if row["moment"] == "before"]
        tables["device"] = []

    run = make_run(tmp_path / "run", edit=forget)
    (run.passes / "ncu.json").unlink()
    ncu = assemble(run, conditions(run)).passes["ncu"]
    assert (ncu.state, ncu.tools, ncu.device, ncu.after) == ("ok", {}, None, None)
    assert ncu.before


def test_every_query_has_its_sql_its_hash_and_its_rows(sealed: tuple[RunFolder, Manifest]) -> None:
    run, manifest = sealed
    queries = {query.name: query for query in manifest.queries}
    assert {*QUERIES, *(f"reconciliation.{name}" for name in PLAIN), "reconciliation.cases"} <= queries.keys()
    assert {"kernel_counts", "row-completion.device"} <= queries.keys()
    assert {name: query.sql for name, query in queries.items()} == queries_of_run(run)
    for query in manifest.queries:
        assert query.sha256 == hashlib.sha256(query.sql.encode()).hexdigest()
        assert query.summary == f"summaries/{query.name}.csv"
        with (run.path / query.summary).open(newline="") as file:
            assert query.rows == len(list(csv.DictReader(file)))
    assert {"invocation", "workload"} <= {view.name for view in manifest.views}


def test_a_summary_is_what_the_query_command_prints(
    sealed: tuple[RunFolder, Manifest], capsys: pytest.CaptureFixture[str]
) -> None:
    from nsight_suite.query import main

    run, _ = sealed
    assert main([str(run.path), "dram_bytes", "--format", "csv"]) == 0
    assert (run.summaries / "dram_bytes.csv").read_text() == capsys.readouterr().out


def test_a_query_without_an_answer_says_why(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    write_text(run.summaries / "samples.csv", "of an earlier seal\n")
    (run.evidence / "sample.parquet").unlink()
    queries = {query.name: query for query in seal(run).queries}
    assert (queries["samples"].rows, queries["samples"].summary) == (None, None)
    assert "sample.parquet is missing" in str(queries["samples"].reason)
    assert not (run.summaries / "samples.csv").exists()
    assert queries["kernel_counts"].rows
    assert read_manifest(run.manifest).queries == tuple(queries.values())


def test_what_the_suite_writes_later_is_told_and_what_others_changed_stays_found(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    summary = run.summaries / "samples.csv"
    write_text(summary, "n\n1\n")
    write_manifest(run, assemble(run, {}))
    before = {entry.path: entry.sha256 for entry in read_manifest(run.manifest).files}
    (run.reports / "timing.jsonl").write_text("changed by somebody\n")
    report = run.path / "report.html"
    report.write_text("<p>new</p>")
    summary.unlink()
    elsewhere = tmp_path / "elsewhere.html"
    elsewhere.touch()
    update_manifest(run, [report, summary, elsewhere])
    after = {entry.path: entry.sha256 for entry in read_manifest(run.manifest).files}
    assert after == {
        **{path: digest for path, digest in before.items() if path != "summaries/samples.csv"},
        "report.html": sha256(report),
    }


def test_figures_and_evidence_that_are_made_again_are_told(tmp_path: Path) -> None:
    run = make_real_run(tmp_path / "run")
    write_manifest(run, assemble(run, {}))
    assert rebuild_evidence([str(run.path)]) == 0
    with nsight_suite.open_run(run.path) as opened:
        assert opened.figures(["profile-traffic"])
    told = {entry.path: entry.sha256 for entry in read_manifest(run.manifest).files}
    assert {"evidence/sample.parquet", "evidence.sqlite", "figures/profile-traffic.svg"} <= told.keys()
    assert told == {entry.path: entry.sha256 for entry in files_of_run(run)}


# -- malformed ones --------------------------------------------------------------------------------

HASH = "0" * 64
MINIMAL: dict[str, Any] = {
    **{"format": 1, "run_id": "r", "experiment": "row", "created_utc": "", "state": "complete"},
    **{"suite_version": "1", "source": "capture", "quick": False, "made_with": None, "protocol_sha256": None},
    "argv": [],
    "passes": {"ncu": {"state": "ok", "tools": {}, "device": None, "before": None, "after": None}},
    "files": [{"path": "run.json", "bytes": 1, "sha256": HASH, "role": "run", "private": False}],
    "queries": [{"name": "q", "sha256": HASH, "sql": "SELECT 1", "summary": "summaries/q.csv", "rows": 1}],
    "left_out": [{"path": "reports/ncu.ncu-rep", "bytes": 1, "sha256": HASH, "why": "private"}],
}


def test_the_smallest_manifest_is_read(tmp_path: Path) -> None:
    write_json(tmp_path / "manifest.json", MINIMAL)
    manifest = read_manifest(tmp_path / "manifest.json")
    assert (manifest.files[0].path, manifest.left_out[0].why, manifest.attempts) == ("run.json", "private", ())
    again = json.loads(json.dumps(as_data(manifest)))
    assert again == {**MINIMAL, "attempts": [], "views": []}


def changed(**changes: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {**MINIMAL, **changes}


def entry(table: str, **changes: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {**MINIMAL, table: [{**MINIMAL[table][0], **changes}]}


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (changed(format=2), "format 2, not 1"),
        (changed(format=True), "malformed 'format'|format True"),
        (lambda: {key: MINIMAL[key] for key in MINIMAL if key != "queries"}, "lacks 'queries'"),
        (changed(surprise=1), "unknown 'surprise'"),
        (changed(argv="ls"), "malformed 'argv'"),
        (changed(passes={"../x": MINIMAL["passes"]["ncu"]}), "malformed 'passes'"),
        (changed(passes={"ncu": {}}), "lacks 'state' in the pass 'ncu'"),
        (changed(files=["run.json"]), "malformed 'files'"),
        (changed(files=MINIMAL["files"] * 2), "files once and in order"),
        (entry("files", path="../run.json"), r"malformed 'path' in files\[0\]"),
        (entry("files", path="/etc/passwd"), "malformed 'path'"),
        (entry("files", path="a//b"), "malformed 'path'"),
        (entry("files", path="a/./b"), "malformed 'path'"),
        (entry("files", path="a\0b"), "malformed 'path'"),
        (entry("files", path="manifest.json"), "names itself"),
        (entry("files", sha256="0" * 63), "malformed 'sha256'"),
        (entry("files", bytes=-1), "malformed 'bytes'"),
        (entry("files", private=1), "malformed 'private'"),
        (entry("files", more=1), "unknown 'more'"),
        (entry("queries", name="a/b"), "malformed 'name'"),
        (entry("queries", summary="../q.csv"), "malformed 'summary'"),
        (entry("queries", rows=1.5), "malformed 'rows'"),
        (entry("left_out", sha256=None), "malformed 'sha256'"),
    ],
)
def test_a_malformed_manifest_is_refused(tmp_path: Path, made: Callable[[], dict[str, Any]], says: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(made()))
    with pytest.raises(UsageError, match=says) as caught:
        read_manifest(path)
    assert caught.value.way_out


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"format": NaN}', "[" * 100_000, '"\\ud800"'])
def test_what_is_no_json_object_is_no_manifest(tmp_path: Path, text: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    with pytest.raises(UsageError):
        read_manifest(path)


def test_a_manifest_that_is_not_there_or_much_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    with pytest.raises(UsageError, match="does not exist"):
        read_manifest(path)
    with path.open("wb") as file:
        file.truncate(33 << 20)
    with pytest.raises(UsageError, match="larger than 32 MiB"):
        read_manifest(path)


def test_a_damaged_record_of_an_attempt_is_told_by_its_name(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run.attempts / "ncu-1").mkdir(parents=True)
    write_json(run.attempts / "ncu-1" / "pass.json", {**read_json(run.passes / "ncu.json"), "state": 7})
    with pytest.raises(SuiteError, match=r"attempts/ncu-1/pass\.json has a malformed 'state'"):
        assemble(run, {})
