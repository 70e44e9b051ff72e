"""Staged API calls and NVTX ranges → launches, waits, other calls, ranges and their paths, window after window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nsight_suite.evidence.readers import lanes
from nsight_suite.evidence.readers.lanes import FIRST, LAST, NONE, SYNC, Lane, Paths, Rows, count, take
from nsight_suite.evidence.readers.sweep import Ranges
from nsight_suite.evidence.store import Connection

# Calls and ranges of one window: some hundred bytes of memory for each.
WINDOW_ROWS = 1_000_000
_SAMPLED = 1000

_RANGES = """
SELECT
    nvtx.row,
    thread.process,
    thread.thread,
    CAST(nvtx.eventType IN (59, 70) AS BIGINT) AS style,
    CASE WHEN nvtx."end" IS NULL THEN 2 WHEN nvtx.endGlobalTid <> nvtx.globalTid THEN 1 ELSE 0 END AS closed,
    coalesce(domain.label, -1) AS domain,
    CASE WHEN string_label.told THEN string_label.label ELSE coalesce(text_label.label, string_label.label, {unnamed}) END
        AS label,
    coalesce(nvtx.int64Value, nvtx.uint64Value, nvtx.int32Value, nvtx.uint32Value, 0) AS payload,
    CAST(coalesce(nvtx.int64Value, nvtx.uint64Value, nvtx.int32Value, nvtx.uint32Value) IS NOT NULL AS BIGINT) AS paid,
    nvtx."start",
    greatest(coalesce(nvtx."end", {last}), nvtx."start") AS "end"
FROM nsys.nvtx AS nvtx
JOIN nsys.thread ON thread.global_tid = nvtx.globalTid
LEFT JOIN nsys.domain ON domain.global_pid = thread.global_pid AND domain.domain_id = nvtx.domainId
LEFT JOIN nsys.string_label ON string_label.id = nvtx.textId
LEFT JOIN nsys.label AS text_label ON text_label.name = CASE WHEN nvtx.text <> '' THEN nvtx.text END
WHERE nvtx.eventType IN (59, 60, 70, 71) AND nvtx."start" >= {begin} AND nvtx."start" < {end}
ORDER BY nvtx."start", "end" DESC, nvtx.row
"""
_CALLS = """
SELECT
    row, process, thread, coalesce(correlation_id, -1) AS correlation_id, correlation_id IS NULL AS uncorrelated,
    coalesce(name_id, -1) AS name_id, kind, operations, kernels, timed,
    coalesce(CAST(device_ns AS BIGINT), 0) AS device_ns,
    coalesce(first_ns, {last}) AS first_ns,
    coalesce(last_ns, {first}) AS last_ns,
    start_ns AS "start",
    greatest(coalesce(end_ns, start_ns), start_ns) AS "end"
FROM window_call
WHERE kind IN (0, 1, 2, 3, 4)
ORDER BY start_ns, "end" DESC, row
"""
_CAPTURES = """
SELECT thread, start_ns AS "start", CASE kind WHEN 5 THEN 1 ELSE -1 END AS step
FROM window_call WHERE kind IN (5, 6) ORDER BY start_ns, row
"""


@dataclass
class _Process:
    """The start/end ranges of a process that are still open, whatever thread began them."""

    ranges: Rows = field(default_factory=dict)


def read_calls(connection: Connection, told: Callable[[int], None] = lambda rows: None) -> None:
    """Fill launch, sync, api_call, range and path from the staged tables of the schema nsys."""
    (unnamed,) = _column(connection, "SELECT label FROM nsys.label WHERE name = '<unnamed>'")
    paths = Paths()
    lanes_of = _lanes(connection, paths)
    process_of = dict(connection.execute("SELECT thread, process FROM nsys.thread").fetchall())
    processes = {process: _Process() for process in process_of.values()}
    next_range = 0
    for begin, end in _windows(connection):
        connection.execute(f"SET VARIABLE window_start = {begin}; SET VARIABLE window_end = {end}")
        connection.execute(Path(__file__).with_name("nsys_window.sql").read_text(encoding="utf-8"))
        ranges = _fetch(connection, _RANGES.format(begin=begin, end=end, unnamed=unnamed, last=LAST))
        ranges["range_id"] = np.arange(next_range, next_range + count(ranges), dtype=np.int64)
        next_range += count(ranges)
        calls = _fetch(connection, _CALLS.format(first=FIRST, last=LAST))
        captures = _fetch(connection, _CAPTURES)
        connection.execute("DROP TABLE window_call; DROP TABLE window_record")
        ranges_by, calls_by, captures_by = (_by_thread(rows) for rows in (ranges, calls, captures))
        found: list[tuple[int, lanes.Advance]] = []
        for thread, lane in lanes_of.items():
            own = (_of(rows_by, thread, rows) for rows_by, rows in ((ranges_by, ranges), (calls_by, calls), (captures_by, captures)))
            found.append((process_of[thread], lanes.advance(lane, *own, until=end)))
        for number, process in processes.items():
            _adopt(process, ranges, number, [step for owner, step in found if owner == number], paths)
        for _, step in found:
            _insert_calls(connection, step.calls)
            _insert_wrappers(connection, step.wrappers)
            _insert_ranges(connection, step.closed)
        told(count(calls) + count(ranges))
    _insert_paths(connection, paths)


def _lanes(connection: Connection, paths: Paths) -> dict[int, Lane]:
    """A lane per thread. Launches are numbered thread by thread, so each begins where the one before may end."""
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
        starts = _column(connection, f"{sample.format('api')} UNION ALL {sample.format('nvtx')} ORDER BY 1")[every::every]
    bounds = [FIRST, *dict.fromkeys(starts), LAST]
    yield from zip(bounds[:-1], bounds[1:], strict=True)


def _adopt(process: _Process, ranges: Rows, number: int, steps: list[lanes.Advance], paths: Paths) -> None:
    """Calls that no range of their thread holds belong to the innermost start/end range of their process."""
    fresh = take(ranges, (ranges["style"] == 0) & (ranges["process"] == number))
    known = process.ranges
    joined = {name: np.concatenate([known[name], fresh[name]]) for name in fresh} if count(known) else fresh
    joined = lanes.sorted_rows(joined)
    around = Ranges(joined["start"], joined["end"])
    for step in steps:
        if not count(joined):
            break
        calls = step.calls
        alone = np.flatnonzero(calls["range_id"] == NONE)
        at = around.innermost(calls["start"][alone], calls["end"][alone])
        alone, at = alone[at >= 0], at[at >= 0]
        none = np.full(len(at), NONE, np.int64)
        calls["range_id"][alone] = joined["range_id"][at]
        calls["path_id"][alone] = paths.of(none, joined["domain"][at], joined["label"][at], joined["style"][at])
    until = min((step.until for step in steps), default=LAST)
    process.ranges = take(joined, joined["end"] >= until)


def _by_thread(rows: Rows) -> dict[int, Any]:
    """For each thread the places of its rows, in their order."""
    threads = rows["thread"]
    grouped = np.argsort(threads, kind="stable")
    here, first = np.unique(threads[grouped], return_index=True)
    if len(here) == 1:
        return {int(here[0]): slice(None)}
    return dict(zip(here.tolist(), np.split(grouped, first[1:]), strict=False))


def _of(places: dict[int, Any], thread: int, rows: Rows) -> Rows:
    return take(rows, places.get(thread, slice(0, 0)))


def _insert_calls(connection: Connection, calls: Rows) -> None:
    if not count(calls):
        return
    with _view(connection, "found", calls):
        connection.execute(f"""
            INSERT INTO launch BY NAME
            SELECT
                getvariable('pass_name') AS pass, launch_id, process, thread,
                nullif(range_id, -1) AS range_id, nullif(path_id, -1) AS path_id, api_name.name,
                ['kernel', 'graph', 'memcpy', 'memset'][found.kind + 1] AS kind,
                CASE WHEN NOT uncorrelated THEN correlation_id END AS correlation_id,
                captured > 0 AND operations = 0 AS captured, kernels, operations,
                "start" AS start_ns, "end" AS end_ns
            FROM found JOIN nsys.api_name ON coalesce(api_name.id, -1) = found.name_id
            WHERE found.kind <> {SYNC} ORDER BY launch_id;
            INSERT INTO sync BY NAME
            SELECT
                getvariable('pass_name') AS pass, process, thread, nullif(range_id, -1) AS range_id, api_name.name,
                CASE WHEN NOT uncorrelated THEN correlation_id END AS correlation_id,
                "start" AS start_ns, "end" AS end_ns
            FROM found JOIN nsys.api_name ON coalesce(api_name.id, -1) = found.name_id
            WHERE found.kind = {SYNC} ORDER BY found."start", found.row
        """)


def _insert_wrappers(connection: Connection, calls: Rows) -> None:
    if not count(calls):
        return
    with _view(connection, "found", calls):
        connection.execute("""
            INSERT INTO api_call BY NAME
            SELECT getvariable('pass_name') AS pass, process, thread, api_name.name,
                "start" AS start_ns, "end" AS end_ns
            FROM found JOIN nsys.api_name ON coalesce(api_name.id, -1) = found.name_id ORDER BY found.row
        """)


def _insert_ranges(connection: Connection, ranges: Rows) -> None:
    if not count(ranges):
        return
    with _view(connection, "found", ranges):
        connection.execute(f"""
            INSERT INTO "range" BY NAME
            SELECT
                getvariable('pass_name') AS pass, range_id, process, thread, domain.name AS domain, label.name, CASE WHEN paid > 0 THEN payload END AS payload,
                CASE style WHEN 1 THEN 'push_pop' ELSE 'start_end' END AS style,
                ['here', 'elsewhere', 'never'][closed + 1] AS closed,
                "start" AS start_ns, nullif("end", {LAST}) AS end_ns, nullif(parent, -1) AS parent_range_id, depth,
                path_id, nullif(first_launch_id, -1) AS first_launch_id, nullif(last_launch_id, -1) AS last_launch_id,
                launches, kernels, operations,
                CASE WHEN timed > 0 THEN device_ns END AS device_ns,
                CASE WHEN timed > 0 THEN first_ns END AS projected_start_ns,
                CASE WHEN timed > 0 THEN last_ns END AS projected_end_ns
            FROM found
            JOIN nsys.label USING (label)
            LEFT JOIN nsys.label AS domain ON domain.label = found.domain
            ORDER BY range_id
        """)


def _insert_paths(connection: Connection, paths: Paths) -> None:
    rows = paths.rows()
    if not count(rows):
        return
    with _view(connection, "found", rows):
        connection.execute("""
            INSERT INTO path BY NAME
            WITH RECURSIVE node AS (
                SELECT path_id, nullif(parent, -1) AS parent_path_id, domain.name AS domain, label.name,
                    CASE style WHEN 1 THEN 'push_pop' ELSE 'start_end' END AS style
                FROM found JOIN nsys.label USING (label) LEFT JOIN nsys.label AS domain ON domain.label = found.domain
            ),
            grown AS (
                SELECT path_id, 0::BIGINT AS depth, name AS path FROM node WHERE parent_path_id IS NULL
                UNION ALL
                SELECT node.path_id, grown.depth + 1, grown.path || ' / ' || node.name
                FROM grown JOIN node ON node.parent_path_id = grown.path_id
            )
            SELECT getvariable('pass_name') AS pass, node.*, grown.depth, grown.path
            FROM node JOIN grown USING (path_id) ORDER BY path_id
        """)


class _view:
    """Arrays as a view of DuckDB, as long as the block lasts."""

    def __init__(self, connection: Connection, name: str, rows: Rows) -> None:
        self._connection, self._name, self._rows = connection, name, rows

    def __enter__(self) -> None:
        self._connection.register(self._name, self._rows)

    def __exit__(self, *error: object) -> None:
        self._connection.unregister(self._name)


def _fetch(connection: Connection, sql: str) -> Rows:
    """The columns of a query as arrays; payloads may be masked."""
    return dict(connection.execute(sql).fetchnumpy())


def _column(connection: Connection, sql: str) -> list[Any]:
    return [row[0] for row in connection.execute(sql).fetchall()]
