"""Full disks, folders that cannot be written, processes killed at any point: nothing is lost or half-made."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from faults import faults, few_tables, full_disk, largest_file
from killing import drawn
from tiny_export import Kernel, make_export

from nsight_suite import writing
from nsight_suite.drawing import write_drawings
from nsight_suite.errors import SuiteError
from nsight_suite.evidence import __main__ as evidence
from nsight_suite.evidence.build import write
from nsight_suite.evidence.store import (
    Connection,
    empty_store,
    insert_rows,
    open_store,
    write_duckdb,
    write_parquet,
)
from nsight_suite.ingesting.making import Options, ingest
from nsight_suite.locking import locked
from nsight_suite.runfolder import RunFolder, write_json, write_text

TESTS = Path(__file__).resolve().parent


def hidden(folder: Path) -> list[Path]:
    """What stands under temporary names, or as a lock."""
    return [path for path in folder.rglob(".*") if path.name != ".hers"]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def replace_folder(folder: Path, text: str) -> None:
    with writing.replacing_folder(folder / "evidence") as made:
        for name in ("a", "b"):
            (made / name).write_text(text)


WRITERS: dict[str, Callable[[Path, str], object]] = {
    "file": lambda folder, text: write_text(folder / "file.txt", text),
    "json": lambda folder, text: write_json(folder / "deep" / "file.json", {"text": text}),
    "folder": replace_folder,
    "figures": lambda folder, text: write_drawings(drawn(text), folder / "figures"),
}


# -- a full disk -----------------------------------------------------------------------------------


@pytest.mark.parametrize("exchanging", [True, False], ids=["exchange", "two renames"])
@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_is_full_at_any_call_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, exchanging: bool
) -> None:
    if not exchanging:
        monkeypatch.setattr(writing, "_exchange", lambda *_: False)
    put, number, refused = WRITERS[name], 0, 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        put(folder, "old")
        before = contents(folder)
        error = None
        with faults(number, full_disk) as seen:
            try:
                put(folder, "new")
            except SuiteError as told:
                error = str(told)
        after = contents(folder)
        assert after.keys() == before.keys()
        assert not hidden(folder)
        whole = {b"new" in content for content in after.values()}
        if error is None:  # a folder that is there already needs no room to be made
            assert whole == {True}
        else:
            # What fails last, bringing the folder to the disk, fails over files that are all in place. Those of
            # figures take their places one after the other; which belong together is told by their hashes.
            assert whole in ({True}, {False}) or name == "figures"
            assert all(
                text in (before[file], before[file].replace(b"old", b"new")) or b"outputs" in text
                for file, text in after.items()
            )
            assert error.startswith("Cannot write ")
            assert "No space left on device" in error
            assert "Free some space" in error
            refused += 1
        if seen.calls < number:
            break
    assert refused >= 4


@pytest.fixture
def filled() -> Iterator[Connection]:
    with empty_store() as connection:
        rows = [{"pass": "nsys", "kernel_id": n, "name": f"kernel_{n * 7919}"} for n in range(3000)]
        insert_rows(connection, "kernel", rows)
        yield connection


@pytest.fixture
def old(tmp_path: Path) -> Iterator[RunFolder]:
    """A run with evidence that holds no row at all."""
    run = RunFolder(tmp_path / "run")
    with few_tables(), empty_store() as connection:
        write(connection, run)
        yield run


def kernels(run: RunFolder) -> int:
    sql = "SELECT count(*) AS n FROM kernel"
    return int(open_store(run, sql=sql).rows(sql)[0]["n"])


@pytest.mark.parametrize(
    ("put", "size"),
    [
        (write, 0),
        (write, 60_000),  # enough for every Parquet file, and not for SQLite
        (lambda rows, run: write_parquet(rows, run.evidence), 10_000),
        (lambda _, run: write_duckdb(run), 10_000),
    ],
    ids=["nothing", "SQLite", "Parquet", "DuckDB"],
)
def test_a_store_that_cannot_be_written_leaves_the_evidence_as_it_was(
    old: RunFolder, filled: Connection, put: Callable[[Connection, RunFolder], object], size: int
) -> None:
    before = contents(old.path)
    with (
        largest_file(size),
        pytest.raises(SuiteError, match=r"Cannot write .*evidence.*: (File too large|Input/output error)"),
    ):
        put(filled, old)
    assert contents(old.path) == before
    assert not hidden(old.path)
    write(filled, old)
    assert kernels(old) == 3000


def test_rows_that_do_not_fit_into_the_temporary_folder_are_told(filled: Connection) -> None:
    rows = [{"pass": "nsys", "kernel_id": n} for n in range(3000)]
    with largest_file(1000), pytest.raises(SuiteError, match=r"Cannot write .*jsonl: File too large"):
        insert_rows(filled, "kernel", rows)
    assert filled.execute("SELECT count(*) FROM kernel").fetchall() == [(3000,)]


def test_without_any_temporary_folder_rows_are_refused_and_questions_answered(
    old: RunFolder, filled: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parquet(filled, old.evidence)

    def none(*_: object, **__: object) -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    assert kernels(old) == 3000
    with pytest.raises(SuiteError, match=r"No usable temporary directory found.\n .*TMPDIR=FOLDER"):
        insert_rows(filled, "kernel", [{"pass": "nsys"}])


FULL_DISK = """
import json, subprocess, sys
from pathlib import Path
from faults import few_tables
from nsight_suite import ingest
from nsight_suite.evidence import __main__ as evidence
from nsight_suite.evidence.build import write
from nsight_suite.evidence.store import empty_store, insert_rows
from nsight_suite.errors import SuiteError
from nsight_suite.runfolder import RunFolder

place, export, told = Path(sys.argv[1]), sys.argv[2], []

def disk(kilobytes):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", place], check=True)

def files():
    return {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}

with few_tables(), empty_store() as connection:
    write(connection, RunFolder(place.parent / "whole"))
    taken = 60 + sum(path.stat().st_size // 4096 * 4 + 4 for path in (place.parent / "whole").rglob("*"))
    insert_rows(connection, "kernel", ({"pass": "nsys", "name": f"k{n * 7919}"} for n in range(2000)))
    for kilobytes in (0, 120, 4000):
        disk(taken + kilobytes)
        subprocess.run(["cp", "-r", place.parent / "whole", place / "run"], check=True)
        before, error = files(), ""
        try:
            write(connection, RunFolder(place / "run"))
        except SuiteError as refused:
            error = str(refused)
        told.append({"size": kilobytes, "error": error, "same": files() == before, "hidden": [
            str(path) for path in place.rglob(".*")]})
        subprocess.run(["umount", place], check=True)
for kilobytes in (8, 4000):
    disk(kilobytes)
    status = ingest.main([export, "--out", str(place / "run"), "--quiet"])
    told.append({"size": kilobytes, "status": status, "left": [str(path) for path in place.iterdir()]})
    subprocess.run(["umount", place], check=True)
print(json.dumps(told))
"""


def namespace() -> list[str]:
    """What starts a command that may mount, in a namespace of its own; empty where that is not allowed."""
    unshare = shutil.which("unshare")
    if unshare:
        for words in ([unshare, "-m"], [unshare, "-rm"]):
            tried = subprocess.run(
                [*words, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False
            )
            if tried.returncode == 0:
                return words
    return []


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """File systems from too small to large enough, in memory: evidence and ingest are whole or not at all."""
    if not (words := namespace()):
        pytest.skip("no file system can be mounted here")
    export = make_export(
        tmp_path / "r.sqlite",
        kernels=[Kernel(f"kernel_{n * 7919}", n * 9, n * 9 + n % 7, n) for n in range(3000)],
    )
    (place := tmp_path / "disk").mkdir()
    command = [*words, sys.executable, "-c", FULL_DISK, str(place), str(export)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TESTS)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    written = [one for one in told if "error" in one]
    for one in written:
        assert one["hidden"] == [], one
        if one["error"]:
            assert "No space left on device" in one["error"]
            assert "Free some space" in one["error"]
    assert [bool(one["error"]) for one in written] == sorted(
        (bool(one["error"]) for one in written), reverse=True
    )
    assert {bool(one["error"]) for one in written} == {True, False}
    ingested = [one for one in told if "status" in one]
    assert {one["status"] for one in ingested} == {0, 2}
    for one in ingested:
        assert [Path(path).name for path in one["left"]] == (["run"] if one["status"] == 0 else [])
    assert done.stderr.count("Free some space") == sum(one["status"] for one in ingested) // 2
    assert "Traceback" not in done.stderr


# -- a process that is killed ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        # As many as there is time for; `python killing.py` tries them all.
        ("record", "1-10"),
        ("figures", "1-24"),
        ("evidence", "14,22"),
        ("ingest", "70"),
        ("share", "50"),
    ],
)
def test_a_process_killed_at_any_call_leaves_what_the_next_one_mends(
    tmp_path: Path, name: str, calls: str
) -> None:
    """Old or new, and whole, as soon as it is dead; after the next one new, with nothing left of the dead."""
    command = [sys.executable, str(TESTS / "killing.py"), name, str(tmp_path), calls]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found[0]["ended"] == -signal.SIGKILL
    assert {one["ended"] for one in found} <= {-signal.SIGKILL, 0}, "a call that is never made kills nobody"
    for one in found:
        assert one["state"] in ([0, "old"], [0, "new"]), one
        assert one["again"] == [0, "None"], one
        assert one["after"] == [0, "new"], one
        assert one["left"] == [], one
    assert any(one["hidden"] for one in found), "something was struck in the middle"


def test_what_is_not_of_a_dead_process_stays(tmp_path: Path) -> None:
    """Names that are like the suite's own, of the living, of other machines and of people."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    mark = writing._host()
    dead = tmp_path / "evidence" / f".kernel.{child.pid}-{mark}.parquet"
    theirs = [
        tmp_path / name
        for name in (
            *(".lock", ".git", ".notes.12.txt", ".gitignore", f"kernel.{child.pid}-{mark}.parquet"),
            f".kernel.{os.getpid()}-{mark}.parquet",
            f".kernel.{child.pid}-000000.parquet",
            f".kernel.{child.pid}.parquet",
        )
    ]
    dead.parent.mkdir()
    for path in (dead, *theirs):
        path.write_text("kept")
    with locked(tmp_path, "test"):
        pass
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(theirs)
    assert {path.read_text() for path in theirs} == {"kept"}


def test_a_folder_that_was_put_aside_by_a_dead_process_comes_back(tmp_path: Path) -> None:
    """Where two folders cannot change places at once, a kill may come between the two renames."""
    run = RunFolder(tmp_path)
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    aside = tmp_path / f".evidence.{child.pid}-{writing._host()}.aside"
    made = tmp_path / f".evidence.{child.pid}-{writing._host()}"
    for folder, text in ((aside, "old"), (made, "new")):
        folder.mkdir()
        (folder / "a").write_text(text)
    with locked(tmp_path, "test"):
        pass
    assert contents(tmp_path) == {"evidence/a": b"old"}
    assert run.evidence.is_dir()


def test_what_others_keep_in_a_folder_is_taken_over(tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    replace_folder(tmp_path, "old")
    (folder / "notes.txt").write_text("hers")
    (folder / "more").mkdir()
    (folder / "more" / "a").write_text("hers")
    replace_folder(tmp_path, "new")
    assert contents(folder) == {"a": b"new", "b": b"new", "notes.txt": b"hers", "more/a": b"hers"}


# -- folders that cannot be written ----------------------------------------------------------------

# Commands in one process that permission bits hold for, whoever started it.
COMMANDS = """
import importlib, json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

told = []
for words in json.load(sys.stdin):
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = importlib.import_module(words[0]).main(words[1:])
    told.append([status, out.getvalue(), err.getvalue()])
print(json.dumps(told))
"""


# A bounding set without CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: the superuser too must have permission.
START = """
import ctypes, os, sys

if os.geteuid() == 0:
    for capability in (1, 2):
        assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""


def test_of_a_read_only_run_everything_can_be_asked_and_nothing_written(
    synthetic_run: RunFolder, tmp_path: Path
) -> None:
    """The home folder cannot be written either, and the temporary one is missing."""
    place, out = tmp_path / "place", tmp_path / "out"
    shutil.copytree(synthetic_run.path, place / "run")
    make_export(place / "r.sqlite", kernels=[Kernel("k", 1, 2, 1)])
    out.mkdir()
    run, suite = str(place / "run"), "nsight_suite"
    reading = [
        [f"{suite}.query", run, "kernel_counts", "--format", "csv"],
        [f"{suite}.query", run, "kernel_counts", "--out", str(out / "answer.parquet")],
        [f"{suite}.ingest", str(place / "r.sqlite"), "--out", str(out / "run"), "--quiet"],
    ]
    refused = [
        [f"{suite}.figures", run],
        [f"{suite}.report", run],
        [f"{suite}.evidence.__main__", run],
        [f"{suite}.query", run, "kernel_counts", "--out", str(place / "answer.csv")],
        [f"{suite}.ingest", str(place / "r.sqlite"), "--out", str(place / "new")],
    ]
    folders = [place, *(path for path in place.rglob("*") if path.is_dir())]
    for path in place.rglob("*"):
        path.chmod(path.stat().st_mode & ~0o222)
    place.chmod(0o555)
    before = contents(place)
    done = subprocess.run(
        [sys.executable, "-c", START, COMMANDS],
        input=json.dumps([*reading, *refused]),
        env={
            **os.environ,
            **{"HOME": str(place), "TMPDIR": str(tmp_path / "missing")},
        },
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    for folder in folders:
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    for words, (status, _, error) in zip(reading, told, strict=False):
        assert (status, error) == (0, ""), (words, error)
    for words, (status, output, error) in zip(refused, told[len(reading) :], strict=True):
        assert (status, output) == (2, ""), words
        assert "Cannot write" in error, words
        assert "Permission denied.\n  Choose a place that you may write to" in error, words
    assert contents(place) == before
    assert sorted(path.name for path in out.iterdir()) == ["answer.parquet", "run"]


# -- what is built again ---------------------------------------------------------------------------


def test_evidence_that_is_built_again_brings_its_sqlite_file_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else that one would go on telling of the evidence of before."""
    monkeypatch.setattr(
        "nsight_suite.evidence.ingested.write_duckdb", lambda _: None
    )  # views alone, which take long to make
    export = make_export(tmp_path / "r.sqlite", kernels=[Kernel("k", 1, 2, 1)])
    run = ingest([export], tmp_path / "run", Options(sqlite=True)).run
    with closing(sqlite3.connect(run.sqlite)) as database:
        database.execute("DELETE FROM kernel")
        database.commit()
    assert evidence.main([str(run.path)]) == 0
    with closing(sqlite3.connect(run.sqlite)) as database:
        assert database.execute("SELECT name FROM kernel").fetchall() == [("k",)]
