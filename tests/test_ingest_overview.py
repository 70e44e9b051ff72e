"""What an ingest tells of each report at its end, over evidence made row by row."""

from __future__ import annotations

from typing import Any

from evidence_rows import copy, kernel, launch, nsys_report, store_of

from nsight_suite.ingesting.overview import Line, overview


def told(report: dict[str, Any], **tables: list[dict[str, Any]]) -> Line:
    """The line of the only report."""
    with store_of({"pass": [{"pass": "r", "state": "ok"}], "report": [report], **tables}) as store:
        (line,) = overview(store.connection).lines
    return line


def test_any_record_of_a_replay_covers_it() -> None:
    # As query graph_coverage says: by kernels, by a copy alone, and as a whole; the fourth left nothing, the
    # fifth was only captured.
    line = told(
        nsys_report(1),
        launch=[
            launch(1, 0, 5, "graph", kernels=1, operations=1),
            launch(2, 10, 15, "graph", kernels=0, operations=1),
            launch(3, 20, 25, "graph", kernels=0, operations=0),
            launch(4, 30, 35, "graph", kernels=0, operations=0),
            launch(5, 40, 45, "graph", kernels=0, operations=0, captured=True),
        ],
        kernel=[kernel("k", 6, 9, launch_id=1)],
        memory_operation=[copy("device-to-device", 4, 16, 19, launch_id=2)],
        graph_run=[{"pass": "r", "launch_id": 3, "start_ns": 26, "end_ns": time} for time in (28, 29)],
    )
    assert (line.launches, line.graph_coverage) == ("4", "75 %")


def test_a_report_without_a_table_of_calls_has_an_unknown_number_of_launches() -> None:
    line = told(nsys_report(1, call_rows=None), kernel=[kernel("k", 6, 9)])
    assert (line.kernels, line.launches, line.ranges, line.graph_coverage) == ("1", "?", "0", "?")
    line = told(nsys_report(1, range_rows=None), kernel=[kernel("k", 6, 9)])
    assert (line.launches, line.ranges, line.graph_coverage) == ("0", "?", "–")


def test_an_empty_table_of_kernels_is_no_answer_where_cuda_was_not_traced() -> None:
    assert told(nsys_report(0)).kernels == "0"
    line = told(
        nsys_report(0), finding=[{"code": "cuda-not-traced", "pass": "r", "reason": "CUDA was not traced."}]
    )
    assert (line.kernels, line.unattributed) == ("?", "?")
