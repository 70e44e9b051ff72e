"""What holds for every named query: its header tells its columns, and its rows have one order."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crowded_evidence import crowded
from evidence_rows import store_of

from nsight_suite.evidence.build import collect
from nsight_suite.evidence.readers import ncu_csv, nsys
from nsight_suite.evidence.store import Store, create_shared_views, empty_store
from nsight_suite.querying import find_queries, find_query, formats, run_named
from nsight_suite.runfolder import RunFolder

DATA = Path(__file__).parent / "data"
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum")
QUERIES = [query.name for query in find_queries()]
# Asked of a report that somebody was handed, without any declared case.
LIBRARY = (
    *("advice", "api_summary", "capture_window", "compare_reports", "concurrency", "copy_overlap"),
    *("counters_by_kernel", "device_gaps", "dram_by_kernel", "first_and_steady", "gpus"),
    *("graph_coverage", "graph_launches", "graph_node_times", "graph_origins", "kernel_by_path"),
    *("kernel_by_range", "kernel_resources", "kernel_summary", "launch_counts", "launch_latency"),
    *("longest_gaps", "marks", "measurements", "memcpy_summary", "memset_summary", "ncu_workloads"),
    *("occupancy_limits", "processes", "profiler_cost", "queue_time", "range_projection"),
    *("range_summary", "range_tree", "report_completeness", "roofline_inputs", "step_comparison"),
    *("stream_utilisation", "synchronisation", "top_ranges", "unattributed_kernels"),
)


@pytest.fixture(scope="module", params=range(3))
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Store]]:
    """The same crowded evidence twice, its rows in two orders."""
    tables = crowded(request.param)
    chance = random.Random(0)
    shuffled = {name: chance.sample(rows, len(rows)) for name, rows in tables.items()}
    with store_of(tables) as first, store_of(shuffled) as second:
        yield first, second


def test_the_library_is_there() -> None:
    assert set(LIBRARY) <= set(QUERIES)
    assert len(LIBRARY) >= 30


@pytest.mark.parametrize("name", QUERIES)
def test_the_order_of_the_evidence_changes_nothing(pair: tuple[Store, Store], name: str) -> None:
    first, second = (formats.as_text(run_named(store, name), "csv") for store in pair)
    assert first == second


@pytest.mark.parametrize("name", LIBRARY)
def test_the_header_tells_every_column_of_a_full_store(pair: tuple[Store, Store], name: str) -> None:
    answer, query = run_named(pair[0], name), find_query(name)
    assert answer.rows
    assert tuple(query.columns) == answer.columns
    assert query.about.startswith("One row per ")
    # Times, sizes and shares carry their unit in the name or in its meaning.
    for column, meaning in query.columns.items():
        assert not column.endswith("_ns") or "ns" in meaning or "NULL" in meaning, column


def joins(store: Store, sql: str) -> set[str]:
    """The ways in which DuckDB would join for this query, other than by what is equal."""

    def names(step: dict[str, Any]) -> Iterator[str]:
        yield step["name"]
        for below in step["children"]:
            yield from names(below)

    ((_, plan),) = store.connection.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
    found = {name.strip() for step in json.loads(plan) for name in names(step)}
    harmless = {"HASH_JOIN", "LEFT_DELIM_JOIN", "RIGHT_DELIM_JOIN"}
    return {name for name in found - harmless if "JOIN" in name or "PRODUCT" in name}


@pytest.mark.parametrize("name", LIBRARY)
def test_no_join_tries_every_pair(pair: tuple[Store, Store], name: str) -> None:
    # One report is held against all others: as many pairs as there are reports.
    assert joins(pair[0], find_query(name).sql) == (
        {"NESTED_LOOP_JOIN"} if name == "compare_reports" else set()
    )


def test_a_join_of_every_pair_is_noticed(pair: tuple[Store, Store]) -> None:
    inside = "SELECT * FROM kernel AS k JOIN launch AS l ON k.start_ns >= l.start_ns AND k.start_ns < l.end_ns"
    assert joins(pair[0], inside)
    assert joins(pair[0], "SELECT * FROM kernel, launch")
    assert not joins(pair[0], "SELECT * FROM kernel JOIN launch USING (launch_id)")


@pytest.fixture(scope="module")
def nothing() -> Iterator[Store]:
    with store_of({}) as store:
        yield store


@pytest.mark.parametrize("name", LIBRARY)
def test_nothing_comes_of_nothing(nothing: Store, name: str) -> None:
    assert run_named(nothing, name).rows == ()


@pytest.fixture(scope="module")
def recorded() -> Iterator[Store]:
    """Real reports side by side: nsys by node and as a whole, two GPUs, and ncu in two layouts."""
    with empty_store() as connection:
        for name in ("nsys_node", "nsys_graph", "nsys_two_gpus"):
            nsys.read(connection, DATA / f"{name}.sqlite", name)
        for name in ("ncu_kernel_raw", "ncu_kernel_details"):
            ncu_csv.read(connection, DATA / f"{name}.csv", name, requested=METRICS)
        create_shared_views(connection)
        yield Store(connection, {})


@pytest.mark.parametrize("name", LIBRARY)
def test_real_reports_can_be_asked(recorded: Store, name: str) -> None:
    for row in run_named(recorded, name).records():
        assert "share" not in row or row["share"] is None or 0 <= row["share"] <= 1


@pytest.fixture(scope="module")
def rebuilt(recorded_run: RunFolder) -> Iterator[Store]:
    """The evidence of the run that was recorded on an H200, from its reports."""
    with collect(recorded_run) as connection:
        create_shared_views(connection)
        yield Store(connection, {})


@pytest.mark.parametrize("name", LIBRARY)
def test_the_recorded_run_can_be_asked(rebuilt: Store, name: str) -> None:
    assert tuple(find_query(name).columns) == run_named(rebuilt, name).columns


def test_the_recorded_run_has_each_kernel_in_one_place(rebuilt: Store) -> None:
    ((kernels,),) = rebuilt.connection.execute("SELECT count(*) FROM kernel").fetchall()
    for query in ("kernel_summary", "kernel_by_path", "kernel_resources"):
        rows = [row for row in run_named(rebuilt, query).records() if row["pass"] == "nsys"]
        assert sum(row["kernels"] for row in rows) == kernels, query
    # Every replay was traced node by node.
    (coverage,) = run_named(rebuilt, "graph_coverage").records()
    assert (coverage["coverage"], coverage["by_node"]) == (1.0, coverage["graph_launches"])


def test_real_reports_keep_every_kernel(recorded: Store) -> None:
    # tests/data/README.md: 63 kernels by node, 32 with graphs as a whole, and 24 in each of two processes.
    expected = {"nsys_node": 63, "nsys_graph": 32, "nsys_two_gpus": 48}
    for query in ("kernel_summary", "kernel_by_path", "first_and_steady"):
        counts = dict.fromkeys(expected, 0)
        for row in run_named(recorded, query).records():
            if row.get("what") != "call":
                counts[row["pass"]] += row["kernels"] if "kernels" in row else row["count"]
        assert counts == expected, query


def test_real_kernels_are_summed_as_nsys_stats_does(recorded: Store) -> None:
    # `nsys stats -r cuda_gpu_kern_sum` 2023.4.4 of nsys_two_gpus, Total and Instances, over both devices.
    told = {"scale": (387_228, 30), "add": (193_983, 14), "cupy_fill": (83_167, 4)}
    found = [row for row in run_named(recorded, "kernel_summary").records() if row["pass"] == "nsys_two_gpus"]
    for name, numbers in told.items():
        rows = [row for row in found if row["kernel"] == name]
        assert (sum(row["total_ns"] for row in rows), sum(row["kernels"] for row in rows)) == numbers
        assert [row["device"] for row in rows] in ([0, 1], [1, 0])
    # `nsys stats -r cuda_kern_exec_sum` knows them apart by process: KAvg and KMed of cupy_fill.
    assert {(row["device"], row["mean_ns"], row["p50_ns"], row["stddev_ns"]) for row in found[-2:]} == {
        (0, 20_816.0, 20_816.0, 113.1),
        (1, 20_767.5, 20_767.5, 91.2),
    }


def test_real_ranges_of_two_processes(recorded: Store) -> None:
    # tests/data/README.md and the program: 8 in `scale`, 4 in `add`, 9 in `replay`, one by another thread.
    found = [row for row in run_named(recorded, "kernel_by_range").records() if row["pass"] == "nsys_two_gpus"]
    for domain in ("rank0", "rank1"):
        counts: dict[str, int] = {}
        for row in found:
            if row["domain"] == domain:
                counts[row["range"]] = counts.get(row["range"], 0) + row["kernels"]
        steps = {f"step:{number}": 3 for number in range(4)}
        assert counts == {"scale": 8, "add": 4, "replay": 9, "worker-thread-span": 1, **steps}
    assert sum(row["kernels"] for row in found if row["range"] == "<outside every range>") == 4


def test_real_replays_without_nodes_are_unknown(recorded: Store) -> None:
    found = {row["pass"]: row for row in run_named(recorded, "graph_coverage").records()}
    assert (found["nsys_graph"]["graph_launches"], found["nsys_graph"]["coverage"]) == (13, 0.0)
    assert found["nsys_node"]["coverage"] == found["nsys_two_gpus"]["coverage"] == 1.0
    assert found["nsys_two_gpus"]["graph_launches"] == 6  # three replays in each process


def test_real_counters_by_kernel(recorded: Store) -> None:
    found = [row for row in run_named(recorded, "dram_by_kernel").records() if row["pass"] == "ncu_kernel_raw"]
    # 2 invocations of 4 staged kernels and of the fused one.
    assert {row["kernel"]: row["workloads"] for row in found} == {
        **dict.fromkeys(("row_max", "row_exp", "row_sum", "row_div"), 2),
        "row_fused": 2,
    }
    assert all(row["reason"] is None for row in found)
