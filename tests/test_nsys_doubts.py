"""What a reader must say of an nsys export that cannot answer everything: one planted fault each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_export import PROCESS, Call, Kernel, Range, change, make_export

from nsight_suite.evidence import store
from nsight_suite.evidence.readers import nsys

LAUNCH, GRAPH = "cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000"
BEGIN, END = "cudaStreamBeginCapture_v10000", "cudaStreamEndCapture_v10000"


@pytest.fixture
def connection() -> Iterator[store.Connection]:
    with store.empty_store() as opened:
        store.create_shared_views(opened)
        yield opened


def read(connection: store.Connection, path: Path) -> dict[str, str]:
    """Read an export; returns its findings, code and reason."""
    nsys.read(connection, path, "r")
    return dict(connection.execute("SELECT code, reason FROM finding").fetchall())


def rows(connection: store.Connection, sql: str) -> list[Any]:
    return connection.execute(sql).fetchall()


def test_a_kernel_that_ends_before_it_starts_counts_without_times(
    connection: store.Connection, tmp_path: Path
) -> None:
    export = make_export(
        tmp_path / "r.sqlite",
        api=[Call(LAUNCH, 10, 20, 1), Call(LAUNCH, 30, 40, 2)],
        kernels=[Kernel("k", 100, 90, 1), Kernel("k", 200, 250, 2)],
        nvtx=[Range("r", 0, 50)],
    )
    found = read(connection, export)
    assert "1 kernels, copies, fills and whole graphs end before they start" in found["impossible-times"]
    assert rows(connection, "SELECT count(*), count(start_ns), sum(end_ns - start_ns) FROM kernel") == [
        (2, 1, 50)
    ]
    assert rows(connection, 'SELECT launches, kernels, device_ns FROM "range"') == [(2, 2, 50)]


def test_a_range_that_ends_before_it_starts_is_told(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(tmp_path / "r.sqlite", nvtx=[Range("r", 50, 20), Range("s", 60, 70)])
    assert "1 calls and ranges do" in read(connection, export)["impossible-times"]


def test_a_call_without_end_has_no_duration(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "r.sqlite",
        api=[
            *(
                Call(LAUNCH, 10, 20, 1),
                Call(LAUNCH, 30, None, 2),
                Call("cudaDeviceSynchronize_v3020", 40, None, 3),
            ),
            Call("cudaMalloc_v3020", 45, None, 4),
        ],
        kernels=[Kernel("k", 100, 150, 1), Kernel("k", 200, 250, 2)],
        nvtx=[Range("r", 0, 50)],
    )
    found = read(connection, export)
    assert "3 API calls have no end" in found["call-never-ended"]
    assert rows(connection, "SELECT start_ns, end_ns FROM launch ORDER BY 1") == [(10, 20), (30, None)]
    assert rows(connection, "SELECT end_ns FROM sync UNION ALL SELECT end_ns FROM api_call") == [
        (None,),
        (None,),
    ]
    assert rows(connection, 'SELECT launches, device_ns FROM "range"') == [(2, 100)]


def test_a_whole_graph_with_impossible_times_counts_without_them(
    connection: store.Connection, tmp_path: Path
) -> None:
    where = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS, "graphId": 1, "graphExecId": 2}
    times = ((100, 90, 1), (0, 0, 2), (200, 230, 3))
    export = make_export(
        tmp_path / "r.sqlite",
        api=[Call(GRAPH, 10 * at, 10 * at + 5, at) for _, _, at in times],
        more={
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [
                {**where, "start": start, "end": end, "correlationId": at} for start, end, at in times
            ]
        },
    )
    found = read(connection, export)
    assert "1 kernels, copies, fills and whole graphs end before" in found["impossible-times"]
    assert "3 whole replays were recorded instead: 30 ns of device time" in found["graph-level-trace"]
    assert rows(connection, "SELECT count(*), count(start_ns), sum(end_ns - start_ns) FROM graph_run") == [
        (3, 1, 30)
    ]


def test_a_call_without_start_is_told(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(tmp_path / "r.sqlite", api=[Call(LAUNCH, 10, 20, 1)], kernels=[Kernel("k", 30, 40, 1)])
    change(
        export,
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT NULL, 5, globalTid, 9, nameId FROM "
        "CUPTI_ACTIVITY_KIND_RUNTIME",
    )
    assert read(connection, export)["call-without-place"].startswith("1 API calls have no start")
    assert rows(connection, "SELECT count(*) FROM launch") == [(1,)]


def test_an_end_of_a_capture_that_began_before_the_report_closes_nothing(
    connection: store.Connection, tmp_path: Path
) -> None:
    calls = [Call(END, 1, 2, 1), Call(BEGIN, 10, 11, 2), Call(LAUNCH, 20, 21, 3), Call(END, 30, 31, 4)]
    found = read(connection, make_export(tmp_path / "r.sqlite", api=calls))
    assert rows(connection, "SELECT captured FROM launch") == [(True,)]
    assert "launch-without-kernel" not in found


def test_another_thread_may_end_a_capture(connection: store.Connection, tmp_path: Path) -> None:
    """Begun on thread 1, ended on thread 2: what thread 1 launches afterwards ran, or was lost."""
    calls = [
        *(Call(BEGIN, 10, 11, 1), Call(LAUNCH, 12, 13, 2), Call(END, 20, 21, 3, thread=2)),
        *(Call(LAUNCH, 30, 31, 4), Call(LAUNCH, 40, 41, 5)),
    ]
    found = read(connection, make_export(tmp_path / "r.sqlite", api=calls, kernels=[Kernel("k", 50, 60, 4)]))
    assert rows(connection, "SELECT correlation_id, captured FROM launch ORDER BY start_ns") == [
        *((2, True), (4, False), (5, False)),
    ]
    assert found["launch-without-kernel"].startswith("1 launches have no device record")
    assert "capture-never-ended" not in found


def replay(start: int, end: int, correlation: int, process: int = 1) -> dict[str, object]:
    """A whole graph that ran."""
    return {"start": start, "end": end, "correlationId": correlation, "globalPid": process * PROCESS}


def test_replays_seen_by_node_and_as_a_whole_are_told_apart(
    connection: store.Connection, tmp_path: Path
) -> None:
    export = make_export(
        tmp_path / "r.sqlite",
        api=[Call(GRAPH, 10, 11, 1), Call(GRAPH, 20, 21, 2), Call(GRAPH, 30, 31, 3)],
        kernels=[Kernel("k", 50, 60, 1, node=4)],
        more={"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [replay(70, 95, 2)]},
    )
    found = read(connection, export)
    assert found["graph-level-trace"].startswith(
        "1 of 3 graph launches have no kernel of a graph node (1 whole"
    )
    assert found["graph-coverage"].startswith("2 of 3 graph launches have device records: 66 % are covered")


def test_a_process_of_whole_graphs_works_on_the_device(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "r.sqlite",
        api=[Call(LAUNCH, 10, 11, 1), Call(GRAPH, 20, 21, 1, process=2)],
        kernels=[Kernel("k", 50, 60, 1)],
        more={"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [replay(70, 95, 1, process=2)]},
    )
    assert "process-without-device-work" not in read(connection, export)
    assert rows(connection, "SELECT kernels, graph_runs FROM process ORDER BY process") == [(1, 0), (0, 1)]


def test_a_missing_table_is_no_empty_one(connection: store.Connection, tmp_path: Path) -> None:
    found = read(
        connection, make_export(tmp_path / "r.sqlite", api=None, kernels=[Kernel("k", 1, 2, 1)], nvtx=None)
    )
    assert rows(connection, "SELECT kernel_rows, call_rows, range_rows FROM report") == [(1, None, None)]
    assert {"no-api-table", "no-range-table"} <= found.keys()
    assert "kernel-without-launch" not in found


def test_launches_are_not_lost_where_no_kernel_is_known(connection: store.Connection, tmp_path: Path) -> None:
    found = read(connection, make_export(tmp_path / "r.sqlite", api=[Call(LAUNCH, 1, 2, 1)], kernels=None))
    assert "no-kernel-table" in found
    assert "launch-without-kernel" not in found


def test_columns_of_names_that_are_missing_are_named(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(tmp_path / "r.sqlite", kernels=[Kernel("k", 1, 2, 1)])
    for column in ("demangledName", "shortName"):
        if column in columns_of_kernels(export):
            change(export, f"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN {column}")
    read(connection, export)
    assert rows(connection, "SELECT subject FROM finding WHERE code = 'missing-column'") == [
        ("CUPTI_ACTIVITY_KIND_KERNEL.demangledName, CUPTI_ACTIVITY_KIND_KERNEL.shortName",)
    ]


def columns_of_kernels(path: Path) -> frozenset[str]:
    from nsight_suite.evidence.readers.nsys_export import opened

    with opened(path) as export:
        return export.columns_of("CUPTI_ACTIVITY_KIND_KERNEL")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("12 CUDA events were dropped", {"records-dropped"}),
        ("CUDA events dropped: 0", set()),
        ("The application was terminated by signal 11", {"program-ended-early"}),
        ("Process 42 exited with exit code: 0", set()),
        ("The target application exited with exit code: 11", {"program-ended-early"}),
        ("Import took 3 seconds", set()),
    ],
)
def test_messages_of_nsys_are_told_by_their_kind(
    connection: store.Connection, tmp_path: Path, text: str, codes: set[str]
) -> None:
    export = make_export(tmp_path / "r.sqlite", more={"DIAGNOSTIC_EVENT": [{"text": text}]})
    found = read(connection, export)
    assert {code for code in found if code in ("records-dropped", "program-ended-early")} == codes
    assert not any(text in reason for reason in found.values())


def test_a_nest_of_very_many_calls_takes_no_longer_than_reading_it(
    connection: store.Connection, tmp_path: Path
) -> None:
    """One call around 20,000 that each have a record."""
    inner = [Call(LAUNCH, 10 + at, 10 + at, at + 2) for at in range(20_000)]
    kernels = [Kernel("k", 50_000 + at, 50_001 + at, at + 2) for at in range(20_000)]
    read(
        connection,
        make_export(tmp_path / "r.sqlite", api=[Call(LAUNCH, 1, 40_000, 1), *inner], kernels=kernels),
    )
    assert rows(connection, "SELECT count(*), count(DISTINCT launch_id) FROM kernel") == [(20_000, 20_000)]


DATA = Path(__file__).parent / "data"


def test_a_killed_program_leaves_its_ranges_and_says_so(connection: store.Connection) -> None:
    """Recorded on an H200: SIGKILL, with 20 launches not yet waited for. nsys wrote a report all the same."""
    found = read(connection, DATA / "nsys_killed.sqlite")
    assert found.keys() == {"no-kernel-table", "program-ended-early"}
    assert "it was killed or crashed" in found["program-ended-early"]
    assert rows(connection, "SELECT kernel_rows, call_rows FROM report") == [(None, None)]
    assert rows(connection, 'SELECT name, count(*) FROM "range" GROUP BY ALL ORDER BY ALL') == [
        *(("never closed", 1), ("replay", 6)),
    ]


def test_launches_of_other_threads_belong_to_an_open_start_end_range(connection: store.Connection) -> None:
    """Recorded on an H200: three workers with ranges of their own, a fourth without, all inside `request`."""
    assert read(connection, DATA / "nsys_threads.sqlite") == {}
    per_path = (
        "SELECT path, count(*) FROM kernel LEFT JOIN path USING (pass, path_id) GROUP BY ALL ORDER BY ALL"
    )
    assert rows(connection, per_path) == [
        *(("never closed", 20), ("replay", 24), ("request", 1)),
        *(("worker 0", 5), ("worker 1", 5), ("worker 2", 5), (None, 1)),
    ]


def test_other_processes_of_the_machine_are_left_out(connection: store.Connection, tmp_path: Path) -> None:
    """Three of the program, one of which worked on the device, and a shell."""
    names = ("python3", "python3", "python3", "bash")
    listed = [{"globalPid": n * PROCESS, "pid": n, "name": name} for n, name in enumerate(names, 1)]
    export = make_export(
        tmp_path / "r.sqlite",
        api=[Call(LAUNCH, 1, 2, 1, process=2)],
        kernels=[Kernel("k", 3, 4, 1, process=2)],
        more={"PROCESSES": listed},
    )
    read(connection, export)
    assert rows(connection, "SELECT pid, listed, kernels FROM process ORDER BY process") == [
        *((1, True, 0), (2, True, 1), (3, True, 0)),
    ]
