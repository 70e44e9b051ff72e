"""What the queries about reports as a whole must say: golden values, worked by hand, in ns."""

from __future__ import annotations

import math
from typing import Any

from evidence_rows import ask, columns, counter, kernel, launch, nsys_report, nvtx


def test_processes_with_and_without_device_rows() -> None:
    # Case 69: three processes listed, one of them with kernels.
    processes = [
        lived(0, listed=True, kernels=5),
        lived(1, listed=True),
        lived(2, graph_runs=2),
        lived(3, memory_operations=1),
    ]
    found = ask("processes", report=[nsys_report(5)], process=processes)
    assert columns(found, "process pid listed kernels graph_runs on_device") == [
        (0, 10, True, 5, 0, True),
        (1, 11, True, 0, 0, False),
        (2, 12, None, 0, 2, True),  # its graphs were traced as a whole
        (3, 13, None, 0, 0, True),
    ]


def lived(process: int, **more: Any) -> dict[str, Any]:
    counts = {"api_calls": 1, "launches": 1, "ranges": 0, "kernels": 0, "memory_operations": 0, "graph_runs": 0}
    return {"pass": "r", "process": process, "pid": 10 + process, **counts, **more}


def test_what_an_export_has_no_table_for_is_unknown_of_its_processes() -> None:
    two = [lived(0), lived(1, memory_operations=1)]
    without = {"call_rows": None, "range_rows": None}
    found = ask("processes", report=[nsys_report(None, **without)], process=two)
    assert columns(found, "process api_calls launches ranges kernels on_device") == [
        (0, None, None, None, None, None),
        (1, None, None, None, None, True),
    ]
    untraced = {"code": "cuda-not-traced", "pass": "r", "reason": "CUDA was not traced."}
    empty, _ = ask("processes", report=[nsys_report(0)], process=two, finding=[untraced])
    assert columns([empty], "api_calls kernels on_device") == [(1, None, None)]


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
    # Case 01: not traced, traced without a table, and an empty table are three different answers. What has no
    # table is unknown, not zero.
    untraced = {"code": "cuda-not-traced", "pass": "a", "reason": "CUDA was not traced. Capture again with …"}
    as_before = {**untraced, "code": "no-kernel-table", "pass": "e"}
    found = ask(
        "report_completeness",
        report=[
            nsys_report(None, call_rows=None, **{"pass": "a"}),
            nsys_report(None, range_rows=None, **{"pass": "b"}),
            nsys_report(0, **{"pass": "c"}),
            {"pass": "d", "file": "d.csv", "format": "ncu-csv", "rows": 1},
            nsys_report(None, **{"pass": "e"}),
            nsys_report(0, **{"pass": "f"}),
        ],
        launch=[launch(1, 0, 5, **{"pass": "b"})],
        process=[lived(0, **{"pass": name}) for name in ("a", "c")],
        finding=[
            untraced,
            as_before,
            {**untraced, "pass": "f"},
            {"code": "no-kernel-table", "pass": "b", "reason": "The export has no table of kernels …"},
        ],
        counter=[counter(0, "dram__bytes_read.sum", None, reason="n/a", **{"pass": "d"})],
    )
    assert columns(found, "pass kernels_told kernels launches ranges workloads missing_values codes") == [
        ("a", "not traced", None, None, 0, None, None, "cuda-not-traced"),
        ("b", "table absent", None, 1, None, None, None, "no-kernel-table"),
        ("c", "zero rows", 0, 0, 0, None, None, None),
        ("d", None, None, None, None, 1, 1, None),
        ("e", "not traced", None, 0, 0, None, None, "no-kernel-table"),
        ("f", "not traced", None, 0, 0, None, None, "cuda-not-traced"),
    ]
    lacking = "captured_launches launches_without_records replays_without_nodes open_ranges idle_processes"
    assert columns(found[:3], lacking) == [
        (None, None, None, 0, None),
        (0, None, 0, None, None),
        (0, 0, 0, 0, 1),
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
        process=[lived(0, kernels=3), lived(1), lived(2, graph_runs=1)],
    )
    numbers = (
        "kernels_told kernels untimed_kernels kernels_without_launch kernels_outside_ranges launches "
        "captured_launches launches_without_records replays_without_nodes ranges open_ranges "
        "processes idle_processes findings"
    )
    assert columns([row], numbers) == [("recorded", 3, 1, 1, 2, 3, 1, 1, 1, 2, 1, 3, 1, 0)]


def two_reports(
    before: list[dict[str, Any]], after: list[dict[str, Any]], *known: int | None
) -> dict[str, list[dict[str, Any]]]:
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
    # What the reports themselves tell goes before that: these were handed over in another order.
    for report, told in zip(reports["report"], (10, 20), strict=True):
        report["session_start_utc_ns"] = told
    (row,) = ask("compare_reports", **reports, **{"pass": began})
    assert columns([row], "baseline pass ratio") == [("after", "before", 0.5)]
    del reports["report"][0]["session_start_utc_ns"]
    (row,) = ask("compare_reports", **reports, **{"pass": began})
    assert row["baseline"] == "before"


def test_kernels_absent_where_replays_left_no_records_are_unknown() -> None:
    # `old` may have run in one of the replays of `after`; `new` did not run in `before`, which lacks nothing.
    reports = two_reports(
        [kernel("a", 0, 10), kernel("old", 20, 25)], [kernel("a", 0, 20), kernel("new", 30, 31)], 2, 2
    )
    replays = [
        launch(1, 0, 5, "graph", operations=0, **{"pass": "after"}),
        launch(2, 10, 15, "graph", operations=0, captured=True, **{"pass": "after"}),  # never ran
        launch(3, 20, 25, "graph", operations=1, **{"pass": "after"}),
        launch(4, 30, 35, operations=0, **{"pass": "after"}),
    ]
    began = [{"pass": "before", "started_utc": "2026-01-01"}]
    found = ask("compare_reports", **reports, launch=replays, **{"pass": began})
    doubt = "1 graph launches and 1 kernel launches in after left no records of their kernels"
    assert columns(found, "kernel baseline_kernels kernels ratio verdict reason") == [
        ("a", 1, 1, 2.0, "compared in part", doubt),
        ("old", 1, None, None, "incomparable", f"it may have run: {doubt}"),
        ("new", 0, 1, None, "only in other", "it did not run in before"),
    ]
    # The other way round, by a graph traced as a whole whose launch is not in the report.
    whole = [{"pass": "before", "launch_id": None, "start_ns": 0, "end_ns": 9}]
    found = ask("compare_reports", **reports, graph_run=whole, **{"pass": began})
    doubt = "1 graph launches in before left no records of their kernels"
    assert columns(found, "kernel baseline_kernels kernels verdict reason") == [
        ("a", 1, 1, "compared in part", doubt),
        ("old", 1, 0, "only in baseline", "it did not run in after"),
        ("new", None, 1, "incomparable", f"it may have run: {doubt}"),
    ]


def test_a_report_of_nothing_but_opaque_replays_has_an_unknown_number_of_kernels() -> None:
    reports = two_reports([kernel("a", 0, 10)], [], 0, 1)
    replay = launch(1, 0, 5, "graph", operations=0, **{"pass": "after"})
    (row,) = ask("compare_reports", **reports, launch=[replay])
    assert columns([row], "baseline kernel baseline_kernels kernels verdict reason") == [
        (
            "after",
            None,
            None,
            1,
            "incomparable",
            "it is unknown which kernels ran: 1 graph launches in after left no records of their kernels",
        )
    ]
    untraced = {"code": "cuda-not-traced", "pass": "after", "reason": "CUDA was not traced."}
    (row,) = ask("compare_reports", **reports, finding=[untraced])
    assert columns([row], "baseline_kernels reason") == [
        (None, "it is unknown which kernels ran in after: CUDA was not traced")
    ]


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
