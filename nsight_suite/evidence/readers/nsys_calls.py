"""Staged API calls and NVTX ranges → launches, waits, other calls, ranges and their paths, window after
window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from nsight_suite.evidence.readers import lanes
from nsight_suite.evidence.readers.lanes import FIRST, LAST, NONE, Lane, Paths, Rows, count, take
from nsight_suite.evidence.readers.sweep import Integers, Ranges
from nsight_suite.evidence.store import Connection

# Calls and ranges of one window: some hundred bytes of memory for each.
WINDOW_ROWS = 300_000
_SAMPLED = 100
# Names of a path that are written out: more make its text, and those of all below it, very long.
_WRITTEN_OUT = 64

_LAST_EVENT = """
SELECT coalesce(greatest(max("start"), max("end")), 0) FROM nsys.nvtx WHERE eventType IN (59, 60, 70, 71)
"""


def read_calls(connection: Connection, told: Callable[[int], None] = lambda rows: None) -> None:
    """Fill launch, sync, api_call, range and path from the staged tables of the schema nsys."""
    connection.execute(f"SET VARIABLE last_event = ({_LAST_EVENT})")
    paths = Paths()
    lanes_of = _lanes(connection, paths)
    process_of = dict(connection.execute("SELECT thread, process FROM nsys.thread").fetchall())
    # The start/end ranges of each process that are still open, whatever thread began them.
    open_ranges: dict[int, Rows] = {process: {} for process in process_of.values()}
    for begin, end in _windows(connection):
        connection.execute(f"SET VARIABLE window_start = {begin}; SET VARIABLE window_end = {end}")
        connection.execute(sql_of("window"))
        connection.execute(sql_of("other_calls"))
        ranges = _fetch(connection, sql_of("window_ranges"))
        ranges["range_id"] = ranges["row"]
        calls = _fetch(connection, sql_of("window_calls"))
        captures = _fetch(connection, sql_of("window_captures"))
        connection.execute("DROP TABLE window_call; DROP TABLE window_record")
        ranges_by, calls_by = (_places(rows["thread"]) for rows in (ranges, calls))
        captures_by = _places(captures["process"])
        found: list[tuple[int, lanes.Advance]] = []
        for thread, lane in lanes_of.items():
            step = lanes.advance(
                lane,
                _of(ranges_by, thread, ranges),
                _of(calls_by, thread, calls),
                _of(captures_by, process_of[thread], captures),
                until=end,
            )
            found.append((process_of[thread], step))
        for process, known in open_ranges.items():
            own = [step for owner, step in found if owner == process]
            fresh = take(ranges, (ranges["style"] == 0) & (ranges["process"] == process))
            open_ranges[process] = _adopt(lanes.joined([known, fresh]), own, paths)
        _insert(connection, "calls", lanes.joined([step.calls for _, step in found]))
        _insert(connection, "wrappers", lanes.joined([step.wrappers for _, step in found]))
        insert_ranges(connection, lanes.joined([step.closed for _, step in found]))
        told(count(calls) + count(ranges))
    insert_paths(connection, paths)


def _lanes(connection: Connection, paths: Paths) -> dict[int, Lane]:
    """A lane per thread. Launches are numbered thread by thread, so each begins where the one before may
    end."""
    found, first = {}, 0
    for thread, calls in connection.execute("SELECT thread, calls FROM nsys.thread ORDER BY thread").fetchall():
        found[thread] = Lane(paths, first)
        first += calls
    return found


def _windows(connection: Connection) -> Iterator[tuple[int, int]]:
    """Stretches of time with about WINDOW_ROWS calls and ranges each; the last one has no end."""
    (rows,) = _column(connection, "SELECT (SELECT count(*) FROM nsys.api) + (SELECT count(*) FROM nsys.nvtx)")
    starts: list[int] = []
    if rows > WINDOW_ROWS:
        sample = f'SELECT "start" FROM nsys.{{}} WHERE row % {_SAMPLED} = 0 AND "start" IS NOT NULL'
        every = WINDOW_ROWS // _SAMPLED
        starts = _column(connection, f"{sample.format('api')} UNION ALL {sample.format('nvtx')} ORDER BY 1")[
            every::every
        ]
    yield from pairwise([FIRST, *dict.fromkeys(starts), LAST])


def _adopt(ranges: Rows, steps: list[lanes.Advance], paths: Paths) -> Rows:
    """Calls that no range of their thread holds belong to the innermost start/end range of their process.

    Returns the ranges that are still open behind these steps.
    """
    ranges = lanes.sorted_rows(ranges)
    around = Ranges(ranges["start"], ranges["end"])
    for step in steps if count(ranges) else ():
        calls = step.calls
        alone = np.flatnonzero(calls["range_id"] == NONE)
        at = around.innermost(calls["start"][alone], calls["end"][alone])
        alone, at = alone[at >= 0], at[at >= 0]
        none = np.full(len(at), NONE, np.int64)
        calls["range_id"][alone] = ranges["range_id"][at]
        calls["path_id"][alone] = paths.of(none, ranges["domain"][at], ranges["label"][at], ranges["style"][at])
    until = min((step.until for step in steps), default=LAST)
    return take(ranges, ranges["end"] >= until)


def _places(threads: Integers) -> dict[int, Any]:
    """For each thread, or process, the places of its rows, in their order."""
    grouped = np.argsort(threads, kind="stable")
    here, first = np.unique(threads[grouped], return_index=True)
    if len(here) == 1:
        return {int(here[0]): slice(None)}
    return dict(zip(here.tolist(), np.split(grouped, first[1:]), strict=False))


def _of(places: dict[int, Any], thread: int, rows: Rows) -> Rows:
    return take(rows, places.get(thread, slice(0, 0)))


def insert_ranges(connection: Connection, ranges: Rows) -> None:
    """Append ranges to the table range."""
    if count(ranges):
        show_ranges(connection, ranges)
        connection.execute('INSERT INTO "range" BY NAME FROM found_range; DROP VIEW found_range')
        connection.unregister("found")


def show_ranges(connection: Connection, ranges: Rows) -> None:
    """Ranges as the view `found_range`, with the columns of the table range."""
    connection.register("found", ranges)
    connection.execute(sql_of("found_ranges"))


def insert_paths(connection: Connection, paths: Paths) -> None:
    """Fill the table path."""
    rows = paths.rows()
    names = dict(connection.execute("SELECT label, name FROM nsys.label").fetchall())
    depths, texts = _texts(rows["parent"].tolist(), [names[label] for label in rows["label"].tolist()])
    connection.register("path_text", {"path_id": rows["path_id"], "path": np.array(texts, dtype=object)})
    _insert(connection, "paths", rows | {"depth": np.array(depths, np.int64)})
    connection.unregister("path_text")


def _texts(parents: list[int], names: list[str]) -> tuple[list[int], list[str]]:
    """How deep each path lies, and its names from the outside in; a parent comes before its children.

    Of a very deep one the names between the outermost and the last are only counted.
    """
    depths: list[int] = []
    texts: list[str] = []
    for parent, name in zip(parents, names, strict=True):
        last = name.replace(" / ", " \\/ ")
        depth = 0 if parent == NONE else depths[parent] + 1
        if parent == NONE:
            text = last
        elif depth < _WRITTEN_OUT:
            text = f"{texts[parent]} / {last}"
        else:
            # The text of the parent ends in its own name, or in what is left out and that.
            outside = texts[parent] if depth == _WRITTEN_OUT else texts[parent].rpartition(" / … ")[0]
            left_out = depth - _WRITTEN_OUT
            text = f"{outside} / … {left_out:,} more … / {last}" if left_out else f"{outside} / {last}"
        depths.append(depth)
        texts.append(text)
    return depths, texts


def _insert(connection: Connection, step: str, rows: Rows) -> None:
    if count(rows):
        connection.register("found", rows)
        connection.execute(sql_of(f"found_{step}"))
        connection.unregister("found")


def sql_of(step: str) -> str:
    """The text of nsys_STEP.sql."""
    return Path(__file__).with_name(f"nsys_{step}.sql").read_text(encoding="utf-8")


def _fetch(connection: Connection, sql: str) -> Rows:
    """The columns of a query, none of which holds NULL, as arrays."""
    return {name: np.asarray(values) for name, values in connection.execute(sql).fetchnumpy().items()}


def _column(connection: Connection, sql: str) -> list[Any]:
    return [row[0] for row in connection.execute(sql).fetchall()]
