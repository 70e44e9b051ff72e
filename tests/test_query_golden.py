"""What each named query says about the synthetic run, worked out by hand from the constants that make it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from synthetic_run import CUDNN_KERNEL, UUID

from nsight_suite.evidence.store import Store, open_store
from nsight_suite.querying import run_named
from nsight_suite.runfolder import RunFolder

ARRAY = 4096 * 4096 * 4  # 67,108,864 bytes: one array of the large shape
STAGED, FUSED = "row:staged:stream:4096x4096", "row:fused:graph:4096x4096"


@pytest.fixture(scope="module")
def store(synthetic_run: RunFolder) -> Iterator[Store]:
    opened = open_store(synthetic_run)
    yield opened
    opened.connection.close()


def rows(store: Store, query: str, /, **wanted: object) -> list[dict[str, Any]]:
    """The rows of a query whose columns have the wanted values."""
    records = run_named(store, query, "row").records()
    return [row for row in records if all(row[column] == value for column, value in wanted.items())]


def only(store: Store, query: str, /, **wanted: object) -> dict[str, Any]:
    (row,) = rows(store, query, **wanted)
    return row


def part(row: dict[str, Any], *columns: str) -> tuple[Any, ...]:
    return tuple(row[column] for column in columns)


def test_kernel_counts_have_four_one_and_one_by_every_witness(store: Store) -> None:
    counts = rows(store, "kernel_counts")
    assert len(counts) == 18
    for row in counts:
        kernels = 4 if row["variant"] == "staged" else 1
        assert part(row, "expected_kernels", "kernels_per_invocation") == (kernels, kernels)
        assert part(row, "nsys_invocations", "nsys_min", "nsys_max") == (5, kernels, kernels)
        assert part(row, "ncu_invocations", "ncu_min", "ncu_max") == (2, kernels, kernels)


def test_graph_nodes_agree(store: Store) -> None:
    nodes = rows(store, "graph_nodes", shape="4096x4096")
    assert [
        part(row, "variant", "expected_nodes", "api_nodes", "nsys_nodes_per_replay", "nodes") for row in nodes
    ] == [
        ("staged", 4, 4, 4, 4),
        ("fused", 1, 1, 1, 1),
        ("cudnn", 1, 1, 1, 1),
    ]
    assert all(part(row, "other_nodes", "other_kinds") == (0, None) for row in nodes)


def test_dram_bytes_by_policy(store: Store) -> None:
    # Four arrays and two columns of row values are read, and 4 kB more by each of four kernels.
    flushed = only(store, "dram_bytes", case_id=STAGED, **{"pass": "ncu"})
    assert part(flushed, "scope", "cache_control", "invocations", "workloads") == ("kernel-sum", "all", 2, 8)
    assert flushed["logical_read_bytes"] == 4 * ARRAY + 2 * 4096 * 4
    assert flushed["dram_read_bytes"] == 4 * ARRAY + 2 * 4096 * 4 + 4 * 4096
    # Of the two arrays written, two thirds leave the cache in time; m and z stay in it.
    assert flushed["dram_write_bytes"] == 2 * (ARRAY // 3 * 2)
    assert flushed["caveat"].startswith("write-back")
    # As a whole graph one kernel reads once and writes once.
    warm = only(store, "dram_bytes", case_id=FUSED, **{"pass": "ncu-warm"})
    assert part(warm, "scope", "cache_control", "workloads") == ("whole-graph", "none", 3)
    assert part(warm, "dram_read_bytes", "dram_write_bytes") == (ARRAY + 4096, ARRAY)
    assert part(warm, "read_ratio", "write_ratio") == (1.0001, 1.0)


def test_host_completion_has_the_median_and_quantiles_of_21_rounds(store: Store) -> None:
    # 1.0 entry + 2.0 call + 1.5 queue + 70 kernel + 3.0 return + 1.0 exit - 0.8 outside = 77.7 µs; rounds add
    # 0, 10 … 200 ns: the median is the eleventh, p10 the third and p90 the nineteenth.
    row = only(store, "host_completion", case_id=FUSED)
    assert part(row, "samples", "min_ns", "p10_ns", "median_ns", "p90_ns", "max_ns") == (
        21,
        77_700,
        77_720,
        77_800,
        77_880,
        77_900,
    )
    assert not rows(store, "host_completion", shape="7x781")


def test_paired_speedup_is_per_round(store: Store) -> None:
    row = only(store, "paired_speedup", baseline=STAGED, case_id="row:staged:graph:4096x4096")
    # Stream: three gaps of 1.0 µs where the graph has 0.1 µs: 2.7 µs more in every round.
    assert part(row, "differs", "rounds", "difference_ns") == ("submission", 21, -2_700)
    assert row["speedup"] == pytest.approx(161_800 / 159_100, abs=1e-4)
    assert not rows(store, "paired_speedup", baseline=STAGED, case_id=FUSED)  # they differ in two things


def test_batch_is_per_invocation(store: Store) -> None:
    # The device is the bottleneck: 70 µs each, and the host adds 0.1 µs.
    row = only(store, "batch", case_id=FUSED)
    assert part(row, "invocations", "batches") == (32, 21)
    assert part(row, "enqueue_ns", "completion_ns", "event_interval_ns") == (2_500, 70_100, 70_000)


def test_graph_setup_and_first_replay_stand_apart(store: Store) -> None:
    steps = rows(store, "graph_setup", case_id=FUSED)
    assert [part(row, "step", "repeats", "median_ns", "min_ns", "max_ns") for row in steps] == [
        ("capture", 5, 60_200, 60_000, 60_400),
        ("instantiate", 5, 40_200, 40_000, 40_400),
        ("upload", 5, 9_200, 9_000, 9_400),
    ]
    replay = only(store, "first_replay", case_id=FUSED)
    assert part(replay, "samples", "first_replay_ns", "steady_ns", "ratio") == (5, 97_800, 77_800, 1.257)


def test_baselines_of_the_device(store: Store) -> None:
    assert part(only(store, "empty_baseline", case_id=FUSED), "samples", "median_ns") == (21, 720)
    copy = only(store, "copy_bandwidth")
    assert part(copy, "device_uuid", "bytes", "samples", "median_ns") == (UUID, 2**31, 21, 502_000)
    assert copy["bytes_per_second"] == round(2**31 / 502e-6)
    assert copy["fastest_bytes_per_second"] == round(2**31 / 500e-6)


def test_launch_split_adds_up(store: Store) -> None:
    # Four calls of 4 µs, half a µs apart. The first kernel starts 1.5 µs after the first call has returned: in
    # between the host spends 0.5 µs between calls and 1.0 µs in the second call.
    row = only(store, "launch_split", case_id=STAGED)
    parts = ("entry_ns", "api_ns", "queue_ns", "kernel_union_ns", "memory_ns", "gap_ns", "return_ns", "exit_ns")
    assert part(row, *parts) == (1_000, 5_000, 500, 152_000, 0, 3_000, 3_000, 1_000)
    assert part(row, "range_ns", "remainder_ns", "api_total_ns", "launches") == (165_500, 2_000, 16_000, 4)
    for invocation in rows(store, "launch_split_invocations"):
        assert sum(part(invocation, *parts)) == invocation["range_ns"]


def test_profiler_overhead_is_profiled_against_unprofiled(store: Store) -> None:
    # A call takes 4 µs instead of 2; the median round adds 0.1 µs to the unprofiled one.
    row = only(store, "profiler_overhead", case_id=FUSED)
    assert part(row, "unprofiled_samples", "profiled_samples") == (21, 5)
    assert part(row, "unprofiled_ns", "profiled_ns", "extra_ns", "factor") == (77_800, 79_700, 1_900, 1.024)


def test_resources_side_by_side(store: Store) -> None:
    row = only(store, "resources", shape="4096x4096", kernel="row_softmax")
    assert part(row, "build_registers", "nsys_registers", "ncu_registers") == (40, 40, 40)
    assert part(row, "static_shared_bytes", "local_bytes", "threads_per_block") == (1_024, 0, 256)
    assert part(row, "limit_registers", "limit_shared_memory", "limit_warps", "limit_blocks") == (16, 16, 8, 32)
    assert part(row, "resident_blocks_limit", "bound_by") == (8, "warps")
    assert only(store, "resources", shape="4096x4096", kernel=CUDNN_KERNEL)["build_registers"] is None


def test_unattributed_names_what_ran_outside(store: Store) -> None:
    found = [part(row, "place", "kind", "name", "records", "total_ns") for row in rows(store, "unattributed")]
    assert found == [
        ("outside", "kernel", "cupy_fill", 1, 2_000),
        ("outside", "launch", "cuLaunchKernel", 1, 4_000),
        ("outside", "memcpy", "memcpy", 1, 1_000),
        ("setup", "kernel", "row_max", 1, 2_000),
        ("setup", "kernel", "row_softmax", 1, 2_000),
        # Three calls were made; the one that was captured did not run.
        ("setup", "launch", "cuLaunchKernel", 2, 8_000),
    ]
    # 5 invocations of 3 shapes × 2 submissions × 6 kernels, and three others.
    assert only(store, "unattributed", name="cupy_fill")["share"] == round(1 / 183, 4)


def test_kernel_time_keeps_tools_apart(store: Store) -> None:
    row = only(store, "kernel_time", case_id=STAGED, ordinal=1)
    assert part(row, "kernel", "nsys_ns", "ncu_flushed_ns", "ncu_warm_ns") == (
        "row_exp",
        43_000,
        43_500,
        43_500,
    )
    whole = only(store, "kernel_time", case_id=FUSED, ordinal=0)
    assert whole["ncu_warm_ns"] is None  # a replay measured as a whole has no kernels


def test_validation_and_completeness(store: Store) -> None:
    row = only(store, "validation", case_id=FUSED, check="error", **{"pass": "validate"})
    assert part(row, "fixtures", "held_out", "failed", "worst", "limit") == (4, 1, 0, 0.25, 1.0)
    row = only(store, "completeness", case_id=STAGED, **{"pass": "nsys"})
    assert part(row, "driven_invocations", "seen_invocations") == (5, 5)
    assert part(row, "expected_records", "seen_records", "launches") == (20, 20, 20)
    assert part(row, "launches_without_device", "kernels_without_launch", "same_output") == (0, 0, True)
    row = only(store, "completeness", case_id="row:staged:graph:4096x4096", **{"pass": "ncu-warm"})
    assert part(row, "expected_records", "seen_records", "launches") == (3, 3, None)


def test_order_and_timeline(store: Store) -> None:
    orders = rows(store, "kernel_order", case_id=STAGED)
    stages = ["row_max", "row_exp", "row_sum", "row_divide"]
    assert [part(row, "pass", "observed", "invocations", "overlaps") for row in orders] == [
        ("ncu", stages, 2, None),
        ("ncu-warm", stages, 3, None),
        ("nsys", stages, 5, 0),
    ]
    assert only(store, "kernel_order", case_id="row:cudnn:graph:7x781", **{"pass": "nsys"})["declared"] is None
    first, second = rows(store, "timeline", case_id=STAGED, invocation=0)[:2]
    assert part(first, "kernel", "start_ns", "duration_ns", "gap_ns") == ("row_max", 6_500, 33_000, None)
    assert part(second, "kernel", "start_ns", "duration_ns", "gap_ns") == ("row_exp", 40_500, 43_000, 1_000)


def test_limits_are_against_the_measured_copy(store: Store) -> None:
    row = only(store, "limits", case_id=FUSED)
    assert part(row, "logical_bytes", "copy_bytes_per_second") == (2 * ARRAY, round(2**31 / 502e-6))
    assert row["floor_ns"] == round(2 * ARRAY / (2**31 / 502_000))  # 31,375 ns
    assert part(row, "completion_ns", "busy_ns", "launches") == (77_800, 70_000, 1)
    assert part(row, "floor_over_busy", "busy_over_completion") == (
        round(31_375 / 70_000, 4),
        round(70 / 77.8, 4),
    )


def test_counts_of_invocations_and_launches(store: Store) -> None:
    row = only(store, "invocations", case_id="row:staged:graph:4096x4096", invocation=4)
    assert part(row, "duration_ns", "launches", "kernels", "memory_operations") == (162_800, 1, 4, 0)
    calls = rows(store, "launches", case_id=STAGED, invocation=0)
    assert [part(call, "name", "kind", "duration_ns", "kernels") for call in calls] == [
        ("cuLaunchKernel", "kernel", 4_000, 1)
    ] * 4


def test_what_was_asked_and_used(store: Store) -> None:
    assert part(only(store, "passes", **{"pass": "ncu"}), "state", "cases", "cache_control") == (
        "ok",
        18,
        "all",
    )
    assert only(store, "passes", **{"pass": "timing"})["cases"] == 12
    before = only(store, "device", moment="before", **{"pass": "timing"})
    assert part(before, "uuid", "name", "sm_clock_mhz", "power_mw") == (UUID, "NVIDIA H200", 1_980, 120_000)
    assert only(store, "tools", name="ncu")["passes"] == "ncu, ncu-warm"
    assert part(only(store, "sources", file="nsys.sqlite"), "format", "graph_trace") == ("nsys-sqlite", "node")
    assert only(store, "sanitizer", tool="memcheck")["errors"] == 0
    assert only(store, "artifacts", path="reports/ncu.csv")["role"] == "report"


def test_nothing_is_in_doubt(store: Store) -> None:
    for name in ("findings", "unknown_ranges", "altered_counters", "task_coverage", "task_violations"):
        assert rows(store, name) == []


def test_raw_rows_are_all_there(store: Store) -> None:
    assert len(rows(store, "samples", quantity="completion", **{"pass": "timing"})) == 12 * 21
    counters = rows(store, "counters", case_id=FUSED, metric="gpu__time_duration.sum", **{"pass": "ncu"})
    assert [part(row, "invocation", "kernel", "value", "unit") for row in counters] == [
        (0, "row_softmax", 70_500.0, "ns"),
        (1, "row_softmax", 70_500.0, "ns"),
    ]


def test_builds_are_the_same_in_every_pass(store: Store) -> None:
    built = rows(store, "builds")
    assert [row["kernel"] for row in built] == ["row_softmax", "row_divide", "row_exp", "row_max", "row_sum"]
    assert {part(row, "passes", "sources", "cubins", "odd_passes") for row in built} == {(6, 1, 1, None)}


def test_evidence_rows_count_what_is_there(store: Store) -> None:
    def seen(pass_name: str, item: str) -> int:
        return int(only(store, "evidence_rows", case_id=FUSED, item=item, **{"pass": pass_name})["seen"])

    assert (seen("timing", "completion"), seen("nsys", "completion")) == (21, 5)
    # finite, nonnegative, error, row_sum, same_as_stream
    assert (seen("validate", "shifted"), seen("nsys", "waits"), seen("timing", "upload")) == (5, 5, 5)
