"""What the queries about the counters of ncu must say of any report: golden values, worked by hand, in ns."""

from __future__ import annotations

from evidence_rows import ask, columns, counter, kernel, store_of

READ, WRITE, TIME = "dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum"


def test_counters_with_missing_values_are_marked_and_never_filled_in() -> None:
    # Case 20: five of six could not be had.
    rows = [counter(i, READ, None, "byte", reason="n/a in the report") for i in range(5)]
    (row,) = ask("counters_by_kernel", counter=[*rows, counter(5, READ, 1024, "byte")])
    assert columns([row], "workloads valid incomplete min median max unit reason") == [
        (6, 1, True, 1024, 1024, 1024, "byte", "n/a in the report")
    ]


def test_counters_of_different_shapes_are_no_population() -> None:
    # Case 84: 3328 bytes for one block, 67112192 for 65536.
    found = ask(
        "counters_by_kernel",
        counter=[
            counter(2, READ, 3328, "byte", grid="1,1,1"),
            counter(3, READ, 67_112_192, "byte", grid="65536,1,1"),
            counter(3, "launch__func_cache_config", None, None, grid="65536,1,1", text="CachePreferNone"),
        ],
    )
    assert columns(found, "grid metric workloads valid incomplete median text shapes reason") == [
        ("1,1,1", READ, 1, 1, False, 3328, None, 2, None),
        ("65536,1,1", READ, 1, 1, False, 67_112_192, None, 2, None),
        ("65536,1,1", "launch__func_cache_config", 1, 1, False, None, "CachePreferNone", 2, None),
    ]


def test_counters_in_different_units_have_no_median_and_absent_ones_are_counted() -> None:
    mixed, partial = ask(
        "counters_by_kernel",
        counter=[
            counter(0, "m", 1, "byte"),
            counter(1, "m", 2, "%"),
            counter(0, "n", 4),
            counter(0, "n", 5, instance="0x10"),
        ],
    )
    assert columns([mixed], "unit valid median reason") == [
        (None, 2, None, "the workloads give it in different units")
    ]
    assert columns([partial], "workloads valid incomplete median reason") == [
        (2, 1, True, 4, "not in the report for 1 of 2 workloads")
    ]


def test_dram_bytes_by_exact_metric_and_unit_only() -> None:
    # Case 79: an average, a percentage and a rate are no bytes.
    (row,) = ask(
        "dram_by_kernel",
        counter=[
            counter(0, READ, 67_112_192, "byte"),
            counter(0, "dram__bytes_read.avg", 1_398_170.67, "byte"),
            counter(0, "dram__bytes.sum.pct_of_peak_sustained_elapsed", 47, "%"),
            counter(0, READ, 999_999_999_999, "byte", instance="7"),
            counter(0, WRITE, 0, "byte"),
            counter(0, TIME, 2000, "ns"),
            counter(1, READ, 67_112_194, "byte"),
            counter(1, WRITE, 4, "byte"),
            counter(1, TIME, 2000, "ns"),
        ],
    )
    # The medians lie halfway; (67112192 + 67112194) bytes in 4000 ns. Zero bytes written is a measurement.
    assert columns([row], "workloads with_read with_write read_p50_bytes read_max_bytes write_p50_bytes") == [
        (2, 2, 2, 67_112_193.0, 67_112_194, 2.0)
    ]
    assert (row["total_p50_bytes"], row["read_per_second"]) == (67_112_195.0, 33_556_096_500_000)
    assert (row["cache_control"], row["reason"]) == ("unknown", None)


def test_dram_bytes_that_lack_a_part_have_no_total() -> None:
    # Case 77: the read part is still shown.
    (row,) = ask("dram_by_kernel", counter=[counter(0, READ, 5, "byte"), counter(1, READ, 5, "sector")])
    assert columns([row], "with_read read_p50_bytes write_p50_bytes total_p50_bytes read_per_second") == [
        (1, 5.0, None, None, None)
    ]
    assert row["reason"] == (
        "dram__bytes_read.sum in bytes is missing for 1 of 2 workloads; dram__bytes_write.sum was not collected"
    )


def test_whole_graphs_of_different_ranges_are_not_one_population() -> None:
    whole = {"workload": "graph", "name": "graph"}
    found = ask(
        "dram_by_kernel",
        counter=[
            counter(0, READ, 10, "byte", range_name="staged", **whole),
            counter(1, READ, 30, "byte", range_name="fused", **whole),
            counter(2, READ, 10, "byte", range_name="staged"),
            counter(3, READ, 30, "byte", range_name="fused"),
        ],
    )
    # The two single kernels are one kernel of one shape, in whatever range it ran.
    assert columns(found, "workload range_name workloads read_max_bytes") == [
        ("graph", "fused", 1, 30),
        ("graph", "staged", 1, 10),
        ("kernel", None, 2, 30),
    ]


def test_roofline_inputs_need_every_metric_of_a_count() -> None:
    op = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
    singles = [
        counter(0, op.format(f"f{what}"), value, "inst")
        for what, value in (("add", 10), ("mul", 20), ("fma", 35))
    ]
    (row,) = ask(
        "roofline_inputs",
        counter=[
            *singles,
            counter(0, op.format("dadd"), 1, "inst"),  # dmul and dfma are missing
            counter(0, READ, 30, "byte"),
            counter(0, WRITE, 20, "byte"),
            counter(0, TIME, 25, "ns"),
        ],
    )
    # 10 + 20 + 2 * 35 = 100 operations over 50 bytes in 25 ns.
    assert columns([row], "fp16_flop fp32_flop fp64_flop dram_bytes duration_ns fp32_flop_per_byte") == [
        (None, 100, None, 50, 25, 2.0)
    ]
    assert (row["fp32_flop_per_second"], row["bytes_per_second"]) == (4_000_000_000, 2_000_000_000)
    assert row["reason"] == (
        "fp16: an op_{hadd,hmul,hfma} metric is missing; fp64: an op_{dadd,dmul,dfma} metric is missing"
    )


def test_a_fused_pair_counts_as_two_operations_in_every_precision() -> None:
    # Powers of two tell the parts apart: half 1 + 2 + 2 * 4, single 8 + 16 + 2 * 32, double 64 + 128 + 2 * 256.
    (row,) = ask(
        "roofline_inputs",
        counter=[
            *(
                counter(0, f"smsp__sass_thread_inst_executed_op_{letter}{what}_pred_on.sum", 2**power, "inst")
                for letter, first in (("h", 0), ("f", 3), ("d", 6))
                for power, what in enumerate(("add", "mul", "fma"), start=first)
            ),
            counter(0, READ, 1, "byte"),
            counter(0, WRITE, 1, "byte"),
            counter(0, TIME, 10, "ns"),
        ],
    )
    assert columns([row], "fp16_flop fp32_flop fp64_flop reason") == [(11, 88, 704, None)]
    assert columns([row], "fp16_flop_per_byte fp32_flop_per_byte fp64_flop_per_byte") == [(5.5, 44.0, 352.0)]
    assert columns([row], "fp16_flop_per_second fp64_flop_per_second") == [(1_100_000_000, 70_400_000_000)]


def test_a_kernel_that_moves_no_bytes_has_no_intensity() -> None:
    op = "smsp__sass_thread_inst_executed_op_f{}_pred_on.sum"
    (row,) = ask(
        "roofline_inputs",
        counter=[
            *(counter(0, op.format(what), 1, "inst") for what in ("add", "mul", "fma")),
            counter(0, READ, 0, "byte"),
            counter(0, WRITE, 0, "byte"),
            counter(0, TIME, 0, "ns"),
        ],
    )
    assert columns([row], "fp32_flop dram_bytes fp32_flop_per_byte fp32_flop_per_second") == [
        (4, 0, None, None)
    ]
    assert row["reason"].endswith("nothing was moved to or from DRAM, so there is no ratio")


def test_kernel_resources_by_both_tools() -> None:
    shape = {"grid_x": 4, "grid_y": 2, "grid_z": 1, "block_x": 32, "block_y": 4, "block_z": 1}
    taken = {"registers_per_thread": 40, "static_shared_bytes": 1024, "dynamic_shared_bytes": 0}
    found = ask(
        "kernel_resources",
        kernel=[kernel("a", 0, 5, **shape, **taken, local_bytes_per_thread=8), kernel("b", 0, 5)],
        counter=[
            counter(0, "launch__registers_per_thread", 16, "register/thread"),
            counter(0, "launch__grid_size", 8),
            counter(0, "launch__block_size", 64),
        ],
    )
    wanted = "tool kernel grid block blocks threads_per_block registers_per_thread static_shared_bytes "
    wanted += "local_bytes kernels"
    assert columns(found, wanted) == [
        ("ncu", "k", "8,1,1", "64,1,1", 8, 64, 16, None, None, 1),
        ("nsys", "a", "4,2,1", "32,4,1", 8, 128, 40, 1024, 8, 1),
        ("nsys", "b", None, None, None, None, None, None, None, 1),
    ]


def test_a_shape_tells_blocks_and_threads_where_no_metric_does() -> None:
    (row,) = ask("kernel_resources", counter=[counter(0, READ, 4096, "byte")])
    assert columns([row], "grid block blocks threads_per_block") == [("8,1,1", "64,1,1", 8, 64)]
    (row,) = ask("kernel_resources", counter=[{**counter(0, READ, 4096, "byte"), "grid": None, "block": "all"}])
    assert columns([row], "grid block blocks threads_per_block") == [(None, "all", None, None)]


def test_a_shape_beyond_all_numbers_leaves_other_kernels_their_resources() -> None:
    odd = {"grid_x": 2**62, "grid_y": 4, "grid_z": 1, "block_x": 32, "block_y": 1, "block_z": 1}
    found = ask(
        "kernel_resources", kernel=[kernel("odd", 0, 5, **odd), kernel("a", 0, 5, **{**odd, "grid_x": 2})]
    )
    assert columns(found, "kernel blocks threads_per_block") == [("a", 8, 32), ("odd", None, 32)]


def limits(**values: float) -> list[dict[str, object]]:
    return [counter(0, f"launch__occupancy_limit_{what}", value, "block") for what, value in values.items()]


def test_occupancy_is_bound_by_its_smallest_limit() -> None:
    (row,) = ask(
        "occupancy_limits",
        counter=[
            *limits(registers=16, shared_mem=8, warps=8, blocks=32, barriers=32),
            counter(0, "sm__maximum_warps_per_active_cycle_pct", 100, "%"),
            counter(0, "sm__warps_active.avg.pct_of_peak_sustained_active", 93.82, "%"),
            counter(0, "launch__waves_per_multiprocessor", 3.88),
        ],
    )
    assert columns(
        [row], "limit_registers resident_blocks_limit bound_by theoretical_pct achieved_pct waves reason"
    ) == [(16, 8, "shared memory+warps", 100, 93.82, 3.88, None)]


def test_barriers_bound_occupancy_where_they_were_collected() -> None:
    others = {"registers": 16, "shared_mem": 8, "warps": 8, "blocks": 32}
    for barriers, smallest, bound in ((4, 4, "barriers"), (8, 8, "shared memory+warps+barriers")):
        (row,) = ask("occupancy_limits", counter=limits(**others, barriers=barriers))
        assert columns([row], "resident_blocks_limit bound_by reason") == [(smallest, bound, None)]
    (row,) = ask("occupancy_limits", counter=limits(**others))
    assert columns([row], "limit_barriers resident_blocks_limit bound_by") == [(None, 8, "shared memory+warps")]


def test_a_missing_limit_leaves_the_smallest_unknown() -> None:
    (row,) = ask("occupancy_limits", counter=limits(registers=16, warps=8, blocks=32))
    assert columns([row], "limit_warps limit_shared_memory resident_blocks_limit bound_by") == [
        (8, None, None, None)
    ]
    assert row["reason"].startswith("launch__occupancy_limit_")


def test_ncu_workloads_tell_their_conditions() -> None:
    found = ask(
        "ncu_workloads",
        **{"pass": [{"pass": "r", "cache_control": "none"}]},
        counter=[
            counter(0, TIME, 33_056, "ns", range_name="step", process=0),
            counter(0, "profiler__replayer_passes", 3, "pass", range_name="step", process=0),
            counter(1, TIME, None, "ns", reason="n/a"),
        ],
    )
    assert columns(
        found, "workload_id range duration_ns replay_passes cache_control clock_control metrics without_value"
    ) == [
        (0, "step", 33_056, 3, "none", "unknown", 2, 0),
        (1, None, None, None, "none", "unknown", 1, 1),
    ]


def test_advice_and_measurements_are_told_as_they_are() -> None:
    said = {"pass": "r", "workload_id": 0, "section": "Occupancy", "rule": "Achieved", "kind": "OPT"}
    told = ask(
        "advice",
        counter=[counter(0, "m", 1)],
        advice=[
            {**said, "text": "less", "estimated_speedup": 5.0},
            {**said, "text": "more", "estimated_speedup": 40.0},
        ],
    )
    assert columns(told, "kernel text estimated_speedup") == [("k", "more", 40.0), ("k", "less", 5.0)]
    averaged = {"pass": "r", "row": 0, "annotation": "softmax", "metric": TIME, "unit": "ns", "runs": 10}
    numbers = ask(
        "measurements",
        measurement=[
            {**averaged, "statistic": "mean", "value": 12.5},
            {**averaged, "statistic": "maximum", "reason": "empty"},
        ],
    )
    assert columns(numbers, "annotation statistic value runs reason") == [
        ("softmax", "maximum", None, 10, "empty"),
        ("softmax", "mean", 12.5, 10, None),
    ]


def test_an_instance_of_a_metric_is_never_taken_for_the_metric() -> None:
    with store_of(
        {"counter": [counter(0, READ, 5, "byte"), counter(0, READ, 99, "byte", instance="3")]}
    ) as store:
        assert store.rows("SELECT dram_read_bytes FROM workload") == [{"dram_read_bytes": 5}]
