"""Who encloses whom, against an oracle that looks at every pair; and the same answer by every way to it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, assume, example, given, settings
from hypothesis import strategies as st
from random_exports import RandomExport, exports

from nsight_suite.evidence import store
from nsight_suite.evidence.needs import Needs
from nsight_suite.evidence.readers import nsys, nsys_calls, sweep
from nsight_suite.evidence.readers.sweep import Extremes, Ranges, order
from nsight_suite.evidence.tables import tables

# -- ranges alone ----------------------------------------------------------------------------------

# Few moments, so that ranges touch, coincide, nest and cross.
SPANS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    max_size=40,
)
DEEP = [(n, 200 - n) for n in range(80)]
COMB = [(0, 300), *((2 * n, 2 * n + 1) for n in range(60)), (120, 130)]


def as_level(name: str) -> str:
    """A name as it stands in the text of a path, whose levels are parted by ' / '."""
    return name.replace(" / ", " \\/ ")


def arranged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted(spans, key=lambda span: (span[0], -span[1]))


def both(spans: list[tuple[int, int]]) -> tuple[sweep.Integers, sweep.Integers]:
    start, end = zip(*spans, strict=True) if spans else ((), ())
    return np.array(start, np.int64), np.array(end, np.int64)


def around(spans: list[tuple[int, int]], start: int, end: int) -> list[int]:
    """The ranges that enclose a call, from the outside in."""
    return [at for at, (a, b) in enumerate(spans) if a <= start and end <= b]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(SPANS, SPANS)
@example(DEEP, [(100, 101), (79, 80), (200, 200)])
@example(COMB, [(125, 126), (118, 119), (118, 120), (299, 300)])
def test_calls_are_placed_as_the_oracle_places_them(
    spans: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    spans = arranged(spans)
    ranges = Ranges(*both(spans))
    start, end = both(asked)
    right = [around(spans, *call) for call in asked]
    assert ranges.innermost(start, end).tolist() == [found[-1] if found else -1 for found in right]
    assert ranges.enclosing(start, end).tolist() == [len(found) for found in right]
    chains = [step.tolist() for step in ranges.chain(ranges.innermost(start, end), end)]
    for call, found in enumerate(right):
        assert [step[call] for step in chains if step[call] >= 0] == found[::-1]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(SPANS)
@example(DEEP)
@example(COMB)
def test_parents_depths_and_crossings(spans: list[tuple[int, int]]) -> None:
    spans = arranged(spans)
    ranges = Ranges(*both(spans))
    outer = [[a for a in around(spans, *span) if a < at] for at, span in enumerate(spans)]
    assert ranges.parent.tolist() == [found[-1] if found else -1 for found in outer]
    crossed = set(ranges.crossed.tolist())
    # Where nothing crosses, all ranges around one are found from parent to parent.
    assert all(at in crossed or depth == len(outer[at]) for at, depth in enumerate(ranges.depth.tolist()))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SPANS, SPANS)
def test_the_tree_finds_what_steps_find(spans: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sweep, "_STEPS", 0)
        test_calls_are_placed_as_the_oracle_places_them.hypothesis.inner_test(spans, asked)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SPANS)
def test_order_puts_outer_ranges_first_and_twins_as_they_came(spans: list[tuple[int, int]]) -> None:
    found = order(*both(spans))
    right = sorted(range(len(spans)), key=lambda at: (spans[at][0], -spans[at][1]))
    assert (list(range(len(spans))) if found is None else found.tolist()) == right


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=300), st.data())
def test_extremes_of_any_stretch(values: list[int], data: st.DataObject) -> None:
    length = len(values)
    bounds = st.tuples(st.integers(0, length - 1), st.integers(1, length)).filter(
        lambda pair: pair[0] < pair[1]
    )
    stretches = [*data.draw(st.lists(bounds, max_size=10)), (0, length)]
    first, behind = both(stretches)
    array = np.array(values, np.int64)
    for largest, pick in ((True, max), (False, min)):
        assert Extremes(array, largest).of(first, behind).tolist() == [pick(values[a:b]) for a, b in stretches]


# -- whole exports ---------------------------------------------------------------------------------

READ = (
    "range",
    "path",
    "launch",
    "kernel",
    "memory_operation",
    "sync",
    "api_call",
    "graph_run",
    "mark",
    "process",
)
Rows = dict[str, list[dict[str, Any]]]
# Each example is read by DuckDB, so a failing one is told as it was found.
READING = settings(deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])


@contextmanager
def written(export: RandomExport) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield export.write(Path(folder) / "r.sqlite")


def evidence(path: Path, needs: Needs | None = None, names: tuple[str, ...] = READ) -> Rows:
    with store.empty_store() as connection:
        nsys.read(connection, path, "r", needs=needs)
        found = {}
        for name in names:
            columns = tables()[name].column_names
            rows = connection.execute(f'SELECT * FROM "{name}" ORDER BY ALL').fetchall()
            found[name] = [dict(zip(columns, row, strict=True)) for row in rows]
        return found


def enclosing(found: Rows, process: int, thread: int, start: int, end: int | None) -> list[dict[str, Any]]:
    """The push/pop ranges of a thread that hold a call, from the outside in."""
    last = max(start, start if end is None else end)
    return [
        row
        for row in sorted(found["range"], key=lambda row: (row["start_ns"], -_end(row), row["range_id"]))
        if (row["process"], row["thread"], row["style"]) == (process, thread, "push_pop")
        and row["start_ns"] <= start
        and last <= _end(row)
    ]


def _end(row: dict[str, Any]) -> int:
    return 2**63 - 1 if row["end_ns"] is None else max(row["end_ns"], row["start_ns"])


def calls_belong(found: Rows) -> None:
    paths = {row["path_id"]: row["path"] for row in found["path"]}
    for row in [*found["launch"], *found["sync"]]:
        holders = enclosing(found, row["process"], row["thread"], row["start_ns"], row["end_ns"])
        if holders:
            assert row["range_id"] == holders[-1]["range_id"]
            if "path_id" in row:
                assert paths[row["path_id"]] == " / ".join(as_level(holder["name"]) for holder in holders)
            continue
        spans = [
            span
            for span in sorted(found["range"], key=lambda one: (one["start_ns"], -_end(one), one["range_id"]))
            if (span["process"], span["style"]) == (row["process"], "start_end")
            and span["start_ns"] <= row["start_ns"]
            and max(row["start_ns"], row["end_ns"] or 0) <= _end(span)
        ]
        assert row["range_id"] == (spans[-1]["range_id"] if spans else None)


def ranges_nest(found: Rows) -> None:
    paths = {row["path_id"]: row["path"] for row in found["path"]}
    for row in found["range"]:
        if row["style"] == "start_end":
            assert (row["parent_range_id"], row["depth"], paths[row["path_id"]]) == (
                None,
                0,
                as_level(row["name"]),
            )
            continue
        outer = enclosing(found, row["process"], row["thread"], row["start_ns"], _end(row))
        outer = outer[: [one["range_id"] for one in outer].index(row["range_id"])]
        assert row["parent_range_id"] == (outer[-1]["range_id"] if outer else None)
        assert row["depth"] == len(outer)
        assert paths[row["path_id"]] == " / ".join(as_level(one["name"]) for one in (*outer, row))


# What a range tells of the device.
UNKNOWN = ("kernels", "operations", "device_ns", "projected_start_ns", "projected_end_ns")


def ranges_hold_their_work(found: Rows) -> None:
    last_event = max((max(row["start_ns"], row["end_ns"] or 0) for row in found["range"]), default=0)
    work: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for one in [*found["kernel"], *found["memory_operation"]]:
        work.setdefault((one["process"], one["correlation_id"]), []).append(one)
    for row in found["range"]:
        until = {"here": _end(row), "never": last_event, "elsewhere": -1}[row["closed"]]
        held = [
            launch
            for launch in found["launch"]
            if (launch["process"], launch["thread"]) == (row["process"], row["thread"])
            and row["start_ns"] <= launch["start_ns"]
            and max(launch["start_ns"], launch["end_ns"] or 0) <= until
        ]
        inside = [launch for launch in held if (launch["process"], launch["correlation_id"]) in work]
        # Two launches may bear one correlation id: each counts all that bears it.
        ran = [one for launch in inside for one in work[launch["process"], launch["correlation_id"]]]
        timed = [one for one in ran if one["start_ns"] is not None]
        assert row["launches"] == len(inside)
        if row["kernels"] is None:  # replays without records ran inside: what they did is unknown
            assert any(one["kind"] == "graph" and not one["operations"] for one in held)
            assert {row[name] for name in UNKNOWN} == {None}
            continue
        assert (row["operations"], row["kernels"]) == (len(ran), sum("name" in one for one in ran))
        assert row["device_ns"] == (sum(one["end_ns"] - one["start_ns"] for one in timed) if timed else None)
        assert row["projected_start_ns"] == min((one["start_ns"] for one in timed), default=None)
        assert row["projected_end_ns"] == max((one["end_ns"] for one in timed), default=None)


@settings(READING, max_examples=15)
@given(exports())
def test_whole_exports_are_read_as_an_oracle_reads_them(export: RandomExport) -> None:
    with written(export) as path:
        found = evidence(path)
    calls_belong(found)
    ranges_nest(found)
    ranges_hold_their_work(found)


def without_numbers_of_paths(found: Rows) -> Rows:
    """Paths are numbered as they are met, which is by windows; their texts stand in for these numbers."""
    paths = {row["path_id"]: row["path"] for row in found["path"]} | {None: None}
    numbers = {"path_id", "parent_path_id"}
    return {
        name: sorted(
            ({key: paths[value] if key in numbers else value for key, value in row.items()} for row in rows),
            key=str,
        )
        for name, rows in found.items()
    }


@settings(READING, max_examples=8)
@given(exports(40), st.integers(6, 40), st.integers(1, 3))
def test_windows_of_any_size_give_the_same_evidence(export: RandomExport, rows: int, sampled: int) -> None:
    with written(export) as path:
        whole = evidence(path)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(nsys_calls, "WINDOW_ROWS", rows)
            patched.setattr(nsys_calls, "_SAMPLED", sampled)
            assert without_numbers_of_paths(evidence(path)) == without_numbers_of_paths(whole)


RANGE_COLUMNS = (
    *("process", "thread", "domain", "name", "payload", "style", "closed", "start_ns", "end_ns", "depth"),
    *("launches", "kernels", "operations", "device_ns", "projected_start_ns", "projected_end_ns"),
)


def projected(path: Path, needs: Needs | None) -> list[str]:
    with store.empty_store() as connection:
        nsys.read(connection, path, "r", needs=needs)
        columns = ", ".join(f'"range".{name}' for name in RANGE_COLUMNS)
        sql = f'SELECT {columns}, path.path FROM "range" LEFT JOIN path USING (pass, path_id)'
        return sorted(map(str, connection.execute(sql).fetchall()))


@settings(READING, max_examples=14)
@given(exports())
def test_ranges_alone_are_those_of_the_whole_reading(export: RandomExport) -> None:
    needs = Needs(frozenset({"range", "path"}), frozenset({*RANGE_COLUMNS, "path_id", "path"}))
    with written(export) as path:
        # Which ranges hold replays that left no records is known from all launches alone.
        assume(all(row["kernels"] is not None for row in evidence(path)["range"]))
        assert projected(path, needs) == projected(path, None)
