"""Bundles from anybody: each is refused or told, in bounded time, and nothing is written but in one folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import struct
import time
import unicodedata
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from sealed_runs import EXAMPLES, VERDICTS, edit_parquet

from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.evidence.store import bare_connection
from nsight_suite.manifest import LeftOut, QueryEntry, assemble, write_manifest
from nsight_suite.querying import open_evidence
from nsight_suite.runfolder import RunFolder, read_json, write_json
from nsight_suite.unpacking import LIMITS, look_over, shown, unpack
from nsight_suite.verifying import (
    CHECKS,
    Check,
    Failure,
    Verification,
    rebuilt,
    samples,
    subject_of,
    summaries,
    verify_run,
    whole,
)
from nsight_suite.verifying.checks import Findings, Subject
from nsight_suite.verifying.confined import Allowed, verify_confined
from nsight_suite.verifying.telling import check_lines, closing_lines

ESCAPE = "\x1b[2J\x1b]0;owned\x07"
FOREVER = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) AS n FROM t"


def archive(path: Path, files: Mapping[str, bytes], **attributes: int) -> Path:
    """A zip of these files under these very names; `attributes` are set on each entry."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of duplicate names
        for name, content in files.items():
            entry = zipfile.ZipInfo("x")
            entry.filename = name
            entry.compress_type = zipfile.ZIP_DEFLATED
            for attribute, value in attributes.items():
                setattr(entry, attribute, value)
            file.writestr(entry, content)
    return path


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Path]:
    """Where to unpack to. Whatever happens, nothing lies anywhere else afterwards."""
    folder = tmp_path / "deep" / "inside"
    folder.mkdir(parents=True)
    yield folder
    outside = {path for path in tmp_path.rglob("*") if folder not in (path, *path.parents)}
    assert {path.name for path in outside} <= {"deep", "bundle.zip", "packed"}


def test_a_plain_archive_is_unpacked(tmp_path: Path, inside: Path) -> None:
    """What holds another archive, or a file without a suffix, is a file like others."""
    nested = archive(tmp_path / "packed", {"a": b"b"}).read_bytes()
    files = {"run/run.json": b"{}", "run/reports/a": b"1" * 5000, "run/reports/b.zip": nested}
    top = unpack(archive(tmp_path / "bundle.zip", files), inside)
    assert top == inside / "run"
    assert {path: (inside / path).read_bytes() for path in files} == files


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("../outside", "leads elsewhere"),
        ("run/../../outside", "leads elsewhere"),
        ("./run/a", "leads elsewhere"),
        ("/tmp/outside", "an absolute path"),
        ("C:/outside", "an absolute path"),
        ("C:outside", "an absolute path"),
        ("run\\..\\..\\outside", "a backslash"),
        ("run//a", "no file has everywhere"),
        ("run/... ", "no file has everywhere"),
        ("run/a\0.txt", "control characters"),
        (f"run/{ESCAPE}", "control characters"),
        ("run/\u202etxt.exe", "control characters"),
        ("run/" + "a" * 300, "too long"),
        ("run/" + "a/" * 40 + "b", "too many folders"),
    ],
)
def test_names_that_no_bundle_has_are_refused(tmp_path: Path, inside: Path, name: str, says: str) -> None:
    bundle = archive(tmp_path / "bundle.zip", {"run/run.json": b"{}", name: b"x"})
    with pytest.raises(SuiteError, match=says) as error:
        unpack(bundle, inside)
    assert not any(inside.iterdir())
    assert all(unicodedata.category(char)[0] != "C" for char in error.value.what)


@pytest.mark.parametrize(
    "names",
    [
        ("run/a", "run/a"),
        ("run/a", "run/A"),
        ("run/straße", "run/STRASSE"),
        ("run/caf\u00e9", "run/cafe\u0301"),
        ("run/a", "run/a/b"),
        ("run/a/b", "run/A/c"),
        ("run/a/", "run/a"),
    ],
)
def test_names_that_some_machines_take_for_one_are_refused(
    tmp_path: Path, inside: Path, names: tuple[str, str]
) -> None:
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            file.writestr(name, b"" if name.endswith("/") else b"x")
    with pytest.raises(SuiteError, match="twice, or two names"):
        unpack(path, inside)
    assert not any(inside.iterdir())


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_in_an_archive_are_refused(tmp_path: Path, inside: Path, kind: int) -> None:
    bundle = archive(tmp_path / "bundle.zip", {"run/a": b"/etc/passwd"}, external_attr=(kind | 0o777) << 16)
    with pytest.raises(SuiteError, match="a link or device"):
        unpack(bundle, inside)


def test_bombs_are_refused_by_what_they_declare(tmp_path: Path, inside: Path) -> None:
    bundle = archive(tmp_path / "bundle.zip", {"run/zeros": bytes(4 << 20)})
    with pytest.raises(SuiteError, match="bytes that would become 4194304"):
        unpack(bundle, inside)
    with pytest.raises(SuiteError, match=r"more than 0\.003 GB"):
        unpack(bundle, inside, replace(LIMITS, bytes=3_000_000))
    many = archive(tmp_path / "packed", {f"run/{number}": b"" for number in range(50)})
    with pytest.raises(SuiteError, match="50 entries"):
        unpack(many, inside, replace(LIMITS, files=49))
    assert not any(inside.iterdir())


def test_a_bomb_that_declares_less_is_found_when_it_is_unpacked(tmp_path: Path, inside: Path) -> None:
    bundle = archive(tmp_path / "bundle.zip", {"run/zeros": bytes(1000)})
    content = bytearray(bundle.read_bytes())
    at = content.rindex(b"PK\x01\x02") + 24
    content[at : at + 4] = struct.pack("<L", 10)
    bundle.write_bytes(content)
    with pytest.raises(SuiteError, match="is a damaged archive"):
        unpack(bundle, inside)
    assert sum(path.stat().st_size for path in inside.rglob("*") if path.is_file()) <= 10


def _cut(content: bytes) -> bytes:
    return content[:-30]


def _followed(content: bytes) -> bytes:
    return content + b"more"


def _preceded(content: bytes) -> bytes:
    return b"#!/bin/sh\n" + content


def _with_locator(content: bytes) -> bytes:
    return content[:-22] + b"PK\x06\x07" + bytes(16) + content[-22:]


def _other_bytes(content: bytes) -> bytes:
    return content.replace(b"x" * 40, b"y" * 40)


def _other_local_name(content: bytes) -> bytes:
    return content.replace(b"run/a", b"run/b", 1)


def _encrypted(content: bytes) -> bytes:
    at = content.index(b"PK\x01\x02") + 8
    return content[:at] + b"\x01" + content[at + 1 :]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_cut, "no zip archive, or was cut"),
        (_followed, "no zip archive"),
        (_preceded, "bytes outside"),
        (_with_locator, "zip64"),
        (_other_bytes, "is a damaged archive"),
        (_other_local_name, "is a damaged archive"),
        (_encrypted, "encrypted"),
    ],
)
def test_damaged_archives_are_refused(
    tmp_path: Path, inside: Path, damage: Callable[[bytes], bytes], says: str
) -> None:
    bundle = tmp_path / "bundle.zip"
    with zipfile.ZipFile(bundle, "w") as file:
        file.writestr("run/a", b"x" * 40)
    bundle.write_bytes(damage(bundle.read_bytes()))
    with pytest.raises(SuiteError, match=says):
        unpack(bundle, inside)


def test_unusual_packing_is_refused(tmp_path: Path, inside: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bundle.zip", "w", zipfile.ZIP_LZMA) as file:
        file.writestr("run/a", b"x" * 1000)
    with pytest.raises(SuiteError, match="packed in an unusual way"):
        unpack(tmp_path / "bundle.zip", inside)


@pytest.mark.parametrize("files", [{"a": b""}, {"run/a": b"", "other/a": b""}, {}])
def test_what_is_not_one_folder_is_no_bundle(tmp_path: Path, inside: Path, files: dict[str, bytes]) -> None:
    with pytest.raises(UsageError, match="is no bundle"):
        unpack(archive(tmp_path / "bundle.zip", files), inside)


def test_links_pipes_and_depth_in_a_folder_are_refused(tmp_path: Path) -> None:
    def folder(name: str) -> Path:
        (tmp_path / name / "reports").mkdir(parents=True)
        return tmp_path / name

    (folder("file") / "run.json").symlink_to("/etc/passwd")
    (folder("tree") / "logs").symlink_to("/etc")
    os.mkfifo(folder("pipe") / "reports" / "timing.jsonl")
    (folder("deep") / ("a/" * 30)).mkdir(parents=True)
    (folder("many") / "a").write_text("a")
    for name, says in {
        "file": "run.json is a link",
        "tree": "logs is a link",
        "pipe": "reports/timing.jsonl is neither a file nor a folder",
        "deep": "deeper than any file",
    }.items():
        with pytest.raises(SuiteError, match=says):
            look_over(tmp_path / name)
    with pytest.raises(SuiteError, match="more than 0 files"):
        look_over(tmp_path / "many", replace(LIMITS, files=0))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A recorded run, to be made hostile."""
    made = shutil.ignore_patterns("evidence.*", "summaries", "manifest.json", "figures")
    return RunFolder(Path(shutil.copytree(EXAMPLES / "pointwise-h200", tmp_path / "run", ignore=made)))


def seal(run: RunFolder, *queries: QueryEntry, left_out: tuple[LeftOut, ...] = ()) -> None:
    write_manifest(run, assemble(run, {}, queries=queries, left_out=left_out, bundle=True))


def query(run: RunFolder, name: str, sql: str) -> QueryEntry:
    """A query that a stranger's manifest holds, with a summary of one row."""
    run.summaries.mkdir(exist_ok=True)
    (run.summaries / f"{name}.csv").write_text("n\n1\n")
    digest = hashlib.sha256(sql.encode()).hexdigest()
    return QueryEntry(name, digest, sql, f"summaries/{name}.csv", 1)


def failures(check: Check) -> str:
    return "\n".join(f"{failure.subject}: {failure.what}" for failure in check.failures)


def test_hard_links_in_a_folder_are_told(run: RunFolder, tmp_path: Path) -> None:
    os.link(run.reports / "ncu.csv", tmp_path / "elsewhere.csv")
    seal(run)
    check = CHECKS["files"][1](subject_of(run))
    assert check.state == "holds"
    assert [note for note in check.notes if note.startswith("1 files have other names")]


def test_sql_of_a_stranger_reads_nothing_but_the_evidence(run: RunFolder, tmp_path: Path) -> None:
    secret, target = tmp_path / "secret.txt", tmp_path / "written.csv"
    secret.write_text("the secret")
    texts = {
        "reads": f"SELECT content AS n FROM read_text('{secret}')",
        "lists": f"SELECT file AS n FROM glob('{tmp_path}/*')",
        "names": f"SELECT * FROM '{secret}'",
        "reaches": "SELECT * FROM read_csv('https://example.invalid/a.csv')",
        "writes": f"COPY (SELECT 1 AS n) TO '{target}'",
        "attaches": f"ATTACH '{target}' AS other",
        "sets": "SET enable_external_access = true",
        "two": "SELECT 1 AS n; SELECT 2 AS n",
        "python": "SELECT * FROM secret",
        "forever": FOREVER,
        "many": "SELECT range AS n FROM range(100000000000)",
        "large": "SELECT count(*) n FROM (SELECT repeat('x', 99999) || range t FROM range(9999999) ORDER BY 1)",
        "right": "SELECT 1 AS n",
    }
    queries = [query(run, f"q{number}", sql) for number, sql in enumerate(texts.values())]
    named = [replace(entry, name=name) for name, entry in zip(texts, queries, strict=True)]
    seal(run, *named)
    begun = time.monotonic()
    check = summaries.check(subject_of(run), seconds=0.3)
    assert time.monotonic() - begun < 30
    found = failures(check)
    for name in texts:
        assert name == "right" or f"{name}: " in found, name
    assert "right: " not in found
    assert "forever: was still running after 0.3 s" in found
    assert "the secret" not in found
    assert not target.exists()


def test_what_is_printed_obeys_nobody() -> None:
    assert shown(f"a{ESCAPE}b\n\u202ec\u2028d") == r"a\x1b[2J\x1b]0;owned\x07b\n\u202ec\u2028d"
    assert shown("é ✓ <b>'\"</b>") == "é ✓ <b>'\"</b>"
    assert shown("x" * 1000, 10) == "xxxxxxxxxx…"
    failure = Failure(f"reports/{ESCAPE}", f"was changed\n{ESCAPE}")
    check = Check("files", "all", {"files": 1}, (failure,), (ESCAPE,), (ESCAPE,))
    lines = list(check_lines(check))
    lines += closing_lines(Verification(ESCAPE, ESCAPE, None, None, (check,), ESCAPE))
    assert len(lines) > 5
    assert not [line for line in lines if "\x1b" in line or "\n" in line]


def test_sql_in_the_names_of_files_is_only_a_name(run: RunFolder) -> None:
    name = "reports/x'; DROP TABLE main.run; --.csv"
    seal(run, left_out=(LeftOut(name, 1, "0" * 64, "private"),))
    check = rebuilt.check(subject_of(run))
    assert check.failures == ()
    assert check.missing == ("rows of the pass x'; DROP TABLE main: a report of it was left out",)


def test_tables_that_are_none_or_claim_too_much_are_named(run: RunFolder) -> None:
    (run.evidence / "kernel.parquet").write_text("PAR1 no table at all PAR1")
    (run.evidence / "launch.parquet").write_bytes(b"")
    (run.evidence / "sync.parquet").write_bytes((run.evidence / "path.parquet").read_bytes())
    rows = "INSERT INTO t (pass) SELECT 'timing' FROM range(1_000_000)"
    edit_parquet(run.evidence / "mark.parquet", rows)
    found = failures(rebuilt.check(subject_of(run)))
    assert "evidence/kernel.parquet: cannot be read" in found
    assert "evidence/launch.parquet: cannot be read" in found
    assert "evidence/sync.parquet: has other columns" in found
    assert "evidence/mark.parquet: holds 1000000 rows, and the reports give 0" in found
    assert str(run.path) not in found


def test_rows_that_a_table_hides_from_queries_are_seen(run: RunFolder) -> None:
    """Statistics in a file that say that no row is of the session: a query with that condition passes it by."""
    path = run.evidence / "sample.parquet"
    content = path.read_bytes()
    footer = len(content) - 8 - struct.unpack("<L", content[-8:-4])[0]
    assert content[footer:].count(b"timing") > 0
    path.write_bytes(content[:footer] + content[footer:].replace(b"timing", b"nsyzzz"))
    sql = "SELECT count(*) FROM sample WHERE pass = 'timing'"
    subject = subject_of(run)
    counts = [open_evidence(one).rows(sql)[0]["count_star()"] for one in (run, subject.plain)]
    assert counts[0] == 0
    assert counts[1] > 0
    assert samples.check(subject).failures == ()


def test_huge_and_deep_texts_are_told_not_taken(run: RunFolder) -> None:
    entry = query(run, "device", "SELECT 1 AS n")
    (run.summaries / "device.csv").write_text("n\n" + "1" * (17 << 20) + "\n")
    (run.path / VERDICTS).write_text('{"run_id": ' + "[" * 100_000 + "]" * 100_000 + "}")
    seal(run, entry)
    subject = subject_of(run)
    assert "summaries/device.csv is no CSV table: field larger than" in failures(summaries.check(subject))
    assert f"{VERDICTS} cannot be read" in failures(CHECKS["reconciliation"][1](subject))


@pytest.mark.parametrize(
    "text",
    [
        '{"files": [' + "[" * 100_000,
        '{"format": 1}',
        '{"format": ' + "9" * 10_000 + "}",
        '{"files": [' + ",".join(['{"path": "a"}'] * 1_000_000 * 3) + "]}",
        json.dumps({"format": 1, "files": [{"path": "../../etc/passwd"}]}),
    ],
    ids=["deep", "short", "digits", "millions", "outside"],
)
def test_a_manifest_that_is_none_is_told(run: RunFolder, text: str) -> None:
    run.manifest.write_text(text)
    begun = time.monotonic()
    subject = subject_of(run)
    assert subject.manifest is None
    assert "manifest.json" in failures(CHECKS["files"][1](subject))
    assert time.monotonic() - begun < 5


def test_a_manifest_leads_nowhere_else(run: RunFolder, tmp_path: Path) -> None:
    """Its paths are looked up among the files that are there, and read from nowhere else."""
    (tmp_path / "outside.csv").write_text("n\n1\n")
    entry = replace(query(run, "device", "SELECT 1 AS n"), summary="summaries/../../outside.csv")
    seal(run)
    data = read_json(run.manifest)
    data["queries"] = [entry.__dict__ | {}]
    del data["queries"][0]["reason"]
    write_json(run.manifest, data)
    subject = subject_of(run)
    told = failures(CHECKS["files"][1](subject)) + failures(summaries.check(subject))
    assert "malformed" in told or "is not here" in told


def test_what_breaks_a_check_is_a_result_and_ends_no_other(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of the wrong kinds, each told by the check that reads it."""
    data = read_json(run.passes / "timing.json")
    write_json(run.passes / "timing.json", {**data, "tools": {**data["tools"], "cupy": None}})
    with (run.reports / "timing.jsonl").open("a") as file:
        file.write('{"table": "sample", "case_id": {"a": [1]}, "quantity": []}\n')
    (run.reports / "trace.jsonl").write_text('{"table": "task", "_rows": {"stage": [[]], "job": [{}]}}\n')
    broken = {"files": ("all", lambda subject: Check("files", "all", {"files": 1 // 0}))}
    monkeypatch.setattr(whole, "CHECKS", {**CHECKS, **broken})
    skipped = [name for name in CHECKS if name not in ("files", "identity", "samples", "traces")]
    checks = {check.name: check for check in verify_run(subject_of(run), skipped)}
    assert [check.name for check in checks.values()] == list(CHECKS)
    assert {checks[name].state for name in ("identity", "samples", "traces")} == {"failed"}
    assert "could not be made: ZeroDivisionError" in failures(checks["files"])
    assert "passes/timing.json: says cupy None" in failures(checks["identity"])
    assert "sample of {'a': [1]}" in failures(checks["samples"])
    assert "None: 1 records of tasks lack a value" in failures(checks["traces"])


def test_what_needs_more_memory_than_is_allowed_is_not_said_to_be_wrong(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_python(subject: Subject) -> Check:
        found = Findings()
        found.count("files")
        with found.readable("reports/timing.jsonl"):
            raise MemoryError
        return found.as_check("files", "all")

    def in_sql(subject: Subject) -> Check:
        with bare_connection() as connection:
            connection.execute("SET memory_limit = '1MB'")
            connection.execute("SELECT list(range) FROM range(1_000_000)")
        raise AssertionError("it had an answer")

    monkeypatch.setattr(whole, "CHECKS", {**CHECKS, "files": ("all", in_python), "samples": ("all", in_sql)})
    skipped = [name for name in CHECKS if name not in ("files", "identity", "samples")]
    checks = {check.name: check for check in verify_run(subject_of(run), skipped)}
    assert checks["files"].ended == "reports/timing.jsonl: needs more memory than is allowed (--memory)"
    assert checks["samples"].ended == "needs more memory than is allowed (--memory)"
    assert [checks[name].state for name in ("files", "identity", "samples")] == [
        *("not-checked", "holds", "not-checked")
    ]
    assert "    ended: needs more memory than is allowed (--memory)" in check_lines(checks["samples"])
    assert Verification("run", "", None, None, tuple(checks.values())).exit_status == 2


def test_what_never_ends_is_ended(run: RunFolder) -> None:
    """SQL of the run that every opening of its evidence runs."""
    run.expected.write_text(
        f"SELECT case_id, n AS kernels, n AS graph_nodes, [''] AS kernel_names, n AS logical_read_bytes, "
        f"n AS logical_write_bytes FROM variant_case, ({FOREVER})"
    )
    skipped = [name for name in CHECKS if name not in ("files", "reconciliation")]
    begun = time.monotonic()
    verification = verify_confined(run.path, skipped, Allowed(seconds=3))
    assert time.monotonic() - begun < 60
    assert verification.checks[-1].ended == "it took more than 3 s"
    assert "it took more than 3 s" in verification.unfinished
    assert verification.exit_status == 2


def test_a_hostile_archive_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    with pytest.raises(SuiteError, match="leads elsewhere"):
        verify_confined(archive(tmp_path / "bundle.zip", {"run/run.json": b"{}", "run/../../x": b""}))
    assert not any(place.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle.zip", "temporary"]
