"""What the queries about reports as a whole must say: golden values, worked by hand, in ns."""

from __future__ import annotations

import math

from evidence_rows import ask, columns, counter, kernel, launch, nsys_report, nvtx


def test_processes_with_and_without_device_rows() -> None:
    # Case 69: three processes listed, one of them with kernels.
    counts = {"api_calls": 1, "launches": 1, "ranges": 0, "memory_operations": 0}
    found = ask(
        "processes",
        process=[
            {"pass": "r", "process": 0, "pid": 10, "listed": True, **counts, "kernels": 5},
            {"pass": "r", "process": 1, "pid": 11, "listed": True, **counts, "kernels": 0},
            {"pass": "r", "process": 2, "pid": 12, "listed": True, "api_calls": 0},
        ],
    )
    assert columns(found, "process pid on_device") == [(0, 10, True), (1, 11, False), (2, 12, None)]


def test_gpus_with_what_ran_there() -> None:
    found = ask(
        "gpus",
        report=[nsys_report(1)],
        gpu=[
            {"pass": "r", "device": 0, "name": "H200"},
            {"pass": "r", "device": 1},
            {"pass": "n", "device": 0},
        ],
        kernel=[kernel("a", 0, 5)],
    )
    assert columns(found, "pass device name kernels") == [
        ("n", 0, None, None),
        ("r", 0, "H200", 1),
        ("r", 1, None, 0),
    ]


def test_three_answers_where_there_are_no_kernels() -> None:
    # Case 01: not traced, traced without a table, and an empty table are three different answers.
    untraced = {"code": "no-kernel-table", "pass": "a", "reason": "CUDA was not traced. Capture again with …"}
    found = ask(
        "report_completeness",
        report=[
            nsys_report(None, **{"pass": "a"}),
            nsys_report(None, **{"pass": "b"}),
            nsys_report(0, **{"pass": "c"}),
            {"pass": "d", "file": "d.csv", "format": "ncu-csv", "rows": 1},
        ],
        finding=[
            untraced,
            {"code": "no-kernel-table", "pass": "b", "reason": "The export has no table of kernels …"},
        ],
        counter=[counter(0, "dram__bytes_read.sum", None, reason="n/a", **{"pass": "d"})],
    )
    assert columns(found, "pass kernels_told kernels launches workloads missing_values findings codes") == [
        ("a", "not traced", None, 0, None, None, 1, "no-kernel-table"),
        ("b", "table absent", None, 0, None, None, 1, "no-kernel-table"),
        ("c", "zero rows", 0, 0, None, None, 0, None),
        ("d", None, None, None, 1, 1, 0, None),
    ]


def test_report_completeness_counts_what_is_missing() -> None:
    (row,) = ask(
        "report_completeness",
        report=[nsys_report(3)],
        launch=[
            launch(1, 0, 5),
            launch(2, 10, 15),  # left no record
            launch(3, 20, 25, captured=True),
            launch(4, 30, 35, "graph"),  # nothing of its nodes
        ],
        kernel=[
            kernel("a", 7, 9, launch_id=1, path_id=1, range_id=1),
            kernel("b", None, None, launch_id=1),
            kernel("c", 50, 60),
        ],
        ranges=[nvtx(1, "step", 0, 10), nvtx(2, "open", 40, None)],
        process=[{"pass": "r", "process": 0, "kernels": 3}, {"pass": "r", "process": 1, "kernels": 0}],
    )
    numbers = (
        "kernels_told kernels untimed_kernels kernels_without_launch kernels_outside_ranges launches "
        "captured_launches launches_without_records replays_without_nodes ranges open_ranges "
        "processes idle_processes findings"
    )
    assert columns([row], numbers) == [("recorded", 3, 1, 1, 2, 3, 1, 1, 1, 2, 1, 2, 1, 0)]


def two_reports(
    before: list[dict[str, object]], after: list[dict[str, object]], *known: int | None
) -> dict[str, object]:
    return {
        "report": [
            nsys_report(rows, **{"pass": name}) for name, rows in zip(("after", "before"), known, strict=True)
        ],
        "kernel": [
            *({**row, "pass": "before"} for row in before),
            *({**row, "pass": "after"} for row in after),
        ],
    }


def test_reports_are_compared_kernel_by_kernel() -> None:
    reports = two_reports(
        [kernel("a", 0, 10), kernel("a", 20, 30), kernel("old", 40, 45)],
        [kernel("a", 0, 20), kernel("new", 30, 31), kernel("untimed", None, None)],
        3,
        3,
    )
    found = ask("compare_reports", **reports)
    assert columns(
        found, "baseline pass kernel baseline_kernels kernels baseline_p50_ns p50_ns ratio verdict"
    ) == [
        ("after", "before", "a", 1, 2, 20.0, 10.0, 0.5, "compared"),
        ("after", "before", "new", 1, 0, 1.0, None, None, "only in baseline"),
        ("after", "before", "old", 0, 1, None, 5.0, None, "only in other"),
        ("after", "before", "untimed", 1, 0, None, None, None, "only in baseline"),
    ]


def test_the_report_that_began_first_is_the_baseline() -> None:
    began = [{"pass": "after", "started_utc": "2026-01-02"}, {"pass": "before", "started_utc": "2026-01-01"}]
    reports = two_reports([kernel("a", 0, 10)], [kernel("a", 0, 20)], 1, 1)
    (row,) = ask("compare_reports", **reports, **{"pass": began})
    assert columns([row], "baseline pass ratio") == [("before", "after", 2.0)]


def test_a_report_without_kernels_is_no_faster() -> None:
    # Case 89: ten kernels before, no table of kernels after; and after, an empty table.
    kernels = [kernel("a", 20 * i, 20 * i + 10) for i in range(10)]
    for rows, reason in ((None, "it is unknown which kernels ran in after"), (0, "after has no kernels")):
        (row,) = ask("compare_reports", **two_reports(kernels, [], rows, 10))
        assert columns([row], "kernel baseline_kernels kernels ratio verdict reason") == [
            (None, rows, 10, None, "incomparable", reason)
        ]


def test_one_report_alone_has_nothing_to_be_compared_with() -> None:
    assert ask("compare_reports", report=[nsys_report(1)], kernel=[kernel("a", 0, 5)]) == []


def test_no_answer_of_no_kernels_divides_by_zero() -> None:
    moments = [kernel("a", 5, 5), kernel("b", 5, 5, device=1)]
    for query in ("kernel_summary", "kernel_by_path", "kernel_by_range", "concurrency", "stream_utilisation"):
        for row in ask(query, kernel=moments):
            assert not any(isinstance(value, float) and not math.isfinite(value) for value in row.values()), (
                query
            )
