"""Several processes at one run, and a clock that is set back: one writer at a time, readers at any time."""

from __future__ import annotations

import errno
import fcntl
import itertools
import json
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fake_tools.bench import PASSES, capture_fake, with_fakes
from faults import TABLES, few_tables
from tiny_export import Kernel, make_export

import nsight_suite
from nsight_suite import figures, ingest, query, report, writing
from nsight_suite.capturing import making
from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.evidence import __main__ as evidence
from nsight_suite.evidence.clocks import CLOCK_SET_BACK, clock_doubts
from nsight_suite.evidence.store import empty_store, insert_rows, open_store, write_parquet
from nsight_suite.evidence.versions import EvidenceReplaced, of_one_version
from nsight_suite.locking import LOCK, locked
from nsight_suite.querying import ask_sql, run_sql
from nsight_suite.runfolder import RunFolder, write_json

TESTS = Path(__file__).resolve().parent

HOLD = """
import sys, time
from pathlib import Path
from nsight_suite.locking import locked

with locked(Path(sys.argv[1]), "capture"):
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def holding(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes to a folder."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def run(synthetic_run: RunFolder, tmp_path: Path) -> RunFolder:
    """A copy that a test may write to."""
    return RunFolder(Path(shutil.copytree(synthetic_run.path, tmp_path / "run")))


# -- writers ---------------------------------------------------------------------------------------


def test_a_second_writer_is_told_who_holds_the_run_and_readers_go_on(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(run.path)
    with holding(run.path) as process:
        for main, words in ((evidence.main, [path]), (figures.main, [path]), (report.main, [path])):
            assert main(words) == 2
            told = capsys.readouterr()
            assert told.out == ""
            who = f"process {process.pid} on {socket.gethostname()} (capture)"
            assert f"Another process is writing to {path}: {who}." in told.err
            assert f"Wait for it, or end it (kill {process.pid} on" in told.err
        assert query.main([path, "kernel_counts", "--format", "csv"]) == 0


def test_a_lock_goes_with_its_process(tmp_path: Path) -> None:
    with holding(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (tmp_path / LOCK).exists(), "nobody was there to remove it"
    with locked(tmp_path, "figures"):
        assert json.loads((tmp_path / LOCK).read_text())["doing"] == "figures"
    assert list(tmp_path.iterdir()) == []


def test_an_ingest_to_a_run_that_another_process_makes_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = make_export(tmp_path / "r.sqlite", kernels=[Kernel("k", 1, 2, 1)])
    with holding(tmp_path / "run"):
        assert ingest.main([str(export), "--out", str(tmp_path / "run"), "--quiet"]) == 2
        assert "exists already" in capsys.readouterr().err


# Draws as often as it is let, and prints how often another process held the folder.
DRAW = """
import sys
from pathlib import Path
from killing import figures
from nsight_suite.errors import UsageError

refused = 0
for number in range(60):
    try:
        figures(Path(sys.argv[1]), f"{sys.argv[2]} {number}")
    except UsageError as error:
        assert "Another process is writing" in str(error)
        refused += 1
print(refused)
"""


def test_two_processes_that_draw_at_once_leave_figures_that_belong_together(tmp_path: Path) -> None:
    """Each either draws or is told; nothing of one is mixed with what the other wrote."""
    both = [
        subprocess.Popen(
            [sys.executable, "-c", DRAW, str(tmp_path), name], stdout=subprocess.PIPE, text=True, cwd=TESTS
        )
        for name in ("one", "other")
    ]
    refused = [int(process.communicate()[0]) for process in both]
    assert sum(refused) > 0
    drawn = {path.suffix: path.read_text() for path in (tmp_path / "figures").iterdir()}
    text = json.loads(drawn[".json"])["text"]
    assert (drawn[".svg"], drawn[".png"]) == (f"svg {text}", f"png {text}")
    assert not list(tmp_path.rglob(".*"))


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path, "figures"):
        assert f"the file system of {tmp_path} has no locks" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_not_yet_signed_is_respected(tmp_path: Path) -> None:
    with (tmp_path / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="held, and not yet signed"), locked(tmp_path, "figures"):
            raise AssertionError
    assert (tmp_path / LOCK).exists()


# -- readers beside a writer -----------------------------------------------------------------------

BOTH = "SELECT (SELECT count(*) FROM kernel) AS kernels, (SELECT count(*) FROM sync) AS syncs"


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Evidence with one row in each of two tables, and with two."""
    folders = [tmp_path_factory.mktemp("versions") / str(number) for number in (1, 2)]
    for number, folder in enumerate(folders, 1):
        with few_tables(), empty_store() as connection:
            for table in TABLES:
                insert_rows(connection, table, [{"pass": "nsys"}] * number)
            write_parquet(connection, folder)
    return folders


@pytest.fixture
def ran(versions: list[Path], tmp_path: Path) -> RunFolder:
    """An ingested run with the first of them."""
    run = RunFolder(tmp_path)
    facts = {"run_id": "r", "experiment": "", "created_utc": "", "source": "reports", "state": "complete"}
    write_json(run.run_json, {**facts, "quick": False, "device": None, "passes": [], "cases": []})
    shutil.copytree(versions[0], run.evidence)
    return run


def put(folder: Path, run: RunFolder) -> None:
    with writing.replacing_folder(run.evidence) as made:
        shutil.copytree(folder, made, dirs_exist_ok=True)


@pytest.mark.parametrize("exchanging", [True, False], ids=["exchange", "two renames"])
def test_a_reader_never_sees_two_versions_at_once(
    ran: RunFolder, versions: list[Path], monkeypatch: pytest.MonkeyPatch, exchanging: bool
) -> None:
    if not exchanging:
        monkeypatch.setattr(writing, "_exchange", lambda *_: False)
    chance = random.Random(5)

    def replace(folder: Path, delay_s: float) -> None:
        time.sleep(delay_s)
        put(folder, ran)

    seen = []
    for turn in range(6):
        # Some time while a store is opened and asked, another version takes the place of the evidence.
        writer = threading.Thread(target=replace, args=(versions[turn % 2], chance.uniform(0, 0.06)))
        writer.start()
        seen.append(of_one_version(ran.evidence, lambda: open_store(ran, sql=BOTH).rows(BOTH)))
        writer.join()
    numbers = [row["kernels"] for (row,) in seen]
    assert numbers == [row["syncs"] for (row,) in seen]
    assert set(numbers) == {1, 2}
    assert not list(ran.path.rglob(".*"))


def test_an_open_store_gives_no_rows_of_another_version(ran: RunFolder, versions: list[Path]) -> None:
    store = open_store(ran)
    put(versions[1], ran)
    with pytest.raises(EvidenceReplaced, match="Ask again"):
        run_sql(store, BOTH)
    with pytest.raises(EvidenceReplaced):
        store.rows(BOTH)
    assert open_store(ran).rows(BOTH) == [{"kernels": 2, "syncs": 2}]


def test_an_open_run_takes_up_the_new_version(ran: RunFolder, versions: list[Path]) -> None:
    with nsight_suite.open_run(ran.path) as opened:
        assert opened.sql(BOTH, as_="rows") == [{"kernels": 1, "syncs": 1}]
        put(versions[1], ran)
        assert opened.sql(BOTH, as_="rows") == [{"kernels": 2, "syncs": 2}]


def test_an_answer_that_is_already_on_its_way_is_broken_off(ran: RunFolder, versions: list[Path]) -> None:
    answer = ask_sql(open_store(ran), "SELECT * FROM range(25000)")
    assert len(next(answer.batches)) == 10_000
    put(versions[1], ran)
    with pytest.raises(EvidenceReplaced):
        next(answer.batches)


def test_what_opens_the_evidence_twice_is_done_again_when_it_was_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    calls = itertools.count(1)

    def replaced_once() -> int:
        number = next(calls)
        if number == 1:
            with writing.replacing_folder(folder):
                pass
        return number

    assert of_one_version(folder, replaced_once) == 2

    def replaced_always() -> None:
        with writing.replacing_folder(folder):
            pass

    with pytest.raises(SuiteError, match="replaced again and again"):
        of_one_version(folder, replaced_always)


# -- a clock that is set back ----------------------------------------------------------------------


def passes(*starts: Sequence[int]) -> dict[str, dict[str, object]]:
    """Records of passes of ten seconds: (ordinal, start in seconds)."""
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    return {
        f"pass-{ordinal}": {
            "ordinal": ordinal,
            "started_utc": (noon + timedelta(seconds=start)).isoformat(),
            "duration_ns": 10 * 10**9,
        }
        for ordinal, start in starts
    }


@pytest.mark.parametrize(
    ("starts", "doubtful"),
    [
        ([(1, 0), (2, 10), (3, 20)], []),
        ([(1, 0), (2, 9)], []),  # starts are told in whole seconds
        ([(1, 0), (2, 8)], ["pass-2"]),
        ([(2, 100), (1, 0), (3, 105)], ["pass-3"]),
        ([(1, 3600), (2, 0), (3, 12)], ["pass-2"]),
        ([(3, 0), (1, 50), (2, 60)], ["pass-3"]),  # made again last, by a clock that had been set back
    ],
)
def test_passes_are_held_against_their_order(starts: list[tuple[int, int]], doubtful: list[str]) -> None:
    assert [name for name, _ in clock_doubts(passes(*starts))] == doubtful


def test_what_tells_no_order_leaves_no_doubt() -> None:
    records = passes((1, 3600), (2, 0))
    for lacking in (
        {"ordinal": None},
        {"started_utc": "yesterday"},
        {"started_utc": None},
        {"duration_ns": None},
    ):
        assert list(clock_doubts({**records, "pass-2": {**records["pass-2"], **lacking}})) == []
    without_zone = {**records["pass-2"], "started_utc": "2026-01-01T12:00:00"}
    assert [name for name, _ in clock_doubts({**records, "pass-2": without_zone})] == ["pass-2"]


def test_a_clock_set_back_in_the_middle_of_a_capture_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the times of day are wrong: durations come of a clock that cannot be set."""
    with_fakes(monkeypatch)
    clock = iter(datetime(2026, 1, 1, 12, tzinfo=UTC) - timedelta(hours=n) for n in range(20))
    monkeypatch.setattr(making, "now_utc", lambda: next(clock).isoformat(timespec="seconds"))
    run = RunFolder(tmp_path / "run")
    assert capture_fake("--quick", "--variants", "plain", out=run.path) == 0
    records = run.pass_records()
    assert sorted(records, key=lambda name: records[name]["ordinal"]) == list(PASSES)
    assert all(record["duration_ns"] > 0 for record in records.values())
    assert all(step["duration_ns"] >= 0 for record in records.values() for step in record["steps"])
    doubts = dict(clock_doubts(records))
    assert list(doubts) == list(PASSES[1:])
    assert {code for code, _, _ in doubts.values()} == {CLOCK_SET_BACK}
