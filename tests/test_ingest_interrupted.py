"""A run is made whole or not at all: whatever ends an ingest, and however many run at once."""

from __future__ import annotations

import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from tiny_export import Kernel, make_export

from nsight_suite.errors import BadReport, SuiteError, UsageError
from nsight_suite.evidence.cells import sqlite_cells
from nsight_suite.evidence.store import open_store
from nsight_suite.ingesting.draft import draft
from nsight_suite.ingesting.making import ingest
from nsight_suite.ingesting.showing import LiveDisplay, PlainDisplay

SLOW = """
import sys, time
from pathlib import Path
from nsight_suite.evidence import ingested

def slow(connection, report, progress):
    Path(sys.argv[1]).touch()
    {what}

ingested.read_report = slow
from nsight_suite import ingest
sys.exit(ingest.main(sys.argv[2:]))
"""
# A query that nobody waits for the end of, and a loop that reports its progress.
QUERY = "connection.execute('SELECT count(*) FROM range(10000000000) a, range(1000000) b').fetchall()"
LOOP = "[(time.sleep(0.01), progress(n, 10000, 'reading')) for n in range(10000)]"


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return make_export(tmp_path / "r.sqlite", kernels=[Kernel("k", 1, 2, 1)])


def started(what: str, export: Path, out: Path) -> subprocess.Popen[str]:
    """An ingest that is busy reading."""
    mark = export.parent / "busy"
    mark.unlink(missing_ok=True)
    command = [sys.executable, "-c", SLOW.format(what=what), str(mark), str(export), "--out", str(out)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 30
    while not mark.exists() and child.poll() is None and time.monotonic() < limit:
        time.sleep(0.02)
    mark.unlink()
    return child


@pytest.mark.parametrize("what", [QUERY, LOOP], ids=["query", "loop"])
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interruption_is_heard_at_once_and_leaves_nothing(
    export: Path, tmp_path: Path, what: str, number: signal.Signals, status: int
) -> None:
    child = started(what, export, tmp_path / "deep" / "run")
    began = time.monotonic()
    child.send_signal(number)
    _, told = child.communicate(timeout=30)
    assert time.monotonic() - began < 5
    assert child.returncode == status, told
    assert "Traceback" not in told
    assert [path.name for path in tmp_path.iterdir()] == ["r.sqlite"]


def test_what_a_killed_process_left_is_removed_by_the_next(export: Path, tmp_path: Path) -> None:
    child = started(LOOP, export, tmp_path / "run")
    child.kill()
    child.communicate()
    assert (tmp_path / ".run.draft").is_dir()
    ingest([export], tmp_path / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.sqlite", "run"]


def test_of_two_processes_one_makes_the_run_and_the_other_is_told(export: Path, tmp_path: Path) -> None:
    """Case 93."""
    child = started(LOOP, export, tmp_path / "run")
    with pytest.raises(UsageError, match=rf"Another process .* process {child.pid} on .* \(ingest\)"):
        ingest([export], tmp_path / "run")
    child.kill()
    child.communicate()


def test_a_folder_that_appears_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    out = tmp_path / "run"

    def make() -> None:
        with draft(out) as run:
            (run.path / "mine").touch()
            out.mkdir()
            (out / "theirs").touch()

    with pytest.raises(UsageError, match="by somebody else"):
        make()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert [path.name for path in out.iterdir()] == ["theirs"]


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands in for it."""
    export = make_export(
        tmp_path / "r.sqlite",
        kernels=[Kernel(f"kernel_{n * 7919}", n * 100, n * 100 + n % 97, n) for n in range(9000)],
    )
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, {resource.RLIM_INFINITY}))\n"
    text = f"{limit}import sys\nfrom nsight_suite import ingest\nsys.exit(ingest.main(sys.argv[1:]))"
    command = [sys.executable, "-c", text, str(export), "--out", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["r.sqlite"]


def test_a_place_that_cannot_be_written_is_told(export: Path, tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"r\.sqlite"):
        ingest([export], export / "run")


# -- the command and what it shows -----------------------------------------------------------------


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "nsight_suite.ingest", *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_the_command(export: Path, tmp_path: Path) -> None:
    done = command(export, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "[1/1] r.sqlite" in done.stderr
    heading, row = done.stdout.splitlines()[:2]
    assert heading.split()[:5] == ["report", "format", "tool", "schema", "kernels"]
    assert row.split()[:5] == ["r", "nsys-sqlite", "2025.5.2.266", "3.24.0", "1"]
    assert f"nsight_suite.query {tmp_path / 'run'}" in done.stdout
    again = command(export, "--out", tmp_path / "run")
    assert (again.returncode, again.stdout) == (2, "")
    assert "exists already" in again.stderr


def test_quiet_is_quiet(export: Path, tmp_path: Path) -> None:
    done = command(export, "--out", tmp_path / "run", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "words", [["--out", "run"], ["r.sqlite"], ["r.sqlite", "--out", "run", "--tool-timeout", "-1"]]
)
def test_a_wrong_call_is_told(words: list[str]) -> None:
    done = command(*words)
    assert done.returncode == 2
    assert "usage:" in done.stderr


def test_findings_are_told_with_their_remedy(tmp_path: Path) -> None:
    done = command(make_export(tmp_path / "r.sqlite", kernels=None), "--out", tmp_path / "run")
    assert done.returncode == 0
    assert "no-kernel-table [r]:" in done.stdout


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("nsight_suite.ingesting.showing.time.monotonic", lambda: self.now)


def test_plain_progress_tells_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock(monkeypatch)
    shown = PlainDisplay(sys.stdout)
    shown.started("r.sqlite", 1, 2)
    for clock.now, done in ((1.0, 10), (10.0, 25), (11.0, 26), (20.0, 50)):
        shown.advanced(done, 100, "kernels")
    shown.advanced(0, 0, "never shown: too soon")
    assert capsys.readouterr().out.splitlines() == [
        "[1/2] r.sqlite …",
        "      r.sqlite: kernels 25 %, about 30 s left",
        "      r.sqlite: kernels 50 %, about 20 s left",
    ]


def test_a_terminal_gets_a_bar() -> None:
    from io import StringIO

    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=StringIO())) as bar:
        shown = LiveDisplay(bar)
        shown.started("r.sqlite", 1, 1)
        shown.advanced(30, 120, "kernels")
        (task,) = bar.tasks
        assert (task.completed, task.total, task.description) == (30, 120, "kernels")
        shown.advanced(0, 0, "writing")
        (task,) = bar.tasks
        assert (task.total, task.description) == (None, "writing")


def test_a_busy_database_is_read_beside_its_writer(tmp_path: Path) -> None:
    """A journal beside the export is read with it, and nothing is written beside either."""
    folder = tmp_path / "reports"
    folder.mkdir()
    export = make_export(folder / "r.sqlite", kernels=[Kernel("k", 1, 2, 1)])
    with closing(sqlite3.connect(export)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL")
        writer.commit()
        copy = tmp_path / "copy"
        copy.mkdir()
        for suffix in ("", "-wal"):
            shutil.copy(folder / f"r.sqlite{suffix}", copy)
    (tmp_path / "link.sqlite").symlink_to(copy / "r.sqlite")
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    for number, given in enumerate((copy / "r.sqlite", tmp_path / "link.sqlite")):
        (line,) = ingest([given], tmp_path / f"run{number}").overview.lines
        assert line.kernels == "2"
    with sqlite_cells(copy / "r.sqlite") as database:
        counted = database.rows("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")
        assert list(counted) == [(2,)]
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before


def test_a_broken_off_transaction_is_undone_in_a_copy(tmp_path: Path) -> None:
    """A hot journal says what the database was before a process died over it."""
    live, export = make_export(tmp_path / "live.sqlite", kernels=[Kernel("k", 1, 2, 1)]), tmp_path / "r.sqlite"
    with closing(sqlite3.connect(live)) as writer:
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 7")
        writer.execute(
            "CREATE TABLE filling AS WITH RECURSIVE n(i) AS "
            "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n"
        )
        shutil.copy(live, export)
        shutil.copy(f"{live}-journal", f"{export}-journal")
    before = export.read_bytes()
    assert len(before) > live.stat().st_size  # the live one has undone what it had not committed
    made = ingest([export], tmp_path / "run")
    sql = "SELECT start_ns FROM kernel"
    assert open_store(made.run, sql=sql).rows(sql) == [{"start_ns": 1}]
    assert export.read_bytes() == before


def test_a_database_with_a_journal_too_large_to_be_copied_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = make_export(tmp_path / "r.sqlite", kernels=[Kernel("k", 1, 2, 1)])
    (tmp_path / "r.sqlite-wal").write_bytes(b"x")
    monkeypatch.setattr("nsight_suite.evidence.journals.MOST_BYTES", 1)
    with pytest.raises(BadReport, match="too large to be copied") as caught:
        ingest([export], tmp_path / "run")
    assert "PRAGMA journal_mode = DELETE" in caught.value.way_out
