"""What the queries about kernels must say of any report: golden values, worked by hand, in ns."""

from __future__ import annotations

import random
from typing import Any

from evidence_rows import ask, columns, kernel, launch, nvtx, path


def test_kernel_summary_counts_untimed_kernels_and_gives_exact_percentiles() -> None:
    # Durations 10, 20, 30, 60 and one untimed: total 120, mean 30, median 25. From the mean they are off by
    # -20, -10, 0 and 30: squares 400 + 100 + 0 + 900 = 1400, over 3 = 466.7, root 21.6. From the first to the
    # fourth are 3 steps: a tenth of them ends at 10 + 0.3 * 10, nine tenths at 30 + 0.7 * 30, and 99 of 100 at
    # 30 + 0.97 * 30. The other kernel lasts 80 of 200: shares of 0.6 and 0.4.
    spans = [(0, 10), (0, 20), (5, 35), (100, 160), (None, None)]
    slow, other = ask(
        "kernel_summary",
        kernel=[*(kernel("slow", *span, registers_per_thread=32) for span in spans), kernel("other", 0, 80)],
    )
    assert slow == {
        "pass": "r",
        "device": 0,
        "kernel": "slow",
        "kernels": 5,
        "untimed": 1,
        "total_ns": 120,
        "share": 0.6,
        "mean_ns": 30.0,
        "stddev_ns": 21.6,
        "min_ns": 10,
        "p10_ns": 13.0,
        "p50_ns": 25.0,
        "p90_ns": 51.0,
        "p99_ns": 59.1,
        "max_ns": 60,
        "registers_per_thread": 32,
    }
    assert (other["share"], other["stddev_ns"]) == (0.4, None)  # one value has no deviation


def test_kernel_summary_knows_devices_apart_and_untimed_ones_have_no_time() -> None:
    found = ask(
        "kernel_summary", kernel=[kernel("a", 0, 5), kernel("a", 0, 7, device=1), kernel("b", None, None)]
    )
    assert columns(found, "device kernel kernels untimed total_ns mean_ns p50_ns") == [
        (1, "a", 1, 0, 7, 7.0, 7.0),
        (0, "a", 1, 0, 5, 5.0, 5.0),
        (0, "b", 1, 1, None, None, None),
    ]


def test_deviation_of_equal_long_kernels_is_exactly_zero() -> None:
    # A second and a bit: squares go beyond what a double holds.
    (row,) = ask("kernel_summary", kernel=[kernel("a", 0, 1_000_000_007)] * 3)
    assert (row["stddev_ns"], row["mean_ns"]) == (0.0, 1_000_000_007.0)


PATHS = [path(1, "step"), path(2, "step / load", 1), path(3, "step / step", 1)]


def test_kernel_by_path_counts_each_kernel_once_with_a_bucket_for_the_rest() -> None:
    found = ask(
        "kernel_by_path",
        path=PATHS,
        kernel=[
            kernel("a", 0, 10, path_id=1),
            kernel("a", 20, 40, path_id=2),
            kernel("a", 50, 60, path_id=2),
            kernel("b", 70, 130),  # launched outside
        ],
    )
    # 10 + 30 + 60 = 100 in all; within `step / load` 20 and 10, median 15.
    assert columns(found, "path kernel kernels total_ns share p50_ns depth") == [
        ("<outside every range>", "b", 1, 60, 0.6, 60.0, None),
        ("step / load", "a", 2, 30, 0.3, 15.0, 1),
        ("step", "a", 1, 10, 0.1, 10.0, 0),
    ]


def test_kernel_by_path_shows_the_bucket_also_when_it_is_empty() -> None:
    found = ask("kernel_by_path", path=PATHS, kernel=[kernel("a", 0, 10, path_id=1)])
    assert columns(found, "path_id path kernel kernels share") == [
        (1, "step", "a", 1, 1.0),
        (None, "<outside every range>", None, 0, 0.0),
    ]


def test_kernel_by_range_counts_a_kernel_under_every_name_around_it() -> None:
    # Case 10: outer and inner, a kernel of 5 in each: inner has 1, outer 2. And `step` in `step` counts once.
    found = ask(
        "kernel_by_range",
        path=PATHS,
        kernel=[
            kernel("a", 0, 5, path_id=1),
            kernel("a", 10, 15, path_id=2),
            kernel("a", 20, 30, path_id=3),
            kernel("a", 40, 45),
        ],
    )
    # All kernels take 5 + 5 + 10 + 5 = 25; those under `step` 20 = 0.8, of which 5 under `load`.
    assert columns(found, "range kernel kernels total_ns share p50_ns") == [
        ("step", "a", 3, 20, 0.8, 5.0),
        ("<outside every range>", "a", 1, 5, 0.2, 5.0),
        ("load", "a", 1, 5, 0.2, 5.0),
    ]


def test_kernel_by_range_knows_domains_apart() -> None:
    found = ask(
        "kernel_by_range",
        path=[path(1, "step", domain="one"), path(2, "step", domain="two")],
        kernel=[kernel("a", 0, 4, path_id=1), kernel("a", 5, 6, path_id=2)],
    )
    assert columns(found, "domain range kernels total_ns") == [
        ("one", "step", 1, 4),
        ("two", "step", 1, 1),
        (None, "<outside every range>", 0, 0),
    ]


def span(range_id: int, name_id: int, times: tuple[int, int | None], first: int, last: int) -> dict[str, Any]:
    """A start/end range in which the launches from `first` to `last` start; its name is that of a path."""
    start_ns, end_ns = times
    place = {"style": "start_end", "path_id": name_id, "first_launch_id": first, "last_launch_id": last}
    return nvtx(range_id, f"span{name_id}", start_ns, end_ns, **place)


def spans(*numbers: int) -> list[dict[str, Any]]:
    return [path(number, f"span{number}", style="start_end") for number in numbers]


def test_kernel_by_range_gives_a_start_end_range_what_push_pop_ranges_hold_too() -> None:
    # span1 from 0 to 100, `step` from 10 to 30 inside it, a launch in each: nsys gives span1 both.
    tables = {
        "path": [*spans(1), path(2, "step")],
        "ranges": [span(1, 1, (0, 100), 0, 1), nvtx(2, "step", 10, 30, path_id=2)],
        "launch": [launch(0, 12, 14, path_id=2), launch(1, 50, 52, path_id=1)],
        "kernel": [
            kernel("a", 200, 210, launch_id=0, path_id=2),
            kernel("a", 220, 250, launch_id=1, path_id=1),
        ],
    }
    found = ask("kernel_by_range", **tables)
    assert columns(found, "range style kernel kernels total_ns share p50_ns p90_ns reason") == [
        ("span1", "start_end", "a", 2, 40, 1.0, 20.0, 28.0, None),
        ("step", "push_pop", "a", 1, 10, 0.25, 10.0, 10.0, None),
        ("<outside every range>", None, None, 0, 0, 0.0, None, None, None),
    ]
    # kernel_by_path counts each once, under what is innermost.
    assert columns(ask("kernel_by_path", **tables), "path kernels") == [
        ("span1", 1),
        ("step", 1),
        ("<outside every range>", 0),
    ]


def test_kernel_by_range_counts_once_under_overlapping_ranges_of_one_name_and_what_others_launch() -> None:
    found = ask(
        "kernel_by_range",
        path=spans(1, 2),
        ranges=[
            span(1, 1, (0, 100), 0, 2),
            span(2, 1, (40, 90), 1, 2),  # launch 2 starts in both and returns in neither
            span(3, 2, (80, None), 2, 2),
        ],
        launch=[
            launch(0, 10, 20, path_id=1),
            launch(1, 50, 60, path_id=1),
            launch(2, 85, 110, path_id=2),
            launch(9, 30, 31, thread=1, path_id=1),  # no range of its own thread holds it
        ],
        kernel=[
            *(
                kernel("a", 200, 201, launch_id=i, path_id=path_id)
                for i, path_id in ((0, 1), (1, 1), (2, 2), (9, 1))
            ),
            kernel("a", 300, 301),
        ],
    )
    assert columns(found, "range kernels") == [("span1", 3), ("<outside every range>", 1), ("span2", 1)]


def test_start_end_names_are_exact_for_any_ranges_and_calls() -> None:
    """Against every pair of a range and a launch, one by one: calls nest, ranges overlap at will."""
    chance = random.Random(7)
    for _ in range(8):
        starts = sorted(chance.sample(range(200), 20))
        calls = [launch(i, start, start + chance.randrange(1, 40), path_id=9) for i, start in enumerate(starts)]
        ranges = []
        for number in range(12):
            start = chance.randrange(180)
            end = chance.choice([start + chance.randrange(1, 60), None])
            begun = [c["launch_id"] for c in calls if start <= c["start_ns"] <= (end or 999)]
            if begun:
                ranges.append(span(number, chance.choice((1, 2)), (start, end), begun[0], begun[-1]))
        expected = {
            f"span{name}": {
                c["launch_id"]
                for c in calls
                for r in ranges
                if r["path_id"] == name
                and r["start_ns"] <= c["start_ns"]
                and c["end_ns"] <= (r["end_ns"] or 999)
            }
            for name in (1, 2)
        }
        found = ask(
            "kernel_by_range",
            path=[*spans(1, 2), path(9, "step")],
            ranges=ranges,
            launch=calls,
            kernel=[kernel("a", 500, 501 + i, launch_id=i, path_id=9) for i in range(20)],
        )
        told = {row["range"]: (row["kernels"], row["total_ns"]) for row in found if row["style"] == "start_end"}
        assert told == {name: (len(ids), sum(i + 1 for i in ids)) for name, ids in expected.items() if ids}


def test_start_end_ranges_around_a_billion_launches_are_not_gone_through() -> None:
    # A thousand names, each around a million launches.
    found = ask(
        "kernel_by_range",
        path=[*spans(*range(1, 1001)), path(2000, "step")],
        ranges=[span(i, i, (i, 10**9), 0, 10**6 - 1) for i in range(1, 1001)],
        launch=[launch(0, 5000, 5010, path_id=2000), launch(1, 5020, 5030, path_id=1)],
        kernel=[
            kernel("a", 6000, 6010, launch_id=0, path_id=2000),
            kernel("a", 6020, 6030, launch_id=1, path_id=1),  # one of all that span1 holds
        ],
    )
    assert columns(found[:2], "range style kernel kernels") == [
        ("step", "push_pop", "a", 1),
        ("<outside every range>", None, None, 0),
    ]
    assert len(found) == 1002
    assert {(row["kernels"], row["total_ns"], row["reason"]) for row in found[2:]} == {
        (
            None,
            None,
            "start/end ranges of this report hold 1000000000 launches together, too many to go through: "
            "range_summary has their sums",
        )
    }


def test_range_tree_has_own_and_inclusive_kernels() -> None:
    found = ask(
        "range_tree",
        path=PATHS,
        ranges=[nvtx(1, "step", 0, 100, path_id=1), nvtx(2, "load", 10, 40, path_id=2)],
        kernel=[kernel("a", 0, 5, path_id=1), kernel("a", 10, 25, path_id=2), kernel("b", 30, 60)],
    )
    # 5 + 15 + 30 = 50 in all, 20 of it under `step`.
    assert columns(found, "path instances host_total_ns own_kernels own_ns kernels kernel_ns share") == [
        ("step", 1, 100, 1, 5, 2, 20, 0.4),
        ("step / load", 1, 30, 1, 15, 1, 15, 0.3),
        ("step / step", 0, None, 0, None, 0, None, None),
    ]


def test_range_tree_keeps_what_is_nested_with_what_it_is_in() -> None:
    two = [
        path(1, "step", domain="a"),
        path(2, "step", domain="b"),
        path(3, "step / x", 2),
        path(4, "step / y", 1),
    ]
    assert columns(ask("range_tree", path=two), "path_id path") == [
        (1, "step"),
        (4, "step / y"),
        (2, "step"),
        (3, "step / x"),
    ]


def test_unattributed_kernels_tell_which_no_range_could_be_given() -> None:
    found = ask(
        "unattributed_kernels",
        kernel=[
            kernel("fill", 0, 10, launch_id=1),
            kernel("fill", 20, 30),  # its launch is not in the report
            kernel("work", 40, 60, launch_id=2, path_id=1),
        ],
    )
    assert columns(found, "kernel kernels without_launch total_ns share time_share") == [
        ("fill", 2, 1, 20, 0.6667, 0.5)
    ]
    nothing = ask("unattributed_kernels", kernel=[kernel("work", 40, 60, path_id=1)])
    assert columns(nothing, "kernel kernels share") == [(None, 0, 0.0)]


def test_first_against_the_median_of_the_rest() -> None:
    # Case 28: launch calls of 45925, 4441 and 3079: the rest's median is 3760, and two are too few to lean on.
    calls = [launch(1, 100_000, 145_925), launch(2, 200_000, 204_441), launch(3, 300_000, 303_079)]
    (call, kernels) = ask(
        "first_and_steady",
        launch=[*calls, launch(4, 0, 1, captured=True)],
        kernel=[
            kernel("k", 1000 * i, 1000 * i + length, kernel_id=i)
            for i, length in enumerate((50, 7, 5, 9, 7, 8))
        ],
    )
    assert call["note"] == "too few: 2 after the first"
    # 45925 / 3760 = 12.214
    assert columns([call], "what name count first_ns rest rest_p50_ns rest_max_ns ratio") == [
        ("call", "cudaLaunchKernel", 3, 45_925, 2, 3_760.0, 4_441, 12.214)
    ]
    # 7, 5, 9, 7, 8 have the median 7; 50 / 7 = 7.143
    assert columns([kernels], "what count first_ns rest rest_p50_ns ratio note") == [
        ("kernel", 6, 50, 5, 7.0, 7.143, None)
    ]


def test_one_call_has_no_rest() -> None:
    (row,) = ask("first_and_steady", launch=[launch(1, 0, 10)])
    assert columns([row], "count first_ns rest rest_p50_ns ratio note") == [
        (1, 10, 0, None, None, "too few: 0 after the first")
    ]
