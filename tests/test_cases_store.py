"""More faults that users of nsys reports have met, numbered as in the collection: files, times, privacy, size.

Some stand elsewhere, where what they are about is tested:

    26, 90   times of different tools and of profiled runs never mix: test_inference.py, test_reconciliation*.py
    29, 97   what a report would leak: test_scan.py; what a copy of a run leaves out: test_share.py
    59       names of files: test_ingest.py (any name), test_readers_nsys.py
    61, 71   exports older than their report, an nsys that is too old: test_ingest.py, test_ingest_tools.py
    65       nsys that made no report: test_capture_run.py
    93       two processes at one run, one killed, a full disk: test_ingest_interrupted.py
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from nsys_reports import Asked, at_once, only
from tiny_export import PROCESS, VERSION, Call, Kernel, Range, Table, change, make_export

from nsight_suite import query
from nsight_suite.capturing.diagnosis import StepResult, why_failed
from nsight_suite.capturing.passes import PassPlan, Step
from nsight_suite.capturing.process import Ended
from nsight_suite.evidence.readers import nsys
from nsight_suite.evidence.store import Store, create_shared_views, empty_store
from nsight_suite.evidence.tables import tables
from nsight_suite.ingesting.making import ingest
from nsight_suite.querying import formats, run_named

DATA = Path(__file__).parent / "data"
LAUNCH, GRAPH = "cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000"
OUTSIDE = "<outside every range>"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.sqlite"


# -- 49, 51, 53: engines and types -------------------------------------------------------------------


def test_49_no_column_of_the_evidence_needs_quotes_in_either_engine() -> None:
    with empty_store() as connection, closing(sqlite3.connect(":memory:")) as database:
        for name in ("kernel", "launch", "range", "path", "memory_operation", "sync", "api_call", "graph_run"):
            table = tables()[name]
            columns = ", ".join(table.column_names)
            connection.execute(f'SELECT {columns} FROM "{table.name}"')
            database.execute(f'CREATE TABLE "{table.name}" ({columns})')
            database.execute(f'SELECT {columns} FROM "{table.name}"')


def test_51_cells_of_another_type_are_counted_and_kill_no_row(path: Path) -> None:
    make_export(
        path,
        api=[Call(LAUNCH, 1, 2, 1)],
        kernels=[Kernel("k", 10, 20, 1), Kernel("k", 30, 40, 1)],
        nvtx=[Range("r", 0, 5), Range("s", 6, 7)],
    )
    change(
        path,
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 'oops', contextId = x'00ff' WHERE start = 10",
        "ALTER TABLE NVTX_EVENTS ADD COLUMN binaryData TEXT",
        "UPDATE NVTX_EVENTS SET binaryData = x'00ff', text = x'00ff' WHERE start = 6",
    )
    report = Asked(path)
    assert report.table("kernel_summary", "kernels total_ns") == [(2, 20)]
    assert report.table("stream_utilisation", "context stream kernels") == [(1, 7, 1), (None, None, 1)]
    assert report.table("range_projection", "range") == ["r", "<unnamed>"]
    told = {row["subject"]: row["reason"] for row in report.rows("findings") if row["code"] == "odd-cells"}
    assert "2 cells" in told["CUPTI_ACTIVITY_KIND_KERNEL"]
    assert "1 cells" in told["NVTX_EVENTS"]


def test_53_numbers_that_are_stored_as_text_are_numbers(path: Path) -> None:
    make_export(path, kernels=[])
    change(
        path,
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start VARCHAR, end VARCHAR, globalPid VARCHAR, "
        "correlationId VARCHAR, demangledName VARCHAR, blob BLOB)",
        f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('9', '10', '{PROCESS}', '1', '1', x'00ff'), "
        f"('10', '30', '{PROCESS}', '2', '1', NULL), ('100', '150', '{PROCESS}', '3', '1', NULL)",
    )
    report = Asked(path)
    kernels = only(report.rows("capture_window"), record="kernel")
    assert (kernels["records"], kernels["first_ns"], kernels["last_ns"]) == (3, 9, 150)
    assert report.table("kernel_summary", "kernels min_ns p50_ns max_ns total_ns") == [(3, 1, 20, 50, 71)]


def test_moments_that_cannot_be_enter_no_time(path: Path) -> None:
    """A flipped bit makes 1000 ns into three centuries."""
    make_export(path, kernels=[Kernel("k", 10, 20, None), Kernel("k", 30, 40, None)])
    change(path, f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = {40 - 2**63} WHERE start = 30")
    report = Asked(path)
    assert report.table("kernel_summary", "kernels untimed total_ns") == [(2, 1, 10)]
    assert "1 cells" in report.findings()["odd-cells"]


# -- 55, 57: files that are none ---------------------------------------------------------------------


def test_55_a_missing_path_creates_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert query.main([str(tmp_path / "does_not_exist.sqlite"), "kernel_summary"]) == 2
    assert "does_not_exist.sqlite" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("question", ["kernel_summary", "range_projection", "report_completeness"])
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda raw: b"", "empty"),
        (lambda raw: raw[: len(raw) // 2], "truncated"),
        (lambda raw: b"a text\n" * 100, "report.sqlite"),
        (lambda raw: raw[:-4096], "truncated"),
        (lambda raw: raw[:-1], "truncated"),
        (lambda raw: raw[:8192] + bytes(len(raw) - 8192), "damaged"),
    ],
    ids=["empty", "half", "text", "last page", "last byte", "zeroed"],
)
def test_57_what_is_no_whole_export_is_refused_by_name(
    path: Path,
    capsys: pytest.CaptureFixture[str],
    question: str,
    damage: Callable[[bytes], bytes],
    words: str,
) -> None:
    path.write_bytes(damage((DATA / "nsys_node.sqlite").read_bytes()))
    assert query.main([str(path), question]) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert "report.sqlite" in told.err
    assert told.out == ""
    assert [entry.name for entry in path.parent.iterdir()] == ["report.sqlite"]


def test_57_a_report_under_the_name_of_an_export_gets_the_command(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_bytes(b"NVIDIA Tegra Profiler Report 2023@4@4@54-1v0.\n" + bytes(100))
    assert query.main([str(path), "kernel_summary"]) == 2
    assert "must be exported" in capsys.readouterr().err


# -- 27, 28, 86, 87, 88, 89, 100: time ---------------------------------------------------------------


def test_27_work_that_overlaps_has_a_sum_and_a_union(path: Path) -> None:
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 0, 5, 1), Call("cudaDeviceSynchronize_v3020", 5, 200, 2)],
            kernels=[Kernel("k", 0, 100, 1, stream=7), Kernel("k", 50, 150, None, stream=14)],
        )
    )
    row = report.row("concurrency")
    assert (row["sum_ns"], row["union_ns"], row["two_ns"], row["most_at_once"]) == (200, 150, 50, 2)
    window = only(report.rows("capture_window"), record="program")
    assert (row["union_ns"] / window["span_ns"], window["span_ns"] - row["union_ns"]) == (0.75, 50)
    assert report.table("device_gaps", "busy_ns idle_ns busy_share") == [(150, 0, 1.0)]


def test_27_no_work_has_no_rows_and_no_division_by_zero(path: Path) -> None:
    report = Asked(make_export(path))
    for name in ("concurrency", "device_gaps", "stream_utilisation", "copy_overlap", "longest_gaps"):
        assert report.rows(name) == []


def test_28_the_first_launch_is_kept_and_told_apart(path: Path) -> None:
    durations = [45925, 4441, 3079]
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 100_000 * n, 100_000 * n + ns, n) for n, ns in enumerate(durations)],
            kernels=[Kernel("k", 100_000 * n + 60_000, 100_000 * n + 60_100, n) for n in range(3)],
            more={
                "CUPTI_ACTIVITY_KIND_OVERHEAD": [
                    {"start": 100, "end": 40_000, "correlationId": 0, "overheadType": 7}
                ]
            },
        )
    )
    call = only(report.rows("first_and_steady"), what="call")
    assert (call["count"], call["first_ns"], call["rest"], call["rest_p50_ns"]) == (3, 45925, 2, 3760)
    assert call["note"] == "too few: 2 after the first"
    assert report.row("api_summary")["calls"] == 3
    cost = report.row("profiler_cost")
    assert (cost["kind"], cost["records"], cost["total_ns"]) == ("type 7", 1, 39_900)


def test_86_kernels_without_times_count_and_enter_no_time(path: Path) -> None:
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 600, 610, 5), Call(LAUNCH, 620, 630, 6)],
            kernels=[Kernel("k", 0, 0, 5), Kernel("k", 1000, 1500, 6)],
            nvtx=[Range("step", 500, 700)],
        )
    )
    assert report.table("kernel_summary", "kernels untimed total_ns mean_ns min_ns") == [(2, 1, 500, 500, 500)]
    row = report.row("range_projection")
    assert (row["kernels"], row["device_ns"], row["projected_start_ns"], row["projected_ns"]) == (
        2,
        500,
        1000,
        500,
    )
    assert at_once(path, "range_projection") == report.rows("range_projection")
    assert only(report.rows("capture_window"), record="program")["first_ns"] == 500
    assert report.row("report_completeness")["untimed_kernels"] == 1
    assert "1 kernels have no device times" in report.findings()["untimed-kernel"]


def test_87_shares_are_of_one_window_or_withheld(path: Path) -> None:
    cost = [{"start": 0, "end": 320_000_000, "globalTid": PROCESS + 1}]
    several = [{"start": 1000, "end": 10_000, "globalTid": PROCESS + thread} for thread in (1, 2)]
    for number, rows, inside, share in ((1, cost, 9000, 1.0), (2, several, 18_000, None)):
        report = Asked(
            make_export(
                path.with_name(f"r{number}.sqlite"),
                api=[Call(LAUNCH, 1000, 1010, 1)],
                kernels=[Kernel("k", 2000, 10_000, 1)],
                more={"PROFILER_OVERHEAD": rows},
            )
        )
        row = report.row("profiler_cost")
        assert (row["inside_ns"], row["window_ns"], row["share"]) == (inside, 9000, share)
        assert (row["reason"] is None) is (share is not None)


def test_88_clocks_are_told_and_only_durations_compare(path: Path) -> None:
    epoch = 1_790_000_000_000_000_000
    settings = {"EXPORT_PARAM_TIME_NORMALIZE": "true", "EXPORT_PARAM_TIME_SHIFT": "-5"}
    report = Asked(
        make_export(
            path,
            nvtx=[Range("iter", epoch + 42_796_770, epoch + 42_856_770)],
            export={**VERSION, **settings},
            more={"TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": epoch}]},
        )
    )
    told = report.sql("SELECT time_normalized, time_shift_ns, session_start_utc_ns FROM report")
    assert told == [(True, -5, epoch)]
    assert report.row("range_projection")["duration_ns"] == 60_000


def test_88_an_export_that_tells_no_clock_leaves_it_unknown(path: Path) -> None:
    report = Asked(make_export(path))
    assert report.sql("SELECT time_normalized, time_shift_ns, session_start_utc_ns FROM report") == [
        (None,) * 3
    ]


def test_89_no_kernels_are_no_speed_up(tmp_path: Path) -> None:
    before = make_export(
        tmp_path / "before.sqlite", kernels=[Kernel("k", 200 * n, 200 * n + 100, n) for n in range(10)]
    )
    after = make_export(tmp_path / "later.sqlite", kernels=None)
    with empty_store() as connection:
        nsys.read(connection, before, "before")
        nsys.read(connection, after, "later")
        create_shared_views(connection)
        (row,) = run_named(Store(connection, {}), "compare_reports").records()
    assert (row["verdict"], row["ratio"], row["kernels"]) == ("incomparable", None, None)
    assert row["reason"]


def test_100_events_without_times_are_no_moments(path: Path) -> None:
    """CUPTI writes 0 for a time that it did not take, and 4294967295 for no event."""
    make_export(
        path, api=[Call("cudaEventSynchronize_v3020", 100, 200, 1)], kernels=[Kernel("k", 150, 180, None)]
    )
    change(
        path,
        "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, eventId INTEGER)",
        "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1), (0, 2)",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, eventId INTEGER)",
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (0, 0, 4294967295)",
    )
    report = Asked(path)
    assert only(report.rows("capture_window"), record="program")["first_ns"] == 100
    assert report.table("synchronisation", "api waits total_ns") == [("cudaEventSynchronize", 1, 100)]


# -- 63, 67, 69: captures that lost something --------------------------------------------------------


@pytest.mark.parametrize("status", [0, 3, 137, 143])
@pytest.mark.parametrize("report", [True, False])
def test_63_success_is_a_report_and_a_good_exit_status(tmp_path: Path, status: int, *, report: bool) -> None:
    """nsys hands on the program's status. A pass has a new folder, so no stale report can lie in it."""
    step = Step(argv=("nsys", "profile"), outputs=("nsys.nsys-rep",))
    nothing: Any = None
    plan = PassPlan(name="nsys", tool="nsys", timeout_s=60, plan=nothing, steps=(step,), options={})
    if report:
        (tmp_path / "nsys.nsys-rep").write_bytes(b"a report")
    (tmp_path / "log").write_text("the program's last words\n")
    ended = Ended(exit_status=status, timed_out=False, duration_ns=1)
    reason = why_failed(plan, [StepResult(step, ended)], tmp_path, tmp_path / "log")
    if status:
        assert reason is not None
        assert f"exit status {status}" in reason
        assert "last words" in reason
    else:
        assert (reason is None) is report


def test_67_launches_at_the_end_without_records(path: Path) -> None:
    numbers = range(1, 11)
    report = Asked(
        make_export(
            path,
            api=[
                *(Call(LAUNCH, 10 * n, 10 * n + 1, n) for n in numbers),
                Call("cudaProfilerStop_v4000", 200, 210, 11),
            ],
            kernels=[Kernel("k", 10 * n + 5, 10 * n + 6, n) for n in numbers if n <= 8],
        )
    )
    reason = report.findings()["launch-without-kernel"]
    assert reason.startswith("2 launches have no device record, 2 of them after the last one that has")
    assert "Synchronise" in reason
    row = report.row("report_completeness")
    assert (row["launches"], row["launches_without_records"], row["kernels"]) == (10, 2, 8)


def test_69_processes_with_and_without_device_records(path: Path) -> None:
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 10, 20, 1, process=1), Call(LAUNCH, 10, 20, 1, process=2)],
            kernels=[Kernel("k", 30, 40, 1, process=1)],
            more={
                "PROCESSES": [{"globalPid": n * PROCESS, "pid": 1000 + n, "name": "python3"} for n in (1, 2, 3)]
            },
        )
    )
    assert report.table("processes", "pid listed launches kernels on_device") == [
        (1001, True, 1, 1, True),
        (1002, True, 1, 0, False),
        (1003, True, 0, 0, False),
    ]
    assert report.row("report_completeness")["idle_processes"] == 2
    # The one that launched and left nothing is named; one that never launched is no fault.
    reason = report.findings()["process-without-device-work"]
    assert "1002" in reason
    assert "1003" not in reason


# -- 75: ties ----------------------------------------------------------------------------------------


def test_75_ties_are_ordered_by_name_then_id_whatever_the_order_of_rows(tmp_path: Path) -> None:
    twins = [("b", 1), ("a", 0)] * 3
    kernels = [Kernel(name, 10 * n, 10 * n + 5, n, device=device) for n, (name, device) in enumerate(twins)]
    calls = [Call(LAUNCH, n, n + 1, n) for n in range(6)]
    ranges = [Range("y", 0, 100), Range("x", 0, 100)]
    answers = []
    for number, order in enumerate((1, -1)):
        report = Asked(
            make_export(
                tmp_path / f"{number}.sqlite",
                api=calls[::order],
                kernels=kernels[::order],
                nvtx=ranges,
            )
        )
        names = (
            "kernel_summary",
            "kernel_by_path",
            "stream_utilisation",
            "concurrency",
            "range_projection",
            "gpus",
        )
        texts = [formats.as_text(run_named(report.store, name), "csv") for name in names]
        answers.append(
            [text.replace(f"\n{number},", "\nr,") for text in texts]
        )  # the pass bears the file's name
        assert report.table("kernel_summary", "device kernel") == [(0, "a"), (1, "b")]
    assert answers[0] == answers[1]


# -- 29, 97: what must not get out -------------------------------------------------------------------


def test_29_97_no_secret_enters_the_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export = make_export(
        tmp_path / "report.sqlite",
        api=[Call(LAUNCH, 1, 2, 1)],
        kernels=[Kernel("k", 5, 9, 1)],
        nvtx=[Range("step", 0, 3), Range("secret mark dummy", 4, None, type=34)],
        strings={12: "AWS_SECRET_ACCESS_KEY=dummy\0PWD=/x", 13: "python dummy"},
        capture=[
            ("CAPTURE_EVENT_TYPE", "Cuda"),
            ("PROCESS_0:ENVIRONMENT_VARIABLE", 'HF_TOKEN="dummy"'),
            ("PROCESS_0:ARGUMENT_0", "--password=dummy"),
        ],
        export={**VERSION, "EXPORT_HOST": "dummy-host", "EXPORT_PARAM_INPUT_PATH_ABS": "/home/dummy/x"},
        more={
            "TARGET_INFO_SYSTEM_ENV": [
                {"name": "DeviceEnvironment", "value": "AWS_SECRET_ACCESS_KEY=dummy;HF_TOKEN=dummy"}
            ],
            "PROCESSES": [{"globalPid": PROCESS, "pid": 1, "name": "dummy-program"}],
            "DIAGNOSTIC_EVENT": [
                {"timestamp": 1, "text": "Failed to open /home/dummy/lib.so: buffers full, events lost"}
            ],
        },
    )
    run = ingest([export], tmp_path / "run").run
    with empty_store() as connection:
        for table in tables():
            rows = connection.execute(f"FROM read_parquet('{run.evidence / f'{table}.parquet'}')").fetchall()
            assert "dummy" not in str(rows), table
    assert "dummy" not in (run.path / "run.json").read_text(encoding="utf-8")
    for name in ("findings", "processes", "marks", "sources", "report_completeness"):
        assert query.main([str(export), name]) == 0
    printed = capsys.readouterr()
    assert "dummy" not in printed.out + printed.err


# -- 98: size ----------------------------------------------------------------------------------------

COUNT = 66_000
NUMBERS = f"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {COUNT})"


def test_98_two_hundred_thousand_ranges_and_launches_take_seconds(path: Path) -> None:
    make_export(path, api=[Call(LAUNCH, 0, 0, None)], kernels=[], strings={1797657063271174144: "a huge id"})
    thread = PROCESS + 1
    change(
        path,
        *(
            f"{NUMBERS} INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text) "
            f"SELECT 1000 * i + {5 * depth}, 1000 * i + {900 - 5 * depth}, 59, {thread}, '{name}' FROM n"
            for depth, name in enumerate(("step", "layer", "op"))
        ),
        *(
            f"{NUMBERS} INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 1000 * i + {at}, 1000 * i + {at + 10}, "
            f"{thread}, 3 * i + {part}, 1 FROM n"
            for part, at in enumerate((100, 300, 500))
        ),
        *(
            f"{NUMBERS} INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL "
            "(start, end, correlationId, globalPid, demangledName) "
            f"SELECT 1000 * i + {at + 50}, 1000 * i + {at + 57}, 3 * i + {part}, {PROCESS}, "
            "1797657063271174144 FROM n"
            for part, at in enumerate((100, 300, 500))
        ),
    )
    began = time.process_time()
    rows = at_once(path, "range_summary")
    assert time.process_time() - began < 20, "a join of ranges and launches would take hours"
    assert [(row["range"], row["instances"], row["kernels"], row["device_total_ns"]) for row in rows] == [
        (name, COUNT, 3 * COUNT, 21 * COUNT) for name in ("step", "layer", "op")
    ]
    (row,) = at_once(path, "kernel_summary")
    assert (row["kernel"], row["kernels"], row["p50_ns"]) == ("a huge id", 3 * COUNT, 7)


# -- right answers that others miss ------------------------------------------------------------------


def test_a_grid_id_is_no_sign_of_a_graph(path: Path) -> None:
    make_export(path, api=[Call(LAUNCH, 1, 2, 1)], kernels=[Kernel("k", 5, 9, 1)] * 41)
    change(path, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN gridId INTEGER NOT NULL DEFAULT 7")
    report = Asked(path)
    assert report.rows("graph_coverage") == []
    assert report.rows("graph_node_times") == []
    assert report.row("report_completeness")["replays_without_nodes"] == 0


def test_replays_that_are_covered_in_part_have_no_verdict(path: Path) -> None:
    launches, covered = 4183, 753
    report = Asked(
        make_export(
            path,
            api=[Call(GRAPH, 100 * n, 100 * n + 10, n) for n in range(launches)],
            kernels=[Kernel("n", 100 * n + 20, 100 * n + 30, n, node=1) for n in range(covered)],
        )
    )
    row = report.row("graph_coverage")
    assert (row["graph_launches"], row["by_node"], row["without_records"], row["coverage"]) == (
        4183,
        753,
        3430,
        0.18,
    )
    assert row["verdict"].startswith("withheld: 18 % covered")
    reason = report.findings()["graph-coverage"]
    assert "18 % are covered" in reason
    assert "no verdict" in reason


def test_three_launches_and_two_graphs_are_not_three_kernels(path: Path) -> None:
    """3840 ns of kernels are seen; 3104 ns, 45 % of all, were spent in graphs that were traced as a whole."""
    place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS}
    report = Asked(
        make_export(
            path,
            api=[Call(LAUNCH, 10 * n, 10 * n + 1, n) for n in (1, 2, 3)]
            + [Call(GRAPH, 10 * n, 10 * n + 1, n) for n in (4, 5)],
            kernels=[Kernel("k", 2000 * n, 2000 * n + 1280, n) for n in (1, 2, 3)],
            capture={"A:CUDA_GRAPH_TRACE_OPTIONS:MODE": "Graph", "CAPTURE_EVENT_TYPE": "Cuda"},
            more={
                "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": Table(
                    [
                        {**place, "start": 10_000, "end": 11_728, "correlationId": 4},
                        {**place, "start": 20_000, "end": 21_376, "correlationId": 5},
                    ]
                )
            },
        )
    )
    assert report.row("kernel_summary")["total_ns"] == 3840
    assert sum(row["busy_ns"] for row in report.rows("graph_launches")) == 3104
    assert report.row("concurrency")["sum_ns"] == 6944
    assert report.row("graph_coverage")["verdict"].startswith("busy time only")
    assert "--cuda-graph-trace=node" in report.findings()["graph-level-trace"]
