"""Faults that users of nsys reports have met, one test or more per case; numbered as in the collection.

Here are tables, names, ranges, graphs and identities; files, times and the rest are in test_cases_store.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from nsys_reports import Asked, at_once, only
from tiny_export import (
    MODE,
    OLD_GRAPH_EVENTS,
    OLD_OVERHEAD,
    PROCESS,
    VERSION,
    Call,
    Kernel,
    Range,
    Table,
    change,
    make_export,
)

from nsight_suite.evidence.readers import nsys_export

LAUNCH, GRAPH = "cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000"
BEGIN, END = "cudaStreamBeginCapture_v10000", "cudaStreamEndCapture_v10000"
OUTSIDE = "<outside every range>"
GRAPH_MODE = {"PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE": "Graph", "CAPTURE_EVENT_TYPE": "Cuda"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.sqlite"


# -- 01: no kernel table at all ---------------------------------------------------------------------

CALLS = [Call(LAUNCH, 10, 20, 1), Call(LAUNCH, 30, 40, 2)]


@pytest.mark.parametrize(
    ("kernels", "capture", "told", "count"),
    [
        (None, {"CAPTURE_EVENT_TYPE": "NvtxEvents"}, "not traced", None),
        (None, {"CAPTURE_EVENT_TYPE": "Cuda"}, "table absent", None),
        (None, {}, "table absent", None),
        ([], MODE, "zero rows", 0),
        ([Kernel("k", 50, 60, 1)], MODE, "recorded", 1),
    ],
)
def test_01_three_kinds_of_no_kernels(
    path: Path, kernels: list[Kernel] | None, capture: dict[str, str], told: str, count: int | None
) -> None:
    report = Asked(make_export(path, api=None, nvtx=None, kernels=kernels, capture=capture))
    row = report.row("report_completeness")
    assert (row["kernels_told"], row["kernels"]) == (told, count)
    reasons = [
        reason for code, reason in report.findings().items() if code in ("no-kernel-table", "cuda-not-traced")
    ]
    assert bool(reasons) is (kernels is None)


def test_01_calls_without_a_kernel_table_are_still_answered(path: Path) -> None:
    report = Asked(make_export(path, api=CALLS, kernels=None, nvtx=[Range("step", 0, 50)]))
    assert report.row("report_completeness")["kernels"] is None
    reason = report.findings()["no-kernel-table"]
    assert "2 CUDA API calls" in reason
    assert "unknown, not zero" in reason
    (api,) = report.rows("api_summary")
    assert (api["api"], api["calls"], api["total_ns"]) == ("cudaLaunchKernel", 2, 20)
    assert report.rows("kernel_summary") == []
    calls = report.row("launch_counts")
    assert (calls["calls"], calls["kernels"], calls["without_records"]) == (2, None, None)
    assert calls["reason"]


def test_01_settings_of_an_older_nsys_tell_what_was_traced(path: Path) -> None:
    """nsys 2023.4 names settings by process instead of listing kinds of events."""
    report = Asked(make_export(path, kernels=None, capture={"PROCESS_0:COLLECT_CUDA_TRACE": "false"}))
    assert report.row("report_completeness")["kernels_told"] == "not traced"


# -- 02, 03, 31, 33, 35: NVTX ------------------------------------------------------------------------


def test_02_ranges_that_vanished(path: Path) -> None:
    report = Asked(
        make_export(
            path,
            api=CALLS,
            kernels=[Kernel("k", 50, 60, 1), Kernel("k", 70, 80, 2)],
            nvtx=[
                Range(None, 93828796, None, type=76),
                Range("mydom", 104145197, None, type=75, domain=1),
                Range(None, 104187600, None, type=76, domain=1),
            ],
        )
    )
    reason = report.findings()["ranges-vanished"]
    assert "3 rows and no range" in reason
    assert "0.2.12" in reason
    assert "nvtx==0.2.11" in reason
    assert "newer nsys" in reason
    row = report.row("report_completeness")
    assert (row["ranges"], row["kernels"], row["kernels_outside_ranges"]) == (0, 2, 2)


def test_03_names_are_texts_or_registered_strings(path: Path) -> None:
    events = [
        Range(None, 1, 2, registered=104),
        Range("iter 1", 3, 4),
        Range("", 5, 6),
        Range(None, 7, 8),
        Range(None, 9, 10, registered=9999),
        Range("a", 11, 12, registered=104),
    ]
    report = Asked(make_export(path, nvtx=events, strings={104: "outer"}))
    right = ["outer", "iter 1", "<unnamed>", "<unnamed>", "<string 9999 missing>", "outer"]
    assert report.table("range_projection", "range") == right
    assert [row["range"] for row in at_once(path, "range_projection")] == right


def test_03_an_export_of_2019_has_no_registered_strings(path: Path) -> None:
    make_export(path, nvtx=[Range("step", 1, 2, payload=3)])
    for column in ("textId", "domainId", "int64Value", "endGlobalTid"):
        change(path, f"ALTER TABLE NVTX_EVENTS DROP COLUMN {column}")
    report = Asked(path)
    assert report.table("range_projection", "range domain payload") == [("step", None, None)]


def test_31_marks_and_the_like_are_no_ranges(path: Path) -> None:
    events = [
        Range("CCCL", 10, None, type=75, domain=1),
        Range("amark", 12, None, type=34),
        Range("cat", 5, None, type=33),
        Range("r", 20, 30),
    ]
    report = Asked(make_export(path, nvtx=events))
    assert report.table("range_projection", "range duration_ns") == [("r", 10)]
    assert report.table("marks", "marks first_ns") == [(1, 12)]
    assert report.table("range_summary", "range host_total_ns") == [("r", 10)]


def test_31_a_range_that_was_never_closed(path: Path) -> None:
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 20, 25, 1)],
            kernels=[Kernel("k", 30, 40, 1)],
            nvtx=[Range("open", 5, None), Range("r", 50, 60)],
        )
    )
    row = only(report.rows("range_summary"), range="open")
    assert (row["instances"], row["never_closed"], row["host_total_ns"]) == (1, 1, None)
    assert only(report.rows("kernel_by_path"), kernel="k")["path"] == "open"
    assert report.row("report_completeness")["open_ranges"] == 1
    assert "1 NVTX ranges were never closed" in report.findings()["range-never-closed"]


def test_33_start_end_ranges_alone_hold_what_is_launched_in_them(path: Path) -> None:
    numbers = range(1, 4)
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 100 * n + 10, 100 * n + 20, n, thread=n) for n in numbers],
            kernels=[Kernel("k", 100 * n + 30, 100 * n + 40, n) for n in numbers],
            nvtx=[Range(f"span {n}", 100 * n, 100 * n + 50, type=60) for n in numbers],
        )
    )
    assert report.table("kernel_by_path", "path kernels") == [
        *((f"span {n}", 1) for n in numbers),
        (OUTSIDE, 0),
    ]
    assert "no thread" in report.findings()["only-start-end-ranges"]
    assert {row["style"] for row in report.rows("range_projection")} == {"start_end"}


def test_35_instances_of_one_name_stay_apart(path: Path) -> None:
    starts = [5, 21, 23, 45]
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, start, start + 1, start) for start in starts],
            kernels=[Kernel("k", 100 + start, 105 + start, start) for start in starts],
            nvtx=[Range("matmul", 0, 10), Range("matmul", 20, 30), Range("matmul", 40, 50)],
        )
    )
    assert report.table("range_projection", "range kernels device_ns") == [
        ("matmul", 1, 5),
        ("matmul", 2, 10),
        ("matmul", 1, 5),
    ]
    summary = report.row("range_summary")
    assert (summary["instances"], summary["kernels"]) == (3, 4)
    steps = report.row("step_comparison")
    assert (steps["kernels_min"], steps["kernels_max"]) == (1, 2)


# -- 04, 05, 25, 37, 91: graphs ----------------------------------------------------------------------

REPLAYS = [
    {"start": 339410404, "end": 339412132, "correlationId": 141},
    {"start": 339416612, "end": 339417988, "correlationId": 142},
]
WHERE = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS, "graphId": 1, "graphExecId": 2}


def graph_level(path: Path, replays: bool) -> Path:
    corrs = (129, 131, 133)
    return make_export(
        path,
        api=[
            *(Call(LAUNCH, 10 * corr, 10 * corr + 5, corr) for corr in corrs),
            *(Call(GRAPH, 10 * corr, 10 * corr + 5, corr) for corr in (141, 142)),
        ],
        kernels=[Kernel("k", 5000 + 10 * corr, 5000 + 10 * corr + 1280, corr) for corr in corrs],
        capture=GRAPH_MODE,
        more={"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [{**WHERE, **replay} for replay in REPLAYS]}
        if replays
        else {},
    )


def test_04_graphs_traced_as_a_whole(path: Path) -> None:
    report = Asked(graph_level(path, replays=True))
    row = report.row("graph_coverage")
    assert (row["graph_trace"], row["graph_launches"], row["as_a_whole"], row["by_node"]) == ("graph", 2, 2, 0)
    launches = report.rows("graph_launches")
    assert [(row["busy_ns"], row["kernels"], row["nodes"]) for row in launches] == [
        (1728, None, None),
        (1376, None, None),
    ]
    assert all(row["reason"] for row in launches)
    reason = report.findings()["graph-level-trace"]
    assert "3104 ns" in reason
    assert "unknown, not zero" in reason
    assert "--cuda-graph-trace=node" in reason
    # What ran inside is in no count of kernels, and the count says so.
    completeness = report.row("report_completeness")
    assert (completeness["kernels"], completeness["replays_without_nodes"]) == (3, 2)
    graph = only(report.rows("launch_counts"), kind="graph")
    assert (graph["calls"], graph["kernels"]) == (2, None)


def test_04_nsys_2023_leaves_runtime_rows_only(path: Path) -> None:
    report = Asked(graph_level(path, replays=False))
    assert [row["busy_ns"] for row in report.rows("graph_launches")] == [None, None]
    row = report.row("graph_coverage")
    assert (row["without_records"], row["coverage"]) == (2, 0.0)
    assert "withheld" in row["verdict"] or "no " in row["verdict"]
    assert "unknown, not zero" in report.findings()["graph-level-trace"]


def test_05_replays_by_node_count_each_kernel_and_each_call_once(path: Path) -> None:
    nodes = range(11, 15)
    report = Asked(
        make_export(
            path,
            api=[Call(GRAPH, 0, 10000, 500), Call(GRAPH, 20000, 30000, 501), Call(LAUNCH, 40000, 40100, 7)],
            kernels=[
                *(Kernel("n", 1000 * (n - 10), 1000 * (n - 10) + 100, 500, node=n) for n in nodes),
                *(Kernel("n", 20000 + 1000 * (n - 10), 20100 + 1000 * (n - 10), 501, node=n) for n in nodes),
                Kernel("direct", 50000, 50100, 7),
            ],
        )
    )
    assert report.table("launch_counts", "kind calls kernels call_ns") == [
        ("graph", 2, 8, 20000),
        ("kernel", 1, 1, 100),
    ]
    assert report.table("graph_launches", "nodes kernels") == [(4, 4), (4, 4)]
    assert report.row("report_completeness")["kernels"] == 9
    assert len({row["node_id"] for row in report.rows("graph_node_times")}) == 4
    assert report.row("graph_coverage")["coverage"] == 1.0


def test_25_launches_into_a_captured_stream_are_set_apart(path: Path) -> None:
    report = Asked(
        make_export(
            path,
            api=[
                Call(BEGIN, 10, 12, 136),
                Call(LAUNCH, 14, 16, 138),
                Call(END, 18, 20, 139),
                Call(GRAPH, 40, 42, 141),
                Call(GRAPH, 60, 62, 142),
            ],
            kernels=[Kernel("k", 50, 55, 141, node=3), Kernel("k", 70, 75, 142, node=3)],
            nvtx=[Range("record", 5, 25), Range("replay", 30, 65)],
        )
    )
    row = report.row("report_completeness")
    assert (row["captured_launches"], row["launches"], row["launches_without_records"]) == (1, 2, 0)
    assert report.findings() == {}
    assert report.table("kernel_by_path", "path kernels") == [("replay", 2), (OUTSIDE, 0)]
    counts = only(report.rows("launch_counts"), kind="kernel")
    assert (counts["calls"], counts["captured"], counts["without_records"]) == (1, 1, 0)


@pytest.mark.parametrize("shape", ["2023", "2025", "none"])
def test_37_where_graph_nodes_are_told(path: Path, shape: str) -> None:
    node = {"start": 5, "globalTid": PROCESS + 1, "graphNodeId": 11, "originalGraphNodeId": 3}
    graphs = [
        {"start": 1, "globalTid": PROCESS + 1, "graphId": 1},
        {"start": 2, "globalTid": PROCESS + 1, "graphId": 1, "graphExecId": 2},
    ]
    more: dict[str, Table] = {
        "2023": {"CUDA_GRAPH_EVENTS": Table([node], OLD_GRAPH_EVENTS)},
        "2025": {"CUDA_GRAPH_NODE_EVENTS": Table([node]), "CUDA_GRAPH_EVENTS": Table(graphs)},
        "none": {},
    }[shape]
    report = Asked(
        make_export(path, api=[Call(GRAPH, 1, 2, 1)], kernels=[Kernel("k", 5, 6, 1, node=11)], more=more)
    )
    origins = report.table("graph_origins", "kind id source_id executions")
    assert (
        origins
        == {
            "2023": [("node", 11, 3, 1)],
            "2025": [("executable graph", 2, 1, None), ("graph", 1, 1, None), ("node", 11, 3, 1)],
            "none": [],
        }[shape]
    )
    # The kernel is the node's whether or not its making was recorded.
    assert report.row("graph_node_times")["node_id"] == (11 if shape == "none" else 3)


def test_91_a_capture_that_never_ended(path: Path) -> None:
    calls = [Call(BEGIN, 10, 12, 1), Call(LAUNCH, 14, 16, 2), Call(LAUNCH, 18, 20, 3)]
    report = Asked(make_export(path, api=calls))
    assert "begun and never ended" in report.findings()["capture-never-ended"]
    assert report.row("report_completeness")["captured_launches"] == 2
    assert "launch-without-kernel" not in report.findings()


# -- 07, 08, 09, 10, 73: who belongs to whom ---------------------------------------------------------


def test_07_correlation_ids_belong_to_a_process(path: Path) -> None:
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 10, 20, 10, process=1), Call(LAUNCH, 12, 22, 10, process=2)],
            kernels=[
                Kernel("one", 30, 40, 10, process=1, device=0),
                Kernel("two", 30, 45, 10, process=2, device=1),
            ],
            nvtx=[Range("rank 0", 0, 50, process=1), Range("rank 1", 0, 50, process=2)],
        )
    )
    assert report.table("kernel_by_path", "path kernel kernels total_ns") == [
        ("rank 1", "two", 1, 15),
        ("rank 0", "one", 1, 10),
        (OUTSIDE, None, 0, 0),
    ]
    assert report.table("launch_counts", "process calls with_records kernels") == [(0, 1, 1, 1), (1, 1, 1, 1)]
    assert report.table("range_projection", "process range kernels") == [(0, "rank 0", 1), (1, "rank 1", 1)]


def test_08_kernels_without_a_call_count_and_are_shown(path: Path) -> None:
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 5, 6, 2)],
            kernels=[Kernel("k", 10 * n, 10 * n + 5, corr) for n, corr in enumerate((1, 2, 3, None), 1)],
            nvtx=[Range("step", 0, 20)],
        )
    )
    assert report.row("kernel_summary")["kernels"] == 4
    assert report.table("kernel_by_path", "path kernels share") == [(OUTSIDE, 3, 0.75), ("step", 1, 0.25)]
    row = report.row("unattributed_kernels")
    assert (row["kernels"], row["without_launch"], row["share"]) == (3, 3, 0.75)
    assert "3 kernels have no API call" in report.findings()["kernel-without-launch"]


def test_08_the_bucket_is_shown_when_it_is_empty(path: Path) -> None:
    report = Asked(
        make_export(
            path, api=[Call(LAUNCH, 5, 6, 2)], kernels=[Kernel("k", 10, 15, 2)], nvtx=[Range("step", 0, 20)]
        )
    )
    assert report.table("unattributed_kernels", "kernel kernels share") == [(None, 0, 0.0)]


def test_09_attribution_by_launch_time_on_the_launching_thread(path: Path) -> None:
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 50, 60, 1)],
            kernels=[Kernel("k", 150, 250, 1)],
            nvtx=[Range("step", 0, 100), Range("other", 140, 260)],
        )
    )
    columns = "range kernels projected_start_ns projected_end_ns"
    right = [("step", 1, 150, 250), ("other", 0, None, None)]
    assert report.table("range_projection", columns) == right
    assert [tuple(row[name] for name in columns.split()) for row in at_once(path, "range_projection")] == right
    assert report.table("kernel_by_path", "path kernels") == [("step", 1), (OUTSIDE, 0)]


def test_10_nested_ranges_inclusive_and_exclusive(path: Path) -> None:
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 20, 25, 1), Call(LAUNCH, 70, 75, 2)],
            kernels=[Kernel("k", 100, 105, 1), Kernel("k", 110, 115, 2)],
            nvtx=[Range("outer", 0, 100), Range("inner", 10, 50)],
        )
    )
    exclusive = report.table("kernel_by_path", "path kernels total_ns")
    assert exclusive == [("outer", 1, 5), ("outer / inner", 1, 5), (OUTSIDE, 0, 0)]
    assert report.table("kernel_by_range", "range kernels total_ns") == [
        ("outer", 2, 10),
        ("inner", 1, 5),
        (OUTSIDE, 0, 0),
    ]
    assert report.table("range_tree", "path own_kernels kernels") == [("outer", 1, 2), ("outer / inner", 1, 1)]
    assert sum(row[1] for row in exclusive) == report.row("kernel_summary")["kernels"]


def test_73_one_stream_number_on_two_devices(path: Path) -> None:
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 0, 100, 1)],
            kernels=[
                Kernel("k", 0, 90, 1, device=0, context=1, stream=17),
                Kernel("k", 0, 90, None, device=1, context=2, stream=17),
            ],
        )
    )
    assert report.table("stream_utilisation", "device context stream busy_ns capture_ns capture_share") == [
        (0, 1, 17, 90, 100, 0.9),
        (1, 2, 17, 90, 100, 0.9),
    ]


# -- 23: what is around the work that is meant --------------------------------------------------------

SAXPY = "saxpy"
LIBRARY = [
    "cupy_add__float32_float_float32",
    "void cub::DeviceReduceKernel<int>(T2)",
    "void cub::DeviceReduceSingleTileKernel<int>(T2)",
]


def test_23_setup_and_library_kernels_are_listed_apart(path: Path) -> None:
    names = ["cupy_arange__float_float_float32"] * 2 + [SAXPY] * 2 + LIBRARY
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 10 * n, 10 * n + 5, n) for n in range(len(names))],
            kernels=[Kernel(name, 100 + 10 * n, 105 + 10 * n, n) for n, name in enumerate(names)],
            nvtx=[Range("work", 20, 39)],
        )
    )
    rows = report.rows("kernel_by_path")
    assert [(row["kernel"], row["kernels"]) for row in rows if row["path"] == "work"] == [(SAXPY, 2)]
    others = {row["kernel"]: row["kernels"] for row in report.rows("unattributed_kernels")}
    assert others == {"cupy_arange__float_float_float32": 2, **dict.fromkeys(LIBRARY, 1)}


# -- 39, 41, 43, 45, 47, 92: schemas -----------------------------------------------------------------


def test_39_versions_from_rows_that_repeat(path: Path) -> None:
    report = Asked(
        make_export(
            path,
            kernels=None,
            export=[
                ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
                ("export_product_version", "2025.5.2.266"),
                ("EXPORT_SCHEMA_VERSION", "3.24.0"),
                ("EXPORT_PARAM_OUTUPT_FILE", "a.sqlite"),
                ("EXPORT_PARAM_OUTPUT_FILE", "b.sqlite"),
            ],
            capture=[("CAPTURE_EVENT_TYPE", "NvtxEvents"), ("CAPTURE_EVENT_TYPE", "Cuda")],
        )
    )
    source = report.row("sources")
    assert (source["tool_version"], source["schema_version"]) == ("2025.5.2.266", "3.24.0")
    # CUDA stands in the second row of that name.
    assert report.row("report_completeness")["kernels_told"] == "table absent"


@pytest.mark.parametrize(
    ("export", "code"),
    [
        (None, "schema-unknown"),
        ({**VERSION, "EXPORT_SCHEMA_VERSION": "4.0.0"}, "schema-newer-major"),
        ({**VERSION, "EXPORT_SCHEMA_VERSION": "3.99.1"}, "schema-newer-minor"),
        ({**VERSION, "EXPORT_SCHEMA_VERSION": "garbage"}, "schema-unknown"),
        (VERSION, None),
    ],
)
def test_41_unknown_schemas_work_and_are_told(
    path: Path, export: dict[str, str] | None, code: str | None
) -> None:
    report = Asked(
        make_export(path, api=[Call(LAUNCH, 1, 2, 1)], kernels=[Kernel("k", 5, 9, 1)], export=export)
    )
    assert list(report.findings()) == ([code] if code else [])
    assert report.table("kernel_summary", "kernel kernels total_ns") == [("k", 1, 4)]


def test_41_missing_columns_are_listed_by_table(path: Path) -> None:
    make_export(path, api=[Call(LAUNCH, 1, 2, 1)], kernels=[Kernel("k", 5, 9, 1)])
    change(path, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN correlationId")
    change(path, "ALTER TABLE NVTX_EVENTS DROP COLUMN eventType")
    report = Asked(path)
    told = [row["subject"] for row in report.rows("findings") if row["code"] == "missing-column"]
    assert told == ["CUPTI_ACTIVITY_KIND_KERNEL.correlationId", "NVTX_EVENTS.eventType"]
    assert report.row("kernel_summary")["kernels"] == 1


def test_41_columns_and_tables_that_nobody_knows_are_no_trouble(path: Path) -> None:
    make_export(path, api=[Call(LAUNCH, 1, 2, 1)], kernels=[Kernel("k", 5, 9, 1)])
    change(
        path,
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN clusterX INTEGER",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN tensorSizeMinusOneElements TEXT NOT NULL DEFAULT ''",
        'CREATE TABLE NEW_THINGS ("end" BLOB, "group" TEXT)',
    )
    assert Asked(path).table("kernel_summary", "kernel kernels total_ns") == [("k", 1, 4)]


def test_43_api_names_by_their_stem(path: Path) -> None:
    names = [
        *("cudaLaunchKernel_v7000", "cudaLaunchKernel_ptsz_v7000", "cuLaunchKernelEx", "cuLaunchKernel"),
        *("cudaGraphLaunch_v10000", "cuKernelGetName", "cudaGetDeviceCount"),
    ]
    calls = [Call(name, 10 * n, 10 * n + 5, n) for n, name in enumerate(names)]
    report = Asked(make_export(path, api=calls, kernels=None))
    kinds = {row["api"]: (row["kind"], row["calls"]) for row in report.rows("api_summary")}
    assert kinds == {
        "cudaLaunchKernel": ("kernel", 2),
        "cuLaunchKernelEx": ("kernel", 1),
        "cuLaunchKernel": ("kernel", 1),
        "cudaGraphLaunch": ("graph", 1),
        "cuKernelGetName": ("other", 1),
        "cudaGetDeviceCount": ("other", 1),
    }
    row = report.row("report_completeness")
    assert (row["launches"], row["kernels"]) == (5, None)


def test_45_names_that_are_missing_lose_no_kernel(path: Path) -> None:
    make_export(path, kernels=[Kernel(name, 10, 20, None) for name in ("a", "b", "c")])
    change(
        path,
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 777, shortName = 777 WHERE rowid = 3",
        "DELETE FROM StringIds WHERE value = 'c'",
    )
    right = [("<string 777 missing>", 1), ("a", 1), ("b", 1)]
    assert Asked(path).table("kernel_summary", "kernel kernels") == right
    assert [(row["kernel"], row["kernels"]) for row in at_once(path, "kernel_summary")] == right


def test_45_no_names_at_all(path: Path) -> None:
    make_export(path, kernels=[Kernel(name, 10, 20, None) for name in ("a", "b", "c")])
    report = Asked(change(path, "DROP TABLE StringIds"))
    names = report.table("kernel_summary", "kernel")
    assert names == [f"<string {number} missing>" for number in (1, 2, 3)]
    assert [code for code in report.findings() if "string" in code] == ["no-string-table"]


def test_45_a_number_that_stands_for_two_names_doubles_no_kernel(path: Path) -> None:
    """nsys writes each number once; an export that was put together from others may not."""
    make_export(
        path,
        api=[Call("cudaLaunchKernel_v7000", 1, 2, 1)],
        kernels=[Kernel("k", 10, 20, 1), Kernel("k", 30, 45, 1)],
        nvtx=[Range(None, 0, 5, registered=1000)],
        strings={1000: "step"},
        more={
            "CUPTI_ACTIVITY_KIND_MEMCPY": [{"start": 50, "end": 60, "correlationId": 1, "copyKind": 1}],
            "ENUM_CUDA_MEMCPY_OPER": [{"id": 1, "label": "Host-to-Device"}, {"id": 1, "label": "Other"}],
        },
    )
    change(
        path,
        "ALTER TABLE StringIds RENAME TO once",
        "CREATE TABLE StringIds AS SELECT CAST(id AS INTEGER) AS id, value FROM once",
        "INSERT INTO StringIds SELECT id, value || ' too' FROM once UNION ALL SELECT id, value FROM once",
    )
    report = Asked(path)
    assert report.table("kernel_summary", "kernel kernels total_ns") == [("k", 2, 25)]
    assert [(row["kernel"], row["kernels"]) for row in at_once(path, "kernel_summary")] == [("k", 2)]
    assert report.table("range_projection", "range kernels") == [("step", 2)]
    assert [(row["range"], row["kernels"]) for row in at_once(path, "range_projection")] == [("step", 2)]
    assert report.sql("SELECT count(*) FROM launch UNION ALL SELECT count(*) FROM memory_operation") == [1, 1]
    assert "3 numbers" in report.findings()["ambiguous-names"]


def test_07_calls_that_share_a_correlation_id_are_told(path: Path) -> None:
    make_export(
        path,
        api=[Call("cudaLaunchKernel_v7000", 10, 20, 5), Call("cudaLaunchKernel_v7000", 50, 60, 5)],
        kernels=[Kernel("k", 70, 80, 5)],
        nvtx=[Range("a", 0, 30), Range("b", 40, 65)],
    )
    report = Asked(path)
    assert report.table("kernel_by_range", "range kernels") == [("a", 1), ("<outside every range>", 0)]
    assert "so 1 times a kernel" in report.findings()["repeated-correlation-id"]


def test_47_ids_of_machines_with_the_highest_bit_are_negative(path: Path) -> None:
    """All 64 bits of a globalTid are in use where machines have large numbers; SQLite tells it as signed."""
    make_export(path, api=[Call("cudaLaunchKernel_v7000", 1, 2, 1)], kernels=[Kernel("k", 3, 4, 1)], nvtx=[])
    machine = -(1 << 63) + (945961 << 24)
    change(
        path,
        f"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = {machine + 77}",
        f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = {machine}",
    )
    assert Asked(path).table("processes", "pid launches kernels") == [(945961, 1, 1)]


def test_47_process_and_thread_ids_are_whole_numbers(path: Path) -> None:
    make_export(path, api=[Call(LAUNCH, 1, 2, 1)], kernels=[Kernel("k", 5, 9, 1)])
    change(
        path,
        "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = 297345569681193",
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = 297345568735232",
    )
    report = Asked(path)
    row = report.row("processes")
    assert (row["pid"], row["kernels"], row["launches"]) == (945961, 1, 1)
    assert type(row["pid"]) is int
    assert report.row("launch_counts")["with_records"] == 1


def test_92_the_highest_version_of_a_table_and_no_other_table(path: Path) -> None:
    make_export(path, kernels=[Kernel("new", 10, 20, None)] * 4)
    change(
        path,
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO cupti_activity_kind_kernel_v10",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V2 (start INTEGER, end INTEGER)",
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL_V2 VALUES (1, 2)",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY2 (start INTEGER, end INTEGER, bytes INTEGER)",
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY2 VALUES (1, 2, 3)",
    )
    report = Asked(path)
    assert report.table("kernel_summary", "kernel kernels") == [("new", 4)]
    assert "cupti_activity_kind_kernel_v10" in report.findings()["versioned-table"]
    assert report.rows("memcpy_summary") == []
    assert [(row["kernel"], row["kernels"]) for row in at_once(path, "kernel_summary")] == [("new", 4)]


def test_92_strings_are_found_in_a_version_of_their_table(path: Path) -> None:
    make_export(path, kernels=[Kernel("k", 10, 20, None)])
    report = Asked(change(path, "ALTER TABLE StringIds RENAME TO StringIds_V2"))
    assert report.table("kernel_summary", "kernel") == ["k"]
    assert report.findings()["versioned-table"].startswith("StringIds is not there")


def test_92_the_plain_name_comes_before_any_version(path: Path) -> None:
    make_export(path, kernels=[Kernel("plain", 10, 20, None)])
    change(path, "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V3 (start INTEGER, end INTEGER)")
    report = Asked(path)
    assert report.table("kernel_summary", "kernel") == ["plain"]
    assert "versioned-table" not in report.findings()


# -- the table of schema facts: each version's own columns --------------------------------------------


@pytest.mark.parametrize("year", [2019, 2023, 2025, 2026])
def test_every_year_s_schema_is_read(path: Path, year: int) -> None:
    overhead = [{"start": 12, "end": 14, "globalTid": PROCESS + 1}]
    make_export(
        path,
        api=[Call(LAUNCH, 10, 20, 1)],
        kernels=[Kernel("k", 30, 40, 1, node=None if year == 2019 else 5)],
        nvtx=[Range("step", 0, 50)],
        more={"PROFILER_OVERHEAD": Table(overhead, OLD_OVERHEAD if year == 2023 else None)}
        if year > 2019
        else {},
    )
    if year == 2019:
        change(path, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN graphNodeId")
    if year >= 2025:
        change(path, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN graphId INTEGER")
    if year == 2026:
        change(
            path,
            "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN clusterX INTEGER",
            "ALTER TABLE NVTX_EVENTS ADD COLUMN binaryData TEXT",
            "UPDATE NVTX_EVENTS SET binaryData = x'00ff'",
        )
    report = Asked(path)
    assert report.findings() == {}
    assert report.table("kernel_by_path", "path kernel kernels") == [("step", "k", 1), (OUTSIDE, None, 0)]
    spent = [row for row in report.rows("capture_window") if row["record"] == "overhead"]
    assert [row["records"] for row in spent] == ([] if year == 2019 else [1])


def test_tables_are_found_whatever_their_letters_case(path: Path) -> None:
    make_export(path, kernels=[Kernel("k", 1, 2, None)])
    with nsys_export.opened(path) as export:
        assert nsys_export.find(export, "cupti_activity_kind_kernel") == "CUPTI_ACTIVITY_KIND_KERNEL"
