"""Whatever the tools recorded, the parts of an invocation sum to its range, and unions count no time twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsight_suite.evidence.store import Store, create_shared_views, empty_store

CASE = "row:fused:stream:1x128"
PARTS = ("entry_ns", "api_ns", "queue_ns", "kernel_union_ns", "memory_ns", "gap_ns", "return_ns", "exit_ns")
Span = tuple[int, int]


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """Tables rather than Parquet files, with the shared views over them."""
    with empty_store() as connection:
        connection.execute(f"INSERT INTO variant_case (case_id, timed) VALUES ('{CASE}', true)")
        create_shared_views(connection)
        yield Store(connection, {})


def split(
    store: Store, calls: list[Span], kernels: list[Span], copies: list[Span], waits: list[Span]
) -> dict[str, Any]:
    """One invocation from 0 to 1000 on one thread; every kernel and copy belongs to its first call."""
    connection = store.connection
    for table in ("range", "launch", "kernel", "memory_operation", "sync", "sample"):
        connection.execute(f'DELETE FROM "{table}"')
    where = "'nsys' AS pass, 0 AS process, 0 AS thread"
    connection.execute(
        f"INSERT INTO \"range\" BY NAME SELECT {where}, 1 AS range_id, 'nsight_suite' AS domain, "
        f"'{CASE}' AS name, 'push_pop' AS style, 0 AS start_ns, 1000 AS end_ns"
    )
    connection.execute(
        f"INSERT INTO sample BY NAME SELECT 'nsys' AS pass, '{CASE}' AS case_id, 'completion' AS quantity, "
        "0 AS round, 950 AS duration_ns"
    )

    def insert(table: str, columns: str, spans: list[Span]) -> None:
        for number, (start, end) in enumerate(spans, 1):
            row = f"{columns.format(n=number)}, {start} AS start_ns, {end} AS end_ns"
            connection.execute(f'INSERT INTO "{table}" BY NAME SELECT {row}')

    insert("launch", f"{where}, {{n}} AS launch_id, 'kernel' AS kind, false AS captured", calls)
    insert(
        "kernel",
        "'nsys' AS pass, 0 AS process, {n} AS kernel_id, 1 AS launch_id, 1 AS range_id, 'k' AS name",
        kernels,
    )
    insert("memory_operation", "'nsys' AS pass, 1 AS launch_id, 'memset' AS kind", copies)
    insert("sync", where, waits)
    (row,) = store.rows("SELECT * FROM split_of_invocation")
    return row


def ticks(spans: list[Span]) -> set[int]:
    return {tick for start, end in spans for tick in range(start, end)}


def test_by_hand(store: Store) -> None:
    # A call to 60, a kernel 100 to 300, a fill inside and past its end, a kernel after a gap, a wait to 900.
    row = split(store, [(40, 60), (200, 210)], [(100, 300), (500, 800)], [(250, 350)], [(220, 900)])
    assert {name: row[name] for name in PARTS} == {
        "entry_ns": 40,
        "api_ns": 20,
        "queue_ns": 40,
        "kernel_union_ns": 500,
        "memory_ns": 50,
        "gap_ns": 150,
        "return_ns": 100,
        "exit_ns": 100,
    }
    assert (row["api_total_ns"], row["launches"], row["kernels"], row["remainder_ns"]) == (30, 2, 2, 140)
    # The second call was made while the kernel ran; the stopwatch showed 950 of the range's 1000.
    assert (row["gap_in_api_ns"], row["gap_idle_ns"]) == (0, 150)
    assert (row["completion_ns"], row["completion_remainder_ns"]) == (950, 90)


def test_gaps_tell_whether_the_host_was_launching(store: Store) -> None:
    # Between the kernels the device idles from 300 to 500, and the second call lasts from 250 to 420.
    row = split(store, [(40, 60), (250, 420)], [(100, 300), (500, 800)], [], [(430, 900)])
    assert (row["gap_ns"], row["gap_in_api_ns"], row["gap_idle_ns"]) == (200, 120, 80)


def spans(most: int, *, least: int = 0, start: int = 0, end: int = 1000) -> st.SearchStrategy[list[Span]]:
    one = st.tuples(st.integers(start, end), st.integers(0, 300)).map(lambda pair: (pair[0], pair[0] + pair[1]))
    return st.lists(one, min_size=least, max_size=most)


@settings(max_examples=40, deadline=None)
@given(spans(3, least=1, end=900), spans(4, least=1), spans(2), spans(2))
def test_parts_sum_to_the_range(
    store: Store, calls: list[Span], kernels: list[Span], copies: list[Span], waits: list[Span]
) -> None:
    row = split(store, calls, kernels, copies, waits)
    assert sum(row[name] for name in PARTS) == row["range_ns"] == 1000
    assert row["kernel_union_ns"] == len(ticks(kernels))
    assert row["device_union_ns"] == len(ticks([*kernels, *copies]))
    assert row["kernel_sum_ns"] == sum(end - start for start, end in kernels)
    assert row["remainder_ns"] == row["entry_ns"] + row["exit_ns"]
    work = [*kernels, *copies]
    idle = set(range(min(work)[0], max(end for _, end in work))) - ticks(work)
    assert row["gap_in_api_ns"] == sum(len(ticks([call]) & idle) for call in calls)
    assert row["gap_in_api_ns"] + row["gap_idle_ns"] == row["gap_ns"]
    inside = sum(row[name] for name in PARTS if name not in ("entry_ns", "exit_ns"))
    assert row["completion_ns"] == 950 == inside + row["completion_remainder_ns"]
