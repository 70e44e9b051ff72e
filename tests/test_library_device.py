"""What the queries about time on the device must say of any report: golden values, worked by hand, in ns."""

from __future__ import annotations

from evidence_rows import ask, columns, copy, kernel, launch, nvtx

# Two streams overlap, then the device idles from 150 to 180 and from 190 to 250.
BUSY = [kernel("a", 0, 100), kernel("b", 50, 150, stream=14), kernel("c", 180, 190)]
LATER = [copy("host-to-device", 8, 250, 260)]


def test_device_gaps_are_what_no_work_covers() -> None:
    (row,) = ask("device_gaps", kernel=[*BUSY, kernel("untimed", None, None)], memory_operation=LATER)
    # The span is 260, the gaps 30 and 60, so 170 are busy: 170 / 260 = 0.6538.
    assert row == {
        "pass": "r",
        "device": 0,
        "operations": 4,
        "span_ns": 260,
        "busy_ns": 170,
        "idle_ns": 90,
        "busy_share": 0.6538,
        "gaps": 2,
        "gap_p50_ns": 45.0,
        "gap_p90_ns": 57.0,  # 30 + 0.9 * 30
        "gap_max_ns": 60,
        "longest_after_ns": 190,
    }


def test_no_work_has_no_gaps_and_a_moment_has_no_share() -> None:
    assert ask("device_gaps") == []
    (row,) = ask("device_gaps", kernel=[kernel("a", 5, 5)])
    assert columns([row], "span_ns busy_ns busy_share gaps gap_max_ns longest_after_ns") == [
        (0, 0, None, 0, None, None)
    ]


def test_longest_gaps_name_what_was_before_and_after() -> None:
    found = ask("longest_gaps", kernel=BUSY, memory_operation=LATER)
    assert columns(found, "place start_ns gap_ns before after") == [
        (1, 190, 60, "c", "memcpy"),
        (2, 150, 30, "b", "c"),
    ]


def test_concurrency_has_sum_and_union() -> None:
    # Case 27: [0, 100] and [50, 150] sum to 200 and cover 150, of which 50 twice. A third runs alone for 10.
    (row,) = ask("concurrency", kernel=BUSY)
    assert row == {
        "pass": "r",
        "device": 0,
        "operations": 3,
        "streams": 2,
        "sum_ns": 210,
        "union_ns": 160,
        "overlap": 1.3125,
        "span_ns": 190,
        "one_ns": 110,
        "two_ns": 50,
        "more_ns": 0,
        "one_share": 0.6875,
        "two_share": 0.3125,
        "more_share": 0.0,
        "most_at_once": 2,
    }


def test_work_that_only_touches_does_not_overlap() -> None:
    (row,) = ask("concurrency", kernel=[kernel("a", 0, 10), kernel("a", 10, 20), kernel("a", 10, 10)])
    assert columns([row], "sum_ns union_ns two_ns most_at_once") == [(20, 20, 0, 1)]
    (row,) = ask("concurrency", kernel=[kernel("a", i, 10 + i, stream=i) for i in range(3)])
    # From 0 one, from 1 two, from 2 to 10 three, then two until 11 and one until 12.
    assert columns([row], "one_ns two_ns more_ns most_at_once") == [(2, 2, 8, 3)]


def test_copies_that_hide_behind_kernels() -> None:
    # Kernels from 0 to 100; copies 80 to 130 and 90 to 110: 50 of copying, 20 of it beside the kernel.
    (row,) = ask(
        "copy_overlap",
        kernel=[kernel("a", 0, 100)],
        memory_operation=[copy("host-to-device", 8, 80, 130), copy(None, 8, 90, 110)],
    )
    assert columns([row], "kernel_ns memory_ns both_ns kernel_only_ns memory_only_ns hidden_share") == [
        (100, 50, 20, 80, 30, 0.4)
    ]


def test_the_same_stream_number_on_two_devices_is_two_streams() -> None:
    # Case 73: stream 17 of device 0 and of device 1, each busy for 90 of the capture's 100.
    found = ask(
        "stream_utilisation",
        kernel=[kernel("a", 0, 90, stream=17), kernel("a", 0, 90, stream=17, device=1)],
        ranges=[nvtx(1, "all", 0, 100)],
    )
    assert columns(found, "device stream kernels sum_ns busy_ns own_share capture_ns capture_share") == [
        (0, 17, 1, 90, 90, 1.0, 100, 0.9),
        (1, 17, 1, 90, 90, 1.0, 100, 0.9),
    ]


def test_memcpy_bandwidth_leaves_out_copies_that_show_no_time() -> None:
    # 1000 bytes in 10 ns and 3000 in 30 are 4000 / 40 ns = 1e11 bytes a second; the copy of 0 ns has none.
    memory = {"source_memory": "pinned", "target_memory": "device"}
    found = ask(
        "memcpy_summary",
        memory_operation=[
            copy("host-to-device", 1000, 0, 10, **memory),
            copy("host-to-device", 3000, 20, 50, **memory),
            copy("host-to-device", 500, 60, 60, **memory),
            copy("host-to-device", 500, None, None, **memory),
            copy("device-to-host", 64, 70, 70),
            copy(None, 64, 80, 90),
        ],
    )
    assert columns(
        found, "direction copies untimed bytes bytes_min bytes_max total_ns p50_ns bytes_per_second"
    ) == [
        ("host-to-device", 4, 1, 5000, 500, 3000, 40, 10.0, 100_000_000_000),
        ("device-to-host", 1, 0, 64, 64, 64, 0, 0.0, None),
    ]


def test_more_bytes_than_can_be_counted_are_unknown_and_the_rest_is_told() -> None:
    most = 2**63 - 1
    found = ask(
        "memcpy_summary",
        memory_operation=[
            copy("host-to-device", most, 0, 10),
            copy("host-to-device", most, 20, 50),
            # 10^12 bytes in 1 ns are 10^21 bytes a second.
            copy("device-to-host", 10**12, 70, 71),
        ],
    )
    assert columns(found, "direction copies bytes bytes_max total_ns bytes_per_second") == [
        ("host-to-device", 2, None, most, 40, None),
        ("device-to-host", 1, 10**12, 10**12, 1, None),
    ]
    (row,) = ask("memset_summary", memory_operation=[copy(None, most, 0, 10), copy(None, most, 20, 30)])
    assert columns([row], "fills bytes total_ns bytes_per_second") == [(2, None, 20, None)]


def test_memset_summary() -> None:
    fills = [copy(None, 100, 0, 10), copy(None, 300, 20, 40), copy("host-to-device", 9, 50, 60)]
    (row,) = ask("memset_summary", memory_operation=fills)
    # 400 bytes in 30 ns: 13.33 bytes a ns.
    assert columns([row], "fills bytes bytes_p50 total_ns p50_ns max_ns bytes_per_second") == [
        (2, 400, 200.0, 30, 15.0, 20, 13_333_333_333)
    ]


def test_capture_window_spans_the_program_but_not_the_profiler() -> None:
    found = ask(
        "capture_window",
        ranges=[nvtx(1, "open", 5, None)],
        launch=[launch(1, 10, 20)],
        kernel=[kernel("a", 30, 90, launch_id=1), kernel("a", None, None)],
        overhead=[{"pass": "r", "process": 0, "kind": "start", "start_ns": 0, "end_ns": 999}],
    )
    assert columns(found, "record side records first_ns last_ns span_ns") == [
        ("program", None, 4, 5, 90, 85),
        ("kernel", "device", 2, 30, 90, 60),
        ("launch", "host", 1, 10, 20, 10),
        ("overhead", "host", 1, 0, 999, 999),
        ("range", "host", 1, 5, None, None),
    ]


def test_profiler_cost_is_clipped_and_impossible_shares_are_withheld() -> None:
    # The program spans 100 to 200. `start` covers 0 to 150: 50 inside; `stop` 170 to 300: 30 inside; `late`
    # none. `flush` runs on two threads at once.
    cost = {"pass": "r", "process": 0}
    found = ask(
        "profiler_cost",
        launch=[launch(1, 100, 200)],
        overhead=[
            {**cost, "kind": "start", "start_ns": 0, "end_ns": 150},
            {**cost, "kind": "stop", "start_ns": 170, "end_ns": 300},
            {**cost, "kind": "late", "start_ns": 250, "end_ns": 270},
            *({**cost, "kind": "flush", "thread": i, "start_ns": 110, "end_ns": 190} for i in range(2)),
        ],
    )
    assert columns(found, "kind records total_ns inside_ns window_ns share") == [
        ("flush", 2, 160, 160, 100, None),
        ("start", 1, 150, 50, 100, 0.5),
        ("stop", 1, 130, 30, 100, 0.3),
        ("late", 1, 20, 0, 100, 0.0),
    ]
    assert found[0]["reason"].startswith("above 100 %")
    assert [row["reason"] for row in found[1:]] == [None] * 3


def test_profiler_cost_of_a_stretch_without_an_end_is_unknown() -> None:
    stretch = {"pass": "r", "process": 0, "start_ns": 120, "end_ns": None}
    found = ask(
        "profiler_cost",
        launch=[launch(1, 100, 200)],
        overhead=[
            {**stretch, "kind": "a"},
            {**stretch, "kind": "b"},
            {**stretch, "kind": "b", "end_ns": 130},
        ],
    )
    assert columns(found, "kind records total_ns inside_ns share") == [
        ("b", 2, 10, 10, 0.1),
        ("a", 1, None, None, None),
    ]
    assert [row["reason"] for row in found] == [None, "no stretch has both a start and an end"]


def test_profiler_cost_without_a_window_has_no_share() -> None:
    (row,) = ask("profiler_cost", overhead=[{"pass": "r", "kind": "start", "start_ns": 0, "end_ns": 9}])
    assert (row["total_ns"], row["inside_ns"], row["share"]) == (9, None, None)
    assert row["reason"] == "the report has no record of the program to set a window"
