"""Random nsys exports, whole, odd and damaged: nothing is lost, counted twice or made up; nothing crashes."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from random_exports import RandomExport, exports, odd_exports

from nsight_suite.errors import BadReport, SuiteError
from nsight_suite.evidence.direct import open_report
from nsight_suite.evidence.ingested import LooseReport
from nsight_suite.evidence.readers import nsys
from nsight_suite.evidence.store import Connection, Store, create_shared_views, empty_store
from nsight_suite.evidence.tables import tables
from nsight_suite.querying import find_queries, find_query, run_named

DATA = Path(__file__).parent / "data"
FUZZ = settings(deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
QUERIES = [query.name for query in find_queries()]


@contextmanager
def read(write: Callable[[Path], object]) -> Iterator[tuple[Path, Connection | None]]:
    """An export that `write` writes, and a store with it; None where it was refused."""
    with tempfile.TemporaryDirectory() as folder, empty_store() as connection:
        path = Path(folder) / "r.sqlite"
        write(path)
        try:
            nsys.read(connection, path, "r")
        except BadReport as error:
            assert "r.sqlite" in str(error)  # noqa: PT017 - a refusal is as fine as rows, a traceback is not
            left = [name for name in tables() if connection.execute(f'FROM "{name}"').fetchall()]
            assert not left, "a refused report leaves nothing behind"
            yield path, None
            return
        create_shared_views(connection)
        yield path, connection


def one(connection: Connection | sqlite3.Connection, sql: str) -> Any:
    row = connection.execute(sql).fetchone()
    assert row is not None
    return row[0]


def rows_in(path: Path, table: str) -> int | None:
    """How many rows SQLite counts in a table, or in its highest version; None without one."""
    with closing(sqlite3.connect(path)) as database:
        for name in (table, f"{table}_V3"):
            try:
                return int(one(database, f"SELECT count(*) FROM {name}"))
            except sqlite3.OperationalError:
                continue
    return None


def consistent(path: Path, connection: Connection) -> None:
    """What holds of any export whatever is in it."""
    kernels = one(connection, "SELECT count(*) FROM kernel")
    assert kernels == (rows_in(path, KERNELS) or 0)
    assert one(connection, "SELECT count(DISTINCT kernel_id) FROM kernel") == kernels
    assert one(connection, "SELECT rows FROM report") == rows_in(path, KERNELS)
    for table in ("launch", "range", "path"):
        assert one(connection, f'SELECT count(*) - count(DISTINCT {table}_id) FROM "{table}"') == 0
    # Each API call is told once: as a launch, a wait, or another call.
    told = " + ".join(f"(SELECT count(*) FROM {table})" for table in ("launch", "sync", "api_call"))
    assert one(connection, f"SELECT {told}") <= (rows_in(path, "CUPTI_ACTIVITY_KIND_RUNTIME") or 0)
    for table in ("kernel", "memory_operation"):
        assert one(connection, f"SELECT count(*) FROM {table} ANTI JOIN launch USING (launch_id)") == one(
            connection, f"SELECT count(*) FROM {table} WHERE launch_id IS NULL"
        )
    store = Store(connection, {})
    own = sum(row["kernels"] for row in run_named(store, "kernel_by_path").records())
    assert own == kernels, "exclusive counts add up to all kernels"
    held = one(connection, "SELECT count(*) FROM kernel WHERE range_id IS NOT NULL")
    outside = sum(row["kernels"] for row in run_named(store, "unattributed_kernels").records())
    assert held + outside == kernels, "each kernel is inside a range or in the bucket of those that are not"


@settings(FUZZ, max_examples=4)
@given(exports())
def test_whole_exports_are_counted_exactly(export: RandomExport) -> None:
    with read(export.write) as (path, connection):
        assert connection is not None
        consistent(path, connection)
        called = one(connection, "SELECT (SELECT count(*) FROM launch) + (SELECT count(*) FROM sync)")
        assert called + one(connection, "SELECT count(*) FROM api_call") == len(export.api)
        assert one(connection, 'SELECT count(*) FROM "range"') == sum(
            event.type in (59, 60, 70, 71) for event in export.nvtx or ()
        )


@settings(FUZZ, max_examples=3)
@given(odd_exports())
def test_every_query_answers_any_export(export: RandomExport) -> None:
    with read(export.write) as (path, connection):
        if connection is None:
            return
        consistent(path, connection)
        store = Store(connection, {})
        for name in QUERIES:
            run_named(store, name)


@settings(FUZZ, max_examples=8)
@given(odd_exports())
def test_odd_exports_are_refused_or_counted_exactly(export: RandomExport) -> None:
    with read(export.write) as (path, connection):
        if connection is not None:
            consistent(path, connection)


@settings(FUZZ, max_examples=3)
@given(
    odd_exports(), st.sampled_from(["kernel_summary", "range_projection", "range_summary", "kernel_by_range"])
)
def test_a_question_asked_at_once_has_the_answer_of_the_whole_reading(export: RandomExport, name: str) -> None:
    with read(export.write) as (path, connection):
        report = LooseReport("r", path, "nsys-sqlite", "r.sqlite")
        try:
            store = open_report(report, find_query(name).sql)
            at_once = run_named(store, name).records()
        except SuiteError:
            assert connection is None
            return
        if connection is not None:
            assert alike(at_once) == alike(run_named(Store(connection, {}), name).records())


def alike(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Rows but for the numbers of ranges, which count in another order where several begin at once."""
    return sorted(str({key: value for key, value in row.items() if key != "range_id"}) for row in rows)


@settings(FUZZ, max_examples=8)
@given(
    st.sampled_from(["nsys_node.sqlite", "nsys_graph.sqlite", "nsys_two_gpus.sqlite"]),
    st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=4)), min_size=1, max_size=3
    ),
)
def test_damaged_recordings_are_refused_or_counted_as_sqlite_counts(
    name: str, strays: list[tuple[float, bytes]]
) -> None:
    raw = bytearray((DATA / name).read_bytes())
    for place, stray in strays:
        at = int(place * len(raw))
        raw[at : at + len(stray)] = stray
    with read(lambda path: path.write_bytes(raw)) as (path, connection):
        if connection is None:
            return
        try:
            right = rows_in(path, KERNELS)
        except sqlite3.Error:
            right = None
        assert one(connection, "SELECT count(*) FROM kernel") == (right or 0)
