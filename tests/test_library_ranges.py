"""What the queries about NVTX ranges must say of any report: golden values, worked by hand, in ns."""

from __future__ import annotations

from evidence_rows import ask, columns, kernel, launch, nvtx, path, store_of


def projected(kernels: int, device_ns: int, start_ns: int, end_ns: int) -> dict[str, int]:
    counts = {"launches": kernels, "kernels": kernels, "operations": kernels, "device_ns": device_ns}
    return {**counts, "projected_start_ns": start_ns, "projected_end_ns": end_ns}


def test_range_projection_shows_instances_with_and_without_work() -> None:
    # Case 09: the kernel runs after its range has closed; the next range launches nothing.
    found = ask(
        "range_projection",
        path=[path(1, "step"), path(2, "other")],
        ranges=[
            nvtx(1, "step", 0, 100, path_id=1, payload=3, **projected(1, 100, 150, 250)),
            nvtx(2, "other", 140, 260, path_id=2, launches=0, kernels=0, operations=0),
            nvtx(3, "open", 300, None),
        ],
    )
    assert columns(
        found, "range path payload duration_ns kernels device_ns projected_start_ns projected_ns"
    ) == [
        ("step", "step", 3, 100, 1, 100, 150, 100),
        ("other", "other", None, 120, 0, None, None, None),
        ("open", None, None, None, None, None, None, None),
    ]


def test_range_summary_keeps_instances_that_launched_nothing_out_of_projected_times() -> None:
    # Case 35: three `matmul` with 1, 2 and 1 kernels. Projected 20, 40, 30: total 90, mean 30, median 30, the
    # deviation the root of (100 + 100 + 0) / 2 = 10. On the host 10, 10 and 30; the fourth was never closed.
    (row,) = ask(
        "range_summary",
        ranges=[
            nvtx(1, "matmul", 0, 10, **projected(1, 20, 5, 25)),
            nvtx(2, "matmul", 20, 30, **projected(2, 35, 30, 70)),
            nvtx(3, "matmul", 40, 70, **projected(1, 30, 70, 100)),
            nvtx(4, "matmul", 90, None, kernels=0, operations=0),
        ],
    )
    assert row == {
        "pass": "r",
        "domain": None,
        "range": "matmul",
        "style": "push_pop",
        "instances": 4,
        "never_closed": 1,
        "host_total_ns": 50,
        "host_p50_ns": 10.0,
        "projected_instances": 3,
        "unknown_instances": 0,
        "kernels": 4,
        "operations": 4,
        "device_total_ns": 85,
        "projected_total_ns": 90,
        "projected_mean_ns": 30.0,
        "projected_stddev_ns": 10.0,
        "projected_min_ns": 20,
        "projected_p50_ns": 30.0,
        "projected_p90_ns": 38.0,  # 30 + 0.8 * 10
        "projected_max_ns": 40,
    }


def test_range_summary_has_no_sum_over_instances_of_which_one_is_unknown() -> None:
    # The second replayed a graph that was not traced: two kernels are known, how many ran is not.
    (row,) = ask(
        "range_summary",
        ranges=[
            nvtx(1, "step", 0, 10, **projected(2, 20, 5, 25)),
            nvtx(2, "step", 20, 30, launches=0),
        ],
    )
    assert columns([row], "instances projected_instances unknown_instances host_total_ns projected_p50_ns") == [
        (2, 1, 1, 20, 20.0)
    ]
    assert columns([row], "kernels operations device_total_ns projected_total_ns") == [(None,) * 4]


def test_top_ranges_are_25_by_device_time_with_the_earlier_of_equals_first() -> None:
    instances = [nvtx(i, f"r{i}", 10 * i, 10 * i + 5, **projected(1, 7, 10 * i, 10 * i + 7)) for i in range(30)]
    instances[29]["device_ns"] = 9
    found = ask("top_ranges", ranges=[*instances, nvtx(99, "idle", 0, 1)])
    assert len(found) == 25
    assert columns(found[:3], "place range device_ns projected_ns") == [
        (1, "r29", 9, 7),
        (2, "r0", 7, 7),
        (3, "r1", 7, 7),
    ]


def test_step_comparison_names_the_slowest_and_keeps_the_first_apart() -> None:
    # Host times 100, 10, 30, 20: the rest's median is 20, and the first took 5 times that.
    spans = [(0, 100), (200, 210), (300, 330), (400, 420)]
    work = [(9, 2), (4, 2), (8, 3), (None, 0)]
    steps = [
        nvtx(i, "step", *span, device_ns=device, kernels=count)
        for i, (span, (device, count)) in enumerate(zip(spans, work, strict=True))
    ]
    (row,) = ask("step_comparison", ranges=[*steps, nvtx(9, "once", 0, 1), nvtx(10, "step", 5, 9, process=1)])
    assert row == {
        "pass": "r",
        "process": 0,
        "domain": None,
        "range": "step",
        "style": "push_pop",
        "instances": 4,
        "first_ns": 100,
        "rest_p50_ns": 20.0,
        "first_over_rest": 5.0,
        "min_ns": 10,
        "max_ns": 100,
        "slowest": 0,
        "slowest_range_id": 0,
        "device_first_ns": 9,
        "device_rest_p50_ns": 6.0,  # of 4 and 8
        "device_max_ns": 9,
        "kernels_min": 0,
        "kernels_max": 3,
    }


def test_marks_have_counts_and_distances() -> None:
    mark = {"pass": "r", "process": 0}
    ticks = [{**mark, "domain": "tick", "time_ns": time} for time in (10, 20, 50)]
    found = ask("marks", mark=[*ticks, {**mark, "time_ns": 60}])
    assert columns(found, "domain marks first_ns last_ns interval_p50_ns interval_max_ns") == [
        (None, 1, 60, 60, None, None),
        ("tick", 3, 10, 50, 20.0, 30),  # distances 10 and 30
    ]


def test_overlapping_start_end_ranges_make_no_pairs_with_every_launch() -> None:
    # A thousand spans around a million launches, and one push/pop range that holds the only two that ran.
    around = {"style": "start_end", "domain": "nsight_suite", "first_launch_id": 0, "last_launch_id": 10**6}
    tables = {
        "range": [
            *(nvtx(i, "span", i, 10**9, **around) for i in range(1000)),
            nvtx(5000, "step", 2000, 3000, first_launch_id=0, last_launch_id=1, domain="nsight_suite"),
        ],
        "launch": [launch(0, 2010, 2020), launch(1, 2990, 3010), launch(2, 4000, 4010)],
        "kernel": [
            kernel("a", 5000, 5010, kernel_id=0, launch_id=0, range_id=5000),
            kernel("a", 5020, 5030, kernel_id=1, launch_id=1, range_id=999),
            kernel("a", 5040, 5050, kernel_id=2, launch_id=2, range_id=999),
        ],
    }
    with store_of(tables) as store:
        held = store.rows("SELECT range_id, kernel_id, innermost FROM range_kernel ORDER BY ALL")
    assert [tuple(row.values()) for row in held] == [(999, 1, True), (999, 2, True), (5000, 0, True)]
    found = ask(
        "unknown_ranges", **{"ranges" if name == "range" else name: rows for name, rows in tables.items()}
    )
    assert columns(found, "name instances kernels") == [("span", 1000, 2), ("step", 1, 1)]
