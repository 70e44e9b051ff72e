"""What the queries about CUDA calls must say of any report: golden values, worked by hand, in ns."""

from __future__ import annotations

from evidence_rows import ask, columns, copy, kernel, launch, nsys_report, nvtx


def test_launch_latency_takes_a_graph_to_its_first_node() -> None:
    # Case 05: the call of a replay counts once, however many nodes carry its correlation id.
    found = ask(
        "launch_latency",
        launch=[
            launch(1, 0, 10),
            launch(2, 100, 130),
            launch(3, 200, 300, "graph"),
            launch(4, 400, 410, captured=True),
            launch(5, 500, 520),  # without a device record
        ],
        kernel=[
            kernel("a", 40, 50, launch_id=1),
            kernel("a", 120, 150, launch_id=2),
            *(kernel("n", 260 + 10 * i, 270 + 10 * i, launch_id=3, graph_node_id=i) for i in range(4)),
        ],
    )
    # Calls of 10, 30 and 20: mean 20, median 20. Latencies 40 and 20: median 30.
    assert columns(
        found, "api calls call_mean_ns call_p50_ns call_max_ns seen latency_min_ns latency_p50_ns"
    ) == [
        ("cudaLaunchKernel", 3, 20.0, 20.0, 30, 2, 20, 30.0),
        ("cudaGraphLaunch", 1, 100.0, 100.0, 100, 1, 60, 60.0),
    ]


def test_queue_time_is_none_for_kernels_that_started_inside_the_call() -> None:
    found = ask(
        "queue_time",
        launch=[launch(1, 0, 10), launch(2, 20, 30), launch(3, 40, 50), launch(4, 60, 70, "graph")],
        kernel=[
            kernel("a", 5, 8, launch_id=1),  # before the call returned
            kernel("a", 30, 35, launch_id=2),  # at its return: it queued for 0
            kernel("a", 90, 95, launch_id=3),  # 40 after it
            kernel("b", 100, 110, launch_id=4, graph_node_id=1),  # 30 after it
            kernel("b", 120, 130, launch_id=4, graph_node_id=2),  # waits for the node ahead: left out
            kernel("c", 100, 110),  # its launch is unknown: left out
        ],
    )
    assert columns(found, "kernel launched at_once queued queue_p50_ns queue_max_ns queue_sum_ns") == [
        ("a", 3, 1, 2, 20.0, 40, 40),
        ("b", 1, 0, 1, 30.0, 30, 30),
    ]


def test_api_summary_unites_launches_waits_and_other_calls() -> None:
    # cudaLaunchKernel took 10 and 30: mean 20, deviation root of 100 + 100 = 14.1, nine tenths of the way 28.
    # In all 40 + 60 + 100 = 200.
    call = {"pass": "r", "process": 0, "thread": 0}
    found = ask(
        "api_summary",
        launch=[launch(1, 0, 10), launch(2, 20, 50)],
        sync=[{**call, "name": "cudaDeviceSynchronize", "start_ns": 60, "end_ns": 120}],
        api_call=[{**call, "name": "cudaMalloc", "start_ns": 200, "end_ns": 300}],
    )
    assert columns(found, "api kind calls total_ns share mean_ns stddev_ns p50_ns p90_ns max_ns") == [
        ("cudaMalloc", "other", 1, 100, 0.5, 100.0, None, 100.0, 100, 100),
        ("cudaDeviceSynchronize", "wait", 1, 60, 0.3, 60.0, None, 60.0, 60, 60),
        ("cudaLaunchKernel", "kernel", 2, 40, 0.2, 20.0, 14.1, 20.0, 28.0, 30),
    ]


def test_synchronisation_by_range_and_call() -> None:
    wait = {"pass": "r", "process": 0, "name": "cudaStreamSynchronize"}
    found = ask(
        "synchronisation",
        ranges=[nvtx(1, "step", 0, 100, domain="d")],
        sync=[
            {**wait, "range_id": 1, "start_ns": 0, "end_ns": 10},
            {**wait, "range_id": 1, "start_ns": 20, "end_ns": 50},
            {**wait, "start_ns": 60, "end_ns": 70},
        ],
    )
    # 40 of 50 inside `step`, in waits of 10 and 30.
    assert columns(found, "domain range waits total_ns share p50_ns max_ns") == [
        ("d", "step", 2, 40, 0.8, 20.0, 30),
        (None, "<outside every range>", 1, 10, 0.2, 10.0, 10),
    ]


def test_launch_counts_set_captured_launches_apart() -> None:
    # Case 25: launch 1 was only captured; the replays 2 and 3 ran. Launch 4 left no record.
    found = ask(
        "launch_counts",
        report=[nsys_report(4)],
        launch=[
            launch(1, 0, 10, captured=True),
            launch(2, 20, 30, "graph"),
            launch(3, 40, 50, "graph"),
            launch(4, 60, 75),
            launch(5, 80, 90, "memcpy"),
        ],
        kernel=[kernel("n", 25 * i, 25 * i + 5, launch_id=i, graph_node_id=1) for i in (2, 2, 3, 3)],
        memory_operation=[copy("host-to-device", 8, 85, 95, launch_id=5)],
    )
    assert columns(
        found, "kind calls captured with_records without_records kernels memory_operations call_ns reason"
    ) == [
        ("graph", 2, 0, 2, 0, 4, 0, 20, None),
        ("kernel", 2, 1, 0, 1, 0, 0, 25, None),
        ("memcpy", 1, 0, 1, 0, 0, 1, 10, None),
    ]


def test_launch_counts_of_a_report_without_a_table_of_kernels_are_unknown() -> None:
    # Case 43: launches are known, device activity is not.
    (row,) = ask("launch_counts", report=[nsys_report(None)], launch=[launch(1, 0, 10), launch(2, 20, 30)])
    assert (row["calls"], row["without_records"], row["kernels"]) == (2, None, None)
    assert row["reason"] == "the report has no table of kernels, so what ran is unknown, not zero"


def test_launch_counts_of_graphs_traced_as_a_whole_do_not_know_their_kernels() -> None:
    (row,) = ask(
        "launch_counts",
        report=[nsys_report(0)],
        launch=[launch(1, 0, 10, "graph")],
        graph_run=[{"pass": "r", "process": 0, "launch_id": 1, "start_ns": 20, "end_ns": 30}],
    )
    assert (row["calls"], row["with_records"], row["without_records"], row["kernels"]) == (1, 1, 0, None)
    assert row["reason"].startswith("1 replays left no records of their nodes")
