"""Reports that only nsys can read: exported to a temporary name and renamed, or an error that says why not."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_export import Call, Kernel, make_export

from nsight_suite.errors import BadReport, SuiteError
from nsight_suite.evidence.ingested import rebuild
from nsight_suite.evidence.store import Connection, open_store
from nsight_suite.ingesting.exporting import ToolTooOld
from nsight_suite.ingesting.making import Options, ingest
from nsight_suite.ingesting.pairing import StaleExport
from nsight_suite.runfolder import RunFolder

REPORT = b"NVIDIA Tegra Profiler Report {}@4@4@54-234433681190v0.\n"
STREAM = b"U3w[END]NVIDIA Nsight Systems Stream 2023.4.4.54-234433681190v0!"
VERSION = "NVIDIA Nsight Systems version 2023.4.4.54-234433681190v0"

# A stand-in for nsys. WHAT is run when it exports: `target` and `source` are its arguments.
STUB = f"""#!{sys.executable}
import pathlib, shutil, sys, time
if "--version" in sys.argv:
    print("{VERSION}")
    sys.exit(0)
assert sys.argv[1:3] == ["export", "--type=sqlite"], sys.argv
target, source = map(pathlib.Path, sys.argv[sys.argv.index("-o") + 1:])
ready = pathlib.Path({{ready!r}})
"""
GOOD = "shutil.copy(ready, target)"

Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts an nsys on PATH that does as it is told."""
    tools = tmp_path / "tools"
    tools.mkdir()
    export = make_export(
        tools / "ready.sqlite",
        api=[Call("cudaLaunchKernel_v7000", 10, 20, 1)],
        kernels=[Kernel("k", 30, 40, 1)],
    )

    def put(what: str) -> None:
        script(tools / "nsys", STUB.format(ready=str(export)) + what)
        monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")

    return put


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "given" / "r.nsys-rep"
    path.parent.mkdir()
    path.write_bytes(REPORT.replace(b"{}", b"2023"))
    return path


def ask(run: RunFolder, sql: str) -> Connection:
    """A question, with no more of the run opened than it reads."""
    return open_store(run, sql=sql).connection.execute(sql)


def kernels(run: RunFolder) -> list[tuple[int]]:
    return ask(run, "SELECT count(*) FROM kernel").fetchall()


def left_behind(report: Path) -> list[str]:
    """What lies beside the report and beside the run."""
    folders = (report.parent, report.parent.parent)
    return sorted(path.name for folder in folders for path in folder.iterdir() if path != report)


def test_a_report_is_exported_and_the_export_kept(report: Path, tmp_path: Path, install: Install) -> None:
    install(GOOD)
    run = ingest([report], tmp_path / "run").run
    assert kernels(run) == [(1,)]
    (entry,) = run.read_run()["reports"]
    assert entry["given"]["path"] == str(report)
    assert entry["read"]["path"] == "reports/r.sqlite"
    assert entry["made_with"] == "nsys 2023.4.4.54-234433681190v0"
    files = ask(run, "SELECT file, format FROM report").fetchall()
    assert files == [("r.nsys-rep", "nsys-sqlite")]
    assert [path.name for path in run.reports.iterdir()] == ["r.sqlite"]
    assert left_behind(report) == ["given", "run", "tools"]


def test_what_was_exported_is_built_again_without_nsys(report: Path, tmp_path: Path, install: Install) -> None:
    install(GOOD)
    run = ingest([report], tmp_path / "run").run
    report.unlink()
    rebuild(run)
    assert kernels(run) == [(1,)]


def test_a_report_under_another_suffix_is_exported_too(report: Path, tmp_path: Path, install: Install) -> None:
    """Case 57 d, with an nsys at hand."""
    install(GOOD)
    renamed = report.rename(report.with_suffix(".sqlite"))
    assert kernels(ingest([renamed], tmp_path / "run").run) == [(1,)]


def test_a_stream_is_imported_first(report: Path, tmp_path: Path, install: Install) -> None:
    install('assert source.read_bytes() == b"imported"; ' + GOOD)
    importer = (
        f"#!{sys.executable}\nimport pathlib, sys\nassert sys.argv[1] == '-i' and sys.argv[3] == '-o'\n"
        "pathlib.Path(sys.argv[4]).write_bytes(b'imported')\n"
    )
    script(tmp_path / "tools" / "QdstrmImporter", importer)
    stream = report.with_suffix(".qdstrm")
    stream.write_bytes(STREAM)
    assert kernels(ingest([stream], tmp_path / "run").run) == [(1,)]


def test_without_an_importer_nsys_is_asked_itself(report: Path, tmp_path: Path, install: Install) -> None:
    install(GOOD)
    stream = report.with_suffix(".qdstrm")
    stream.write_bytes(STREAM)
    assert kernels(ingest([stream], tmp_path / "run").run) == [(1,)]


@pytest.mark.parametrize(
    ("what", "kind", "says"),
    [
        (
            "print('Exportation error: Cannot read from stream.'); sys.exit(1)",
            BadReport,
            "Cannot read from stream",
        ),
        ("print('File already exists'); sys.exit(1)", BadReport, "File already exists"),
        ("print('No reports were generated')", BadReport, "No reports were generated"),
        ("", BadReport, "wrote no export"),
        ("target.write_bytes(b'')", BadReport, "empty file"),
        ("target.write_bytes(b'garbage' * 99)", BadReport, "left no export"),
        ("target.symlink_to(ready)", BadReport, "wrote no export"),
        ("target.write_bytes(ready.read_bytes()[:5000])", BadReport, "truncated"),
        ("shutil.copy(ready, target); sys.exit(3)", BadReport, "exit status 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", BadReport, "exit status -9"),
        ("print('Report was created in a newer version.'); sys.exit(1)", ToolTooOld, "too old"),
    ],
)
def test_an_export_that_failed_is_fatal_and_leaves_nothing(
    report: Path, install: Install, what: str, kind: type[SuiteError], says: str
) -> None:
    """Cases 61, 63 and 65: what nsys printed is told; its exit status alone is not believed."""
    install(what)
    with pytest.raises(kind, match=says) as caught:
        ingest([report], report.parent.parent / "run")
    assert "r.nsys-rep" in caught.value.what
    assert left_behind(report) == ["given", "tools"]


def test_progress_bars_are_no_error_text(report: Path, tmp_path: Path, install: Install) -> None:
    install(r"print('[1/1] [====  7% ] r.sqlite\r[1/1] [=====100%] r.sqlite\rwhat went wrong'); sys.exit(1)")
    with pytest.raises(BadReport, match="what went wrong") as caught:
        ingest([report], tmp_path / "run")
    assert "%" not in caught.value.what


def test_an_older_nsys_is_refused_before_it_is_run(report: Path, tmp_path: Path, install: Install) -> None:
    """Case 71: with both versions."""
    install("raise SystemExit('was run')")
    report.write_bytes(REPORT.replace(b"{}", b"2025"))
    with pytest.raises(ToolTooOld, match=r"written by nsys 2025\.4\.4\.54, and here is nsys 2023\.4\.4\.54"):
        ingest([report], tmp_path / "run")
    assert left_behind(report) == ["given", "tools"]


def test_an_export_that_takes_too_long_is_ended(report: Path, tmp_path: Path, install: Install) -> None:
    install("time.sleep(60)")
    started = time.monotonic()
    with pytest.raises(SuiteError, match=r"ended after 0\.5 s"):
        ingest([report], tmp_path / "run", Options(tool_timeout_s=0.5))
    assert time.monotonic() - started < 20
    assert left_behind(report) == ["given", "tools"]


def test_a_stale_export_is_made_anew(report: Path, tmp_path: Path, install: Install) -> None:
    """Case 61: the report is asked again, and what lies beside it is not touched."""
    stale = make_export(report.with_suffix(".sqlite"), kernels=[Kernel("old", 1, 2, 1), Kernel("old", 3, 4, 2)])
    os.utime(stale, (1000, 1000))
    before = stale.read_bytes()
    install(GOOD)
    assert kernels(ingest([report], tmp_path / "run").run) == [(1,)]
    assert kernels(ingest([report.parent], tmp_path / "other").run) == [(1,)]
    assert stale.read_bytes() == before
    with pytest.raises(StaleExport):  # the export alone was asked for
        ingest([stale], tmp_path / "third")


def test_a_stale_export_is_never_the_fallback(report: Path, tmp_path: Path, install: Install) -> None:
    stale = make_export(report.with_suffix(".sqlite"), kernels=[Kernel("old", 1, 2, 1)])
    os.utime(stale, (1000, 1000))
    install("print('File already exists'); sys.exit(1)")
    with pytest.raises(BadReport, match="File already exists"):
        ingest([report], tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_interrupted_export_leaves_nothing_running(report: Path, tmp_path: Path, install: Install) -> None:
    import signal

    mark = tmp_path / "started"
    install(f"pathlib.Path({str(mark)!r}).touch(); time.sleep(60)")
    command = [sys.executable, "-m", "nsight_suite.ingest", str(report), "--out", str(tmp_path / "run")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 30
    while not mark.exists() and time.monotonic() < limit:
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=30)
    assert child.returncode == 130, told
    assert "Traceback" not in told
    assert left_behind(report) == ["given", "started", "tools"]
