"""Ranges read by compiled loops are the same rows as those read by numpy; what is odd is left to numpy."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from random_exports import RandomExport, exports, odd_exports
from tiny_export import Call, Kernel, Range, change, make_export

from nsight_suite.errors import BadReport
from nsight_suite.evidence.direct import open_report
from nsight_suite.evidence.ingested import LooseReport
from nsight_suite.evidence.readers import machine as machines
from nsight_suite.evidence.readers import nsys_fast, nsys_projection
from nsight_suite.evidence.readers.machine import Machine, Unavailable, machine
from nsight_suite.evidence.readers.nsys_export import open_export
from nsight_suite.evidence.readers.nsys_fast import GIVEN
from nsight_suite.evidence.store import Connection, DatabaseError, empty_store

pytest.importorskip("numba", reason="needs the extra [fast]")

RANDOM = settings(deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
TOLD = sorted(GIVEN - {"pass"})
FALLS_BACK = "left to numpy"


@pytest.fixture(scope="module", autouse=True)
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """The loops, compiled once and kept between runs of the tests, where pytest keeps anything."""
    kept = getattr(request.config, "cache", None)
    folder = kept.mkdir("fast") if kept else tmp_path_factory.mktemp("fast")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        machines._loaded.cache_clear()
        yield machine(compile_now=True)
        machines._loaded.cache_clear()


@cache
def store() -> Connection:
    return empty_store()


def rows_of(path: Path, *, fast: bool, needed: frozenset[str] = GIVEN) -> Any:
    """All ranges of an export, or how its reading failed."""
    connection = store()
    connection.execute("BEGIN; CREATE SCHEMA nsys; SET VARIABLE pass_name = 'r'")
    columns = ", ".join(sorted(needed - {"pass"}))
    try:
        with open_export(path) as export:
            if fast and not nsys_fast.read_ranges(connection, export, needed, least_rows=0):
                return FALLS_BACK
            if not fast:
                nsys_projection.read_ranges(connection, export, needed)
        return connection.execute(f'SELECT {columns} FROM "range" ORDER BY ALL').fetchall()
    except BadReport:
        return "refused"
    except DatabaseError:
        return "makes no sense"
    finally:
        connection.execute("ROLLBACK")


def same(path: Path) -> list[tuple[Any, ...]]:
    """The ranges of an export, by both ways."""
    fast = rows_of(path, fast=True)
    assert fast == rows_of(path, fast=False)
    assert isinstance(fast, list)
    return fast


def some_export(path: Path, *, nvtx: tuple[Range, ...] = (Range("step", 0, 100),)) -> Path:
    return make_export(path, api=[Call("launch", 10, 20, 1)], kernels=[Kernel("k", 30, 40, 1)], nvtx=nvtx)


def test_ranges_hold_what_was_launched_inside_them(tmp_path: Path) -> None:
    path = make_export(
        tmp_path / "r.sqlite",
        # The second call is inside "inner"; the third one begins inside "outer" and returns behind it.
        api=[Call("launch", 10, 20, 1), Call("graph", 30, 40, 2), Call("launch", 95, 105, 3)],
        kernels=[
            *(Kernel("k", 100, 150, 1), Kernel("k", 160, 170, 2), Kernel("k", 140, 200, 2)),
            *(Kernel("k", 300, 310, 3), Kernel("k", 1, 5, 1, process=2)),
        ],
        nvtx=[Range("outer", 0, 100, payload=7), Range("inner", 30, 40, domain=1), Range("idle", 50, 60)],
    )
    told = "range_id", "name", "domain", "payload", "launches", "kernels", "device_ns"
    projected = "projected_start_ns", "projected_end_ns"
    found = [tuple(row[TOLD.index(name)] for name in (*told, *projected)) for row in same(path)]
    assert sorted(found) == [
        (0, "outer", None, 7, 2, 3, 50 + 10 + 60, 100, 200),
        (1, "inner", "<domain 1>", None, 1, 2, 10 + 60, 140, 200),
        (2, "idle", None, None, 0, 0, None, None, None),
    ]


@given(exports())
@settings(RANDOM, max_examples=14)
def test_random_exports_are_read_the_same(export: RandomExport) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = export.write(Path(folder) / "r.sqlite")
        fast = rows_of(path, fast=True)
        assert fast in (FALLS_BACK, rows_of(path, fast=False))
        # Of what nsys writes nothing is odd here.
        assert fast != FALLS_BACK


@given(odd_exports())
@settings(RANDOM, max_examples=14)
def test_odd_exports_are_read_the_same_or_left_to_numpy(export: RandomExport) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = export.write(Path(folder) / "r.sqlite")
        assert rows_of(path, fast=True) in (FALLS_BACK, rows_of(path, fast=False))


@pytest.mark.parametrize("seed", range(4))
def test_long_captures(tmp_path: Path, seed: int) -> None:
    """Thousands of calls on three threads, some of them nested, in ranges of all lengths; some never closed."""
    chance = random.Random(seed)
    api, kernels, nvtx, now = [], [], [Range("all", 0, 10**9)], 0
    for number in range(1, 6000):
        thread, now = chance.randrange(3), now + chance.randrange(1, 20)
        length = chance.choice([5, 5, 5, 0, 300]) if seed % 2 else 5
        api.append(Call("launch", 10 * now, 10 * now + length, number, thread=thread))
        begin = 10 * now + chance.randrange(1, 5000)
        kernels += [Kernel("k", begin, begin + chance.randrange(90), number)] * chance.choice([0, 1, 1, 3])
        if chance.random() < 0.5:
            lasts = chance.choice([10, 100, 10_000, 1_000_000])
            end = None if chance.random() < 0.01 else 10 * now + lasts
            name, kind = f"range {chance.randrange(9)}", chance.choice([59, 59, 60])
            nvtx.append(Range(name, 10 * now - chance.randrange(9), end, kind, thread=thread))
    rows = same(make_export(tmp_path / "r.sqlite", api=api, kernels=kernels, nvtx=nvtx))
    assert len(rows) == len(nvtx)
    assert max(row[TOLD.index("launches")] for row in rows) > 1000


def test_every_name_is_told(tmp_path: Path) -> None:
    """More names than there is room for at first, of all lengths, many of them equal but for their middle."""
    names = [f"{'x' * (number % 90)}{number:05}{'y' * 40}" for number in range(9000)]
    names += ["", "a", "abcdefg", "abcdefgh", "abcdefghi", "ü" * 100, "z" * 3000]
    nvtx = [Range(name, 10 * place, 10 * place + 5) for place, name in enumerate(names)]
    rows = same(some_export(tmp_path / "r.sqlite", nvtx=tuple(nvtx)))
    place = TOLD.index("name")
    assert {row[place] for row in rows} == {name or "<unnamed>" for name in names}


def test_names_that_are_no_text_are_read_the_same(tmp_path: Path) -> None:
    path = some_export(tmp_path / "r.sqlite")
    change(path, "UPDATE NVTX_EVENTS SET text = CAST(x'ff41fe' AS TEXT)")
    assert "\ufffdA\ufffd" in same(path)[0]


ODD = {
    "too long for its page": "UPDATE NVTX_EVENTS SET text = printf('%9999s', 'x')",
    "a number as a name": "ALTER TABLE NVTX_EVENTS DROP COLUMN text; ALTER TABLE NVTX_EVENTS ADD COLUMN text; "
    "UPDATE NVTX_EVENTS SET text = 5",
    "a fraction": "UPDATE NVTX_EVENTS SET start = 0.5",
    "a moment that cannot be": "UPDATE NVTX_EVENTS SET start = 5000000000000000000",
    "a kernel before the capture": "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = -5",
    "an id below zero": "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = -1",
    "ids far apart": "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL "
    "SELECT start, end, 4000000000, globalPid, 1, 1, 1, 0, 1, 7 FROM CUPTI_ACTIVITY_KIND_KERNEL",
    "a column with a default": "ALTER TABLE NVTX_EVENTS ADD COLUMN more INTEGER DEFAULT 5",
    "a view": "ALTER TABLE NVTX_EVENTS RENAME TO events; CREATE VIEW NVTX_EVENTS AS SELECT * FROM events",
    "rows by key": "CREATE TABLE t (start INTEGER PRIMARY KEY, end INTEGER, eventType INTEGER, globalTid INT); "
    "INSERT INTO t SELECT start, end, eventType, globalTid FROM NVTX_EVENTS; DROP TABLE NVTX_EVENTS; "
    "ALTER TABLE t RENAME TO NVTX_EVENTS",
}


@pytest.mark.parametrize("what", ODD)
def test_what_is_odd_is_left_to_numpy(tmp_path: Path, what: str) -> None:
    path = some_export(tmp_path / "r.sqlite")
    assert len(same(path)) == 1
    change(path, *ODD[what].split("; "))
    assert rows_of(path, fast=True) == FALLS_BACK
    assert isinstance(rows_of(path, fast=False), list)


def test_columns_that_the_loops_do_not_tell_are_left_to_numpy(tmp_path: Path) -> None:
    path = some_export(tmp_path / "r.sqlite")
    assert rows_of(path, fast=True, needed=frozenset({"name", "launches"})) == [(1, "step")]
    assert rows_of(path, fast=True, needed=frozenset({"name", "depth"})) == FALLS_BACK


def test_damage_never_crashes_the_loops(tmp_path: Path) -> None:
    whole = tmp_path / "whole.sqlite"
    api = [Call("launch", 10 * number, 10 * number + 5, number) for number in range(300)]
    kernels = [Kernel("k", 10 * number, 10 * number + 9, number) for number in range(300)]
    nvtx = [Range(f"range {number % 7}", 10 * number, 10 * number + 50) for number in range(300)]
    make_export(whole, api=api, kernels=kernels, nvtx=nvtx)
    good, chance, read = whole.read_bytes(), random.Random(5), 0
    for number in range(120):
        damaged = bytearray(good)
        for _ in range(chance.choice([1, 3, 30])):
            # The first page is the schema, which SQLite itself refuses.
            damaged[chance.randrange(4096, len(good))] = chance.choice(
                [0, 1, 127, 128, 255, chance.randrange(256)]
            )
        path = tmp_path / f"{number}.sqlite"
        path.write_bytes(damaged)
        fast = rows_of(path, fast=True)
        assert fast in (FALLS_BACK, rows_of(path, fast=False))
        read += isinstance(fast, list)
    assert 5 < read < 115, "some damage lies in cells that are numbers, other damage in what holds the cells"


def test_a_question_to_a_large_report_is_answered_by_the_loops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvtx = tuple(Range("step", number, number + 100) for number in range(nsys_fast.LEAST_ROWS))
    path = some_export(tmp_path / "r.sqlite", nvtx=nvtx)
    sql = 'SELECT name, count(*), sum(launches) FROM "range" GROUP BY name'
    # Ranges that begin until the call does hold it: those from 0 to 10.
    answer = [("step", nsys_fast.LEAST_ROWS, 11)]
    report = LooseReport("r", path, "nsys-sqlite", path.name)
    with monkeypatch.context() as patch:
        patch.setattr(nsys_projection, "read_ranges", None)
        assert open_report(report, sql).connection.execute(sql).fetchall() == answer
    with monkeypatch.context() as patch:
        patch.setattr(nsys_fast, "machine", _unavailable)
        assert open_report(report, sql).connection.execute(sql).fetchall() == answer


def _unavailable(compile_now: bool) -> Machine:
    raise Unavailable("numba is not installed")


def test_nothing_is_compiled_for_a_small_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    with pytest.raises(Unavailable, match="not compiled"):
        machines._loaded.__wrapped__(False)
    assert not (tmp_path / "empty").exists()


def test_without_numba_there_is_no_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    monkeypatch.setattr(machines, "_loaded", machines._loaded.__wrapped__)
    with pytest.raises(Unavailable):
        machine(compile_now=True)


def test_damaged_code_is_not_run(tmp_path: Path) -> None:
    (kept,) = (Path(machines._folder())).glob("loops-*.bin")
    code = machines._kept(kept)
    assert code is not None
    assert code.startswith(b"\x7fELF") or len(code) > 1000
    broken = tmp_path / "loops.bin"
    broken.write_bytes(kept.read_bytes()[:-1] + b"?")
    assert machines._kept(broken) is None
    assert machines._kept(tmp_path / "missing.bin") is None


def test_arrays_of_another_type_are_refused(compiled: Machine) -> None:
    hashes, table = np.arange(3, dtype=np.uint64), np.zeros(8, np.int32)
    assert compiled.rehash(hashes, 3, table, 8) == 0
    assert table.tolist() == [1, 2, 3, 0, 0, 0, 0, 0]
    with pytest.raises(TypeError, match="int32"):
        compiled.rehash(hashes, 3, table.astype(np.int64), 8)
    with pytest.raises(TypeError, match="whole array"):
        compiled.rehash(hashes[::2], 2, table, 8)
