"""Verifying: what is whole holds, and each tampering is named, however much the forger hashes again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sealed_runs import EXAMPLES, VERDICTS, Record, edit_parquet, edit_records, forge, make_sealed

from nsight_suite import verify
from nsight_suite.drawing import draw, write_drawings
from nsight_suite.ingesting.making import ingest
from nsight_suite.manifest import LeftOut, QueryEntry, read_manifest
from nsight_suite.reconciliation import reconcile_run
from nsight_suite.reporting import write_report
from nsight_suite.runfolder import RunFolder, read_json, sha256, write_json
from nsight_suite.sources import ExperimentSource, recorded_runs
from nsight_suite.verifying import CHECKS, Check, Verification, checks, pages, subject_of, verify_run
from nsight_suite.verifying.published import published

CASE = "jobs:fused:graph:balanced"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A sealed run; read only."""
    return make_sealed(tmp_path_factory.mktemp("sealed") / "jobs")


@pytest.fixture
def run(whole: RunFolder, tmp_path: Path) -> RunFolder:
    """A copy of it to tamper with."""
    return RunFolder(Path(shutil.copytree(whole.path, tmp_path / "jobs")))


def check(run: RunFolder, name: str) -> Check:
    return CHECKS[name][1](subject_of(run))


def told(run: RunFolder, name: str) -> str:
    """All failures of a check as text, which is not empty."""
    result = check(run, name)
    assert result.state == "failed", result
    return "\n".join(f"{failure.subject}: {failure.what}" for failure in result.failures)


def edit_manifest(**values: Any) -> Callable[[Any], Any]:
    return lambda manifest: replace(manifest, **values)


def test_a_bundle_that_is_whole_holds(
    whole: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything but the figures, by the command, from an archive."""
    archive = Path(shutil.make_archive(str(tmp_path / "jobs"), "zip", whole.path.parent, "jobs"))
    found = tmp_path / "found.json"
    before = sorted(tmp_path.rglob("*"))
    assert verify.main([str(archive), "--skip", "figures", "--json", str(found)]) == 0
    assert sorted(tmp_path.rglob("*")) == sorted([*before, found])
    printed = capsys.readouterr().out
    assert f"SHA-256 of the manifest.json: {sha256(whole.manifest)}" in printed
    assert f"SHA-256 of the archive: {sha256(archive)}" in printed
    data = json.loads(found.read_text())
    states = {one["name"]: one["state"] for one in data["checks"]}
    assert [states.pop(name) for name in ("figures", "report")] == ["not-checked"] * 2
    assert set(states.values()) == {"holds"}
    counted = {one["name"]: one["counted"] for one in data["checks"]}
    assert counted["files"]["files"] == len(read_manifest(whole.manifest).files)
    assert counted["summaries"]["queries"] == 4
    assert counted["traces"]["invocations"] == 6


@pytest.mark.parametrize("recorded", recorded_runs(), ids=lambda path: path.name)
def test_recorded_runs_hold(recorded: Path) -> None:
    """What can be told quickly of each; that reports give the evidence is tested with the recorded runs."""
    subject = subject_of(RunFolder(recorded))
    results = [CHECKS[name][1](subject) for name in ("files", "identity", "traces")]
    assert [failure for result in results for failure in result.failures] == []
    assert results[0].state == results[1].state == "holds"
    if "trace" in subject.info["passes"]:
        assert results[2].counted["waits"] > 0


def test_without_a_manifest_what_passes_recorded_is_compared(run: RunFolder) -> None:
    run.manifest.unlink()
    result = check(run, "files")
    assert result.state == "holds"
    assert result.missing[0].startswith("there is no manifest")
    assert "there is no manifest" in check(run, "summaries").missing
    (run.reports / "ncu.csv").write_text("other")
    assert "reports/ncu.csv: was changed" in told(run, "files")
    (run.reports / "ncu.csv").unlink()
    assert "reports/ncu.csv: was dropped" in told(run, "files")


KINDS = (
    *("run.json", "protocol/protocol.toml", "protocol/expected.sql", "passes/ncu.json", VERDICTS),
    *("reports/timing.jsonl", "reports/nsys.sqlite", "reports/ncu.csv", "reports/sanitize.memcheck.log"),
    *("evidence/kernel.parquet", "summaries/host_completion.csv", "reports/builds/validate/fused.cu"),
)


@pytest.mark.parametrize("path", KINDS)
def test_a_flipped_bit_is_named(run: RunFolder, path: str) -> None:
    content = bytearray((run.path / path).read_bytes())
    content[-2] ^= 1
    (run.path / path).write_bytes(content)
    found = {failure.subject for failure in CHECKS["files"][1](_subject_as_before(run)).failures}
    assert found == {path}


def _subject_as_before(run: RunFolder) -> Any:
    """A run.json that is no JSON any more refuses the whole run; here its hash is what is asked about."""
    try:
        return subject_of(run)
    except Exception:
        changed = (run.path / "run.json").read_bytes()
        shutil.copyfile(EXAMPLES / "jobs-h200" / "run.json", run.path / "run.json")
        subject = subject_of(run)
        (run.path / "run.json").write_bytes(changed)
        return subject


def test_a_damaged_manifest_is_told_and_the_rest_is_checked(run: RunFolder) -> None:
    run.manifest.write_text(run.manifest.read_text()[:-9])
    assert "manifest.json: " in told(run, "files")
    assert check(run, "identity").state == "holds"


def test_dropped_and_added_files_are_named(run: RunFolder) -> None:
    (run.evidence / "sync.parquet").unlink()
    (run.path / "extra.txt").write_text("more")
    (run.path / "evidence.sqlite").write_text("made at need")
    found = told(run, "files")
    assert "evidence/sync.parquet: was dropped" in found
    assert "extra.txt: was added" in found
    assert "evidence.sqlite" not in found


def test_what_was_left_out_is_told_and_checked_when_it_comes(run: RunFolder) -> None:
    private = run.reports / "nsys.nsys-rep"
    private.write_bytes(b"the whole report")
    entry = LeftOut("reports/nsys.nsys-rep", private.stat().st_size, sha256(private), "private")
    forge(run)
    private.unlink()
    forge(run, edit_manifest(left_out=(entry,)))
    result = check(run, "files")
    assert result.state == "holds"
    assert [one for one in result.missing if entry.sha256 in one and "private" in one]
    private.write_bytes(b"the whole report")
    assert check(run, "files").counted["files left out that are here now"] == 1
    private.write_bytes(b"the other report")
    assert "reports/nsys.nsys-rep: was changed" in told(run, "files")


def _faster(record: Record) -> Record:
    """One sample of one case, a thousandth quicker."""
    if record.get("quantity") == "completion" and record["case_id"] == CASE and record["round"] == 3:
        return {**record, "duration_ns": record["duration_ns"] * 999 // 1000}
    return record


def test_a_sample_edited_in_the_records_is_named(run: RunFolder) -> None:
    edit_records(run.reports / "timing.jsonl", _faster)
    assert told(run, "files").startswith("reports/timing.jsonl: was changed")
    forge(run)
    assert check(run, "files").state == "holds"
    found = told(run, "samples")
    assert f"sample of {CASE}: timing, completion, round 3" in found
    assert "in reports/timing.jsonl alone" in found


def test_evidence_that_no_report_gives_is_named(run: RunFolder) -> None:
    """A sample edited, a table dropped, another added; the manifest knows no better."""
    edit_parquet(
        run.evidence / "sample.parquet",
        "UPDATE t SET duration_ns = duration_ns - 100 WHERE pass = 'timing' AND quantity = 'completion' "
        f"AND case_id = '{CASE}' AND round = 3",
    )
    (run.evidence / "sync.parquet").unlink()
    shutil.copyfile(run.evidence / "run.parquet", run.evidence / "more.parquet")
    forge(run)
    assert check(run, "files").state == "holds"
    assert f"sample of {CASE}: timing, completion, round 3" in told(run, "samples")
    found = told(run, "evidence")
    assert "evidence/sample.parquet: column duration_ns is " in found
    assert f"case_id {CASE}, quantity completion, round 3" in found
    assert "evidence/sync.parquet: is missing" in found
    assert "evidence/more.parquet: is no table of the evidence" in found


def test_records_left_out_leave_their_numbers_unchecked(run: RunFolder) -> None:
    """No bundle of `share` does without them. Whoever claims so gets no number of theirs vouched for."""
    records = run.reports / "timing.jsonl"
    entry = LeftOut("reports/timing.jsonl", records.stat().st_size, sha256(records), "too large")
    records.unlink()
    forge(run, edit_manifest(left_out=(entry,)))
    for name, says in {"samples": "samples of the pass timing", "evidence": "rows of the pass timing"}.items():
        result = check(run, name)
        assert result.failures == ()
        assert result.in_part
        assert result.missing[0].startswith(says)


def _all_faster(record: Record) -> Record:
    if record.get("quantity") == "completion" and record["case_id"] == CASE:
        return {**record, "duration_ns": record["duration_ns"] - 100}
    return record


@pytest.mark.parametrize("name", ["samples", "summaries"])
def test_samples_edited_everywhere_no_longer_give_the_summary(run: RunFolder, name: str) -> None:
    edit_records(run.reports / "timing.jsonl", _all_faster)
    edit_parquet(
        run.evidence / "sample.parquet",
        "UPDATE t SET duration_ns = duration_ns - 100 WHERE pass = 'timing' AND quantity = 'completion' "
        f"AND case_id = '{CASE}'",
    )
    forge(run)
    found = told(run, name)
    assert "host_completion: " in found
    assert CASE in found
    assert "column median_ns" in found
    assert "summaries/host_completion.csv says" in found


def test_a_kernel_edited_in_the_evidence_is_not_what_nsys_recorded(run: RunFolder) -> None:
    edit_parquet(run.evidence / "kernel.parquet", "UPDATE t SET end_ns = end_ns - 500")
    forge(run)
    found = told(run, "samples")
    assert "kernel_time: " in found
    assert "column nsys_ns: the evidence says" in found


def test_each_tampered_query_and_summary_is_named(run: RunFolder) -> None:
    """A text that is not its hash; another text that gives other rows; one that gives the same rows."""
    queries = {query.name: query for query in read_manifest(run.manifest).queries}
    other = queries["host_completion"].sql.replace("quantile_cont(s.duration_ns, 0.5)", "min(s.duration_ns)")
    same = f"{queries['session_completion'].sql}\n-- the same"
    changed = (
        replace(queries["device"], sql=queries["device"].sql + " "),
        _query(queries["host_completion"], other),
        _query(queries["session_completion"], same),
        queries["task_coverage"],
    )
    summary = run.summaries / "task_coverage.csv"
    lines = summary.read_text().splitlines()
    columns, row = lines[0].split(","), lines[1].split(",")
    row[columns.index("recorded")] = "7"
    summary.write_text("\n".join([lines[0], ",".join(row), *lines[2:]]) + "\n")
    forge(run, edit_manifest(queries=changed))
    found = told(run, "summaries")
    assert "device: its SQL text has the SHA-256" in found
    assert "host_completion: row 1" in found
    assert "column median_ns" in found
    assert "task_coverage: row 1" in found
    assert "column recorded: summaries/task_coverage.csv says 7, the evidence gives " in found
    assert "session_completion: " not in found
    notes = "\n".join(check(run, "summaries").notes)
    other_version = "other version of the query {}: the manifest's own text was run; this suite's gives {}"
    assert other_version.format("session_completion", "the same rows") in notes
    assert other_version.format("host_completion", "the same rows") in notes


def _query(query: QueryEntry, sql: str) -> QueryEntry:
    import hashlib

    return replace(query, sql=sql, sha256=hashlib.sha256(sql.encode()).hexdigest())


def test_a_query_changed_with_its_summary_is_told_to_be_another(run: RunFolder) -> None:
    """It is no lie, but who reads the name alone takes the minimum for the median."""
    queries = {query.name: query for query in read_manifest(run.manifest).queries}
    other = "SELECT case_id, 1 AS tasks FROM variant_case ORDER BY case_order LIMIT 1"
    (run.summaries / "task_coverage.csv").write_text(f"case_id,tasks\n{run.read_run()['cases'][0]},1\n")
    queries["task_coverage"] = replace(_query(queries["task_coverage"], other), rows=1)
    (run.summaries / "more.csv").write_text("n\n1\n")
    forge(run, edit_manifest(queries=tuple(queries.values())))
    result = check(run, "summaries")
    assert [failure.subject for failure in result.failures] == ["summaries/more.csv"]
    told_of = [note for note in result.notes if "version of the query task_coverage" in note]
    assert told_of[0].endswith("this suite's gives other rows, so compare the two texts")


def test_a_summary_that_lost_a_row_or_its_file_is_named(run: RunFolder) -> None:
    summary = run.summaries / "host_completion.csv"
    summary.write_text("".join(summary.read_text().splitlines(keepends=True)[:-1]))
    (run.summaries / "device.csv").unlink()
    forge(run)
    found = told(run, "summaries")
    assert "host_completion: gives more than" in found
    assert "device: its summary summaries/device.csv is not here" in found


def _task(change: Callable[[dict[str, list[Any]], int], None], stage: str) -> Callable[[Record], Record]:
    """Change the columns of the first case's tasks at the first task of a stage."""

    def edit(record: Record) -> Record:
        if record["table"] == "task" and record["case_id"] == CASE and record["invocation"] == 0:
            change(record["_rows"], record["_rows"]["stage"].index(stage))
        return record

    return edit


def _begin_early(rows: dict[str, list[Any]], at: int) -> None:
    rows["start_ns"][at] = min(rows["start_ns"])


def _lose(rows: dict[str, list[Any]], at: int) -> None:
    for column in rows.values():
        del column[at]


def _repeat(rows: dict[str, list[Any]], at: int) -> None:
    for column in rows.values():
        column.append(column[at])


def _rename(rows: dict[str, list[Any]], at: int) -> None:
    rows["job"][at] = 99_999


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_begin_early, "1 tasks began before what they need had ended: stage B, job"),
        (_lose, "1 tasks left no record (first: stage B, job"),
        (_repeat, "1 tasks ran more than once (first: stage B, job"),
        (_rename, "1 tasks were planned by nobody (first: stage B, job 99999)"),
    ],
)
def test_a_changed_trace_is_named(run: RunFolder, change: Callable[..., None], says: str) -> None:
    edit_records(run.reports / "trace.jsonl", _task(change, "B"))
    forge(run)
    found = told(run, "traces")
    assert f"{CASE}, invocation 0: " in found
    assert says in found


def test_evidence_of_another_run_is_named(run: RunFolder) -> None:
    other = RunFolder(EXAMPLES / "pointwise-h200")
    for path in other.evidence.iterdir():
        shutil.copyfile(path, run.evidence / path.name)
    forge(run)
    assert f"evidence/run.parquet: says run_id '{other.read_run()['run_id']}'" in told(run, "identity")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"run_id": "another"}, "manifest.json: says run_id 'another'"),
        ({"protocol_sha256": "0" * 64}, "manifest.json: says protocol_sha256"),
        ({"argv": ("capture",)}, "manifest.json: tells another command line"),
    ],
)
def test_a_manifest_that_tells_another_run_is_named(run: RunFolder, change: dict[str, Any], says: str) -> None:
    forge(run, edit_manifest(**change))
    assert says in told(run, "identity")


def test_another_gpu_tool_or_state_in_the_manifest_is_named(run: RunFolder) -> None:
    passes = dict(read_manifest(run.manifest).passes)
    timing, device = passes["timing"], dict(passes["timing"].device or {})
    passes["timing"] = replace(
        timing,
        device={**device, "uuid": "GPU-other"},
        before={**dict(timing.before or {}), "sm_clock_mhz": 1},
        tools={**timing.tools, "cupy": "1.0"},
    )
    forge(run, edit_manifest(passes=passes))
    found = told(run, "identity")
    assert "tells the GPU GPU-other" in found
    assert "tells another state of the GPU before" in found
    assert "tells other tools than passes/timing.json" in found


def test_another_protocol_is_named(run: RunFolder) -> None:
    run.protocol.write_text(run.protocol.read_text() + "\n# a looser tolerance\n")
    forge(run)
    assert "protocol/protocol.toml: has the SHA-256" in told(run, "identity")


def test_an_edited_verdict_is_named(run: RunFolder) -> None:
    data = read_json(run.path / VERDICTS)
    data["cases"][0]["time"] = "disagree"
    data["findings"][0]["seen"] = "all is well"
    write_json(run.path / VERDICTS, data)
    forge(run)
    found = told(run, "reconciliation")
    assert f"{data['cases'][0]['case_id']}: time: reconciliation.json says 'disagree'" in found
    assert "a finding that does not follow" in found
    assert "all is well" in found


@pytest.fixture(scope="module")
def drawn(whole: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, Any]:
    """The same run with its figures, and what was drawn."""
    run = RunFolder(Path(shutil.copytree(whole.path, tmp_path_factory.mktemp("drawn") / "jobs")))
    drawings = draw(run)
    write_drawings(drawings, run.figures)
    forge(run)
    return run, drawings


def test_figures_are_drawn_again_byte_for_byte(drawn: tuple[RunFolder, Any]) -> None:
    result = check(drawn[0], "figures")
    assert result.failures == ()
    assert result.counted["figures drawn again"] == 2


def _swap(folder: Path) -> str:
    first, second = sorted(folder.glob("*.svg"))
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    return f"figures/{first.name}: is not the picture that its provenance tells"


def _repaint(folder: Path) -> str:
    """An edited picture, and a provenance that tells its hash."""
    picture = min(folder.glob("*.svg"))
    picture.write_text(picture.read_text() + "<!-- -->")
    path = folder / f"{picture.stem}.provenance.json"
    data = read_json(path)
    for output in data["outputs"]:
        output["sha256"] = sha256(folder / output["path"])
    write_json(path, data)
    return f"figures/{picture.name}: is not what is drawn from this evidence"


def _of_others(folder: Path) -> str:
    path = min(folder.glob("*.provenance.json"))
    data = read_json(path)
    data["run_id"] = "another"
    data["inputs"][0]["sha256"] = "0" * 64
    data["rows"][0]["sha256"] = "0" * 64
    write_json(path, data)
    return f"was drawn from another {data['inputs'][0]['path']}"


def _bare(folder: Path) -> str:
    min(folder.glob("*.provenance.json")).unlink()
    return ".png: has no .provenance.json"


@pytest.mark.parametrize("tamper", [_swap, _repaint, _of_others, _bare])
def test_other_figures_are_named(
    drawn: tuple[RunFolder, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tamper: Callable[[Path], str],
) -> None:
    original, drawings = drawn
    run = RunFolder(Path(shutil.copytree(original.path, tmp_path / "jobs")))
    says = tamper(run.figures)
    forge(run)
    assert check(run, "files").state == "holds"
    monkeypatch.setattr(checks, "draw", lambda *_, **__: drawings)  # the evidence is as it was
    assert says in told(run, "figures")


def test_figures_of_another_matplotlib_are_compared_by_what_they_were_drawn_from(
    drawn: tuple[RunFolder, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, drawings = drawn
    run = RunFolder(Path(shutil.copytree(original.path, tmp_path / "jobs")))
    for path in run.figures.glob("*.provenance.json"):
        data = read_json(path)
        data["libraries"]["matplotlib"] = "3.0"
        write_json(path, data)
    forge(run)
    monkeypatch.setattr(checks, "draw", lambda *_, **__: drawings)
    result = check(run, "figures")
    assert result.failures == ()
    assert result.counted["figures compared by their inputs"] == 2
    assert [why for why in result.missing if "drawn with matplotlib 3.0" in why]


MINE = '''"""One number."""
NAME, EXPERIMENTS, QUERIES = "mine", None, {"n": "SELECT count(*) AS n FROM sample"}


def draw(tables):
    from matplotlib.figure import Figure

    figure = Figure()
    figure.text(0.5, 0.5, str(tables["n"]["n"][0]))
    return figure
'''


def test_figures_of_an_experiment_outside_the_project_are_drawn_where_it_is_named(
    run: RunFolder, tmp_path: Path
) -> None:
    outside = ExperimentSource("other", tmp_path / "other")
    (outside.folder / "figures").mkdir(parents=True)
    (outside.folder / "figures" / "mine.py").write_text(MINE)
    write_drawings(draw(run, ["mine"], outside), run.figures)
    forge(run)
    result = CHECKS["figures"][1](subject_of(run, outside=outside))
    assert (result.state, result.counted["figures drawn again"]) == ("holds", 1)
    shutil.rmtree(outside.folder / "figures")
    result = CHECKS["figures"][1](subject_of(run, outside=outside))
    assert result.state == "not-checked"
    assert "this suite has no figure of that name" in result.missing[0]


def test_the_report_of_a_bundle_is_written_again(
    drawn: tuple[RunFolder, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, drawings = drawn
    run = RunFolder(Path(shutil.copytree(original.path, tmp_path / "jobs")))
    monkeypatch.setattr(checks, "draw", lambda *_, **__: drawings)
    judged = reconcile_run(run)
    monkeypatch.setattr(checks, "reconcile_run", lambda run: judged)
    written = write_report(run, judged, drawings, run.path, ".")
    kept = {page.name: page.read_bytes() for page in written}
    forge(run)
    result = check(run, "report")
    assert (result.state, result.counted) == ("holds", {"pages written again": 2})

    def again(run: RunFolder, judged: object, drawn: object, folder: Path, called: str) -> tuple[Path, ...]:
        """The same pages: the evidence is as it was."""
        for name, content in kept.items():
            (folder / name).write_bytes(content)
        return tuple(folder / name for name in kept)

    monkeypatch.setattr(pages, "write_report", again)
    page = run.path / "report.md"
    line = next(line for line in page.read_text().splitlines() if line.startswith(f"| `{CASE}` "))
    page.write_text(page.read_text().replace(line, line.replace("agree", "disagree", 1)))
    forge(run)
    found = told(run, "report")
    assert "report.md: line " in found
    assert "disagree" in found
    assert "this suite writes" in found
    html = run.path / "report.html"
    html.write_text(html.read_text().replace("sha256-", "sha256-0", 1))
    forge(run)
    other = check(run, "report")
    assert other.state == "not-checked"
    assert len([why for why in other.missing if "its style or script is another" in why]) == 2


def test_an_ingested_run_holds_as_far_as_it_goes(tmp_path: Path) -> None:
    report = Path(__file__).parent / "data" / "ncu_kernel_raw.csv"
    run = ingest([report], tmp_path / "run").run
    results = {name: check(run, name) for name in ("files", "identity", "evidence", "traces", "reconciliation")}
    assert [one.state for one in results.values()] == ["holds", "holds", *["not-checked"] * 3]
    assert "its reports stayed where they are" in results["evidence"].missing[0]


def test_a_run_without_evidence_is_told_by_its_own_name(run: RunFolder) -> None:
    shutil.rmtree(run.evidence)
    results = {one.name: one for one in verify_run(subject_of(run), ("summaries", "figures", "report"))}
    told = {
        name: [failure.what for failure in one.failures] for name, one in results.items() if name != "files"
    }
    assert told["evidence"] == ["there is none to compare with what the reports give"]
    assert told["identity"] == ["The run jobs holds no evidence."]
    assert told["reconciliation"] == ["The run jobs holds no evidence."]


def test_what_was_published_is_compared() -> None:
    one = Verification("jobs", "jobs-1", "a" * 64, None, (Check("files", "", {"files": 1}),))
    assert published(one, "a" * 64).state == "holds"
    assert published(one, "b" * 64).state == "failed"
    dropped = published(replace(one, manifest_sha256=None), "a" * 64)
    assert [failure.subject for failure in dropped.failures] == ["manifest.json"]
    assert replace(one, checks=(published(one, "b" * 64),)).exit_status == 1


def test_a_forged_bundle_gives_status_1_and_names_it(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run.reports / "ncu.csv").unlink()
    skipped = [word for name in CHECKS if name not in ("files", "identity") for word in ("--skip", name)]
    assert verify.main([str(run.path), "--sha256", "0" * 64, *skipped]) == 1
    printed = capsys.readouterr().out
    assert "✗ reports/ncu.csv: was dropped" in printed
    assert "Failed: files, published." in printed


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["jobs-h200", "--skip", "colours"], "There is no check 'colours'"),
        (["jobs-h200", "--sha256", "2c26b46b…"], "'2c26b46b…' is no SHA-256"),
        (["jobs-h200", "--sha256", ""], "'' is no SHA-256"),
        (["jobs-h200", "--seconds", "nan"], "--seconds and --memory are above 0"),
        (["jobs-h200", "--memory", "-1"], "--seconds and --memory are above 0"),
        (["jobs-h200", "--memory", "inf"], "--seconds and --memory are above 0"),
        (["nothing.zip"], "There is no run 'nothing.zip'"),
    ],
)
def test_a_wrong_call_gives_status_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify.main(arguments) == 2
    assert says in capsys.readouterr().err


def test_what_is_no_bundle_gives_status_2_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.zip").write_text("no archive at all")
    assert verify.main([str(tmp_path / "text.zip")]) == 2
    told = capsys.readouterr().err
    assert "text.zip is no zip archive" in told
    assert "Traceback" not in told
