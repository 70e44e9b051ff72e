"""What the queries about CUDA graphs must say of any report: golden values, worked by hand, in ns."""

from __future__ import annotations

from evidence_rows import ask, columns, copy, kernel, launch, nsys_report, path


def test_graph_launches_by_node_as_a_whole_and_without_a_record() -> None:
    found = ask(
        "graph_launches",
        path=[path(1, "replay")],
        launch=[
            launch(1, 0, 10, "graph", path_id=1),
            launch(2, 100, 120, "graph"),
            launch(3, 200, 230, "graph"),
            launch(4, 300, 310, "graph", captured=True),
            launch(5, 400, 410),
        ],
        kernel=[
            # 20 to 30 and 25 to 45: the union is 25; then a copy from 60 to 65: the span is 45.
            kernel("a", 20, 30, launch_id=1, graph_node_id=1),
            kernel("b", 25, 45, launch_id=1, graph_node_id=2),
            kernel("a", 410, 420, launch_id=5),
        ],
        memory_operation=[copy("device-to-device", 4, 60, 65, launch_id=1, graph_node_id=3)],
        graph_run=[
            {"pass": "r", "launch_id": 2, "graph_id": 1, "graph_exec_id": 7, "start_ns": 130, "end_ns": 150}
        ],
    )
    wanted = "launch_id path call_ns records graph_exec_id nodes kernels memory_operations busy_ns span_ns"
    assert columns(found, wanted) == [
        (1, "replay", 10, "nodes", None, 3, 2, 1, 30, 45),
        (2, "<outside every range>", 20, "whole graph", 7, None, None, None, 20, 20),
        (3, "<outside every range>", 30, "none", None, None, None, None, None, None),
    ]
    assert [bool(row["reason"]) for row in found] == [False, True, True]


def test_a_replay_with_several_records_is_busy_while_any_of_them_runs() -> None:
    # One launch, a record on each of two devices: 20 to 40 and 30 to 55 are 35 ns, and 65 to 70 are 5.
    whole = {"pass": "r", "launch_id": 1, "graph_id": 1, "graph_exec_id": 7}
    (row,) = ask(
        "graph_launches",
        launch=[launch(1, 0, 10, "graph")],
        graph_run=[
            {**whole, "device": 0, "start_ns": 20, "end_ns": 40},
            {**whole, "device": 1, "start_ns": 30, "end_ns": 55},
            {**whole, "device": 0, "start_ns": 65, "end_ns": 70},
        ],
    )
    assert columns([row], "records graph_exec_id nodes kernels device_start_ns busy_ns span_ns") == [
        ("whole graph", 7, None, None, 20, 40, 50)
    ]


def test_a_replay_that_is_not_timed_or_numbered_is_unknown_and_not_zero() -> None:
    found = ask(
        "graph_launches",
        launch=[launch(i, 100 * i, 100 * i + 10, "graph") for i in range(3)],
        kernel=[
            kernel("a", None, None, launch_id=0, graph_node_id=1),
            kernel("a", 120, 130, launch_id=1),
            kernel("b", None, None, launch_id=1, graph_node_id=2),
        ],
        graph_run=[{"pass": "r", "launch_id": 2, "graph_exec_id": 7, "start_ns": None, "end_ns": None}],
    )
    assert columns(found, "records nodes kernels device_start_ns busy_ns span_ns") == [
        ("nodes", 1, 1, None, None, None),
        ("nodes", None, 2, 120, 10, 10),
        ("whole graph", None, None, None, None, None),
    ]


def graphs(launches: int, covered: int) -> dict[str, list[dict[str, object]]]:
    return {
        "launch": [launch(i, 100 * i, 100 * i + 10, "graph") for i in range(launches)],
        "kernel": [
            kernel("n", 100 * i + 20, 100 * i + 30, launch_id=i, graph_node_id=1) for i in range(covered)
        ],
    }


def test_graph_coverage_below_full_withholds_the_verdict() -> None:
    # 753 of 4183 is 18.002 %.
    (row,) = ask("graph_coverage", report=[nsys_report(753, graph_trace="node")], **graphs(4183, 753))
    assert columns([row], "graph_trace graph_launches by_node as_a_whole without_records coverage") == [
        ("node", 4183, 753, 0, 3430, 0.18)
    ]
    assert row["verdict"] == "withheld: 18 % covered; 753 of 4183 graph launches left device records"


def test_full_graph_coverage_is_said() -> None:
    (row,) = ask("graph_coverage", **graphs(2, 2))
    assert (row["coverage"], row["verdict"]) == (1.0, "covered: every graph launch left records of its nodes")


def test_graphs_traced_as_a_whole_give_busy_time_only() -> None:
    # Case 04: 3 kernels outside of graphs, 2 replays recorded as a whole.
    runs = [(339_410_404, 339_412_132), (339_416_612, 339_417_988)]
    tables = {
        "report": [nsys_report(3, graph_trace="graph")],
        "launch": [launch(i + 1, start - 50, start - 9, "graph") for i, (start, _) in enumerate(runs)],
        "kernel": [kernel("k", 10 * i, 10 * i + 5) for i in range(3)],
        "graph_run": [
            {"pass": "r", "launch_id": i + 1, "device": 0, "start_ns": start, "end_ns": end}
            for i, (start, end) in enumerate(runs)
        ],
    }
    (row,) = ask("graph_coverage", **tables)
    assert columns([row], "graph_launches by_node as_a_whole coverage") == [(2, 0, 2, 1.0)]
    assert row["verdict"].startswith(
        "busy time only: every graph was traced as a whole, so the kernels inside are unknown"
    )
    assert [row["busy_ns"] for row in ask("graph_launches", **tables)] == [1728, 1376]


def test_graphs_without_any_record_are_unknown_not_zero() -> None:
    (row,) = ask("graph_coverage", **graphs(13, 0))
    assert (row["coverage"], row["without_records"]) == (0.0, 13)
    assert row["verdict"].startswith("withheld: 0 % covered; no graph launch left a device record")


def test_graph_records_without_launches_have_no_coverage() -> None:
    (row,) = ask("graph_coverage", kernel=[kernel("n", 0, 5, graph_node_id=1)])
    assert (row["graph_launches"], row["coverage"], row["without_launch"]) == (0, None, 1)
    assert row["verdict"].startswith("withheld: the report has records of graphs and none of their launches")


def test_a_report_without_graphs_has_no_coverage_row() -> None:
    assert ask("graph_coverage", launch=[launch(1, 0, 5)], kernel=[kernel("k", 9, 12, launch_id=1)]) == []


def test_graph_nodes_are_counted_under_the_node_that_they_stem_from() -> None:
    node = {"pass": "r", "process": 0, "kind": "node"}
    origins = [
        {**node, "id": 3, "source_id": 3},
        {**node, "id": 11, "original_id": 3, "source_id": 3},
        {**node, "id": 12, "original_id": 11, "source_id": 3},
        {"pass": "r", "process": 0, "kind": "graph", "id": 3, "source_id": 3},
    ]
    ran = [
        kernel("a", 0, 10, graph_node_id=11),
        kernel("a", 20, 50, graph_node_id=12),
        kernel("b", 60, 100, graph_node_id=20),  # the report does not tell where it comes from
    ]
    found = ask("graph_node_times", kernel=ran, graph_origin=origins)
    # 40 of 80 each; of 10 and 30 the median is 20.
    assert columns(found, "node_id kernel copies executions total_ns share p50_ns max_ns") == [
        (3, "a", 2, 2, 40, 0.5, 20.0, 30),
        (20, "b", 1, 1, 40, 0.5, 40.0, 40),
    ]
    assert columns(ask("graph_origins", kernel=ran, graph_origin=origins), "kind id source_id executions") == [
        ("graph", 3, 3, None),
        ("node", 3, 3, 0),
        ("node", 11, 3, 1),
        ("node", 12, 3, 1),
    ]
