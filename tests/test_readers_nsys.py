"""nsys exports: three real recordings with known counts, and small ones for every way a capture can mislead."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tiny_export import Call, Kernel, Range, make_export

from nsight_suite.errors import BadReport
from nsight_suite.evidence import store
from nsight_suite.evidence.readers import nsys

DATA = Path(__file__).parent / "data"
LAUNCH = "cudaLaunchKernel_v7000"


@pytest.fixture
def connection() -> Iterator[store.Connection]:
    with store.empty_store() as opened:
        store.create_shared_views(opened)
        yield opened


def rows(connection: store.Connection, sql: str) -> list[Any]:
    found = connection.execute(sql).fetchall()
    return [row[0] if len(row) == 1 else row for row in found]


def read(connection: store.Connection, path: Path) -> store.Connection:
    nsys.read(connection, path, "nsys")
    return connection


def codes(connection: store.Connection) -> list[str]:
    return rows(connection, "SELECT code FROM finding ORDER BY code")


# -- real recordings -------------------------------------------------------------------------------


def test_node_trace_gives_every_kernel_to_its_invocation(connection: store.Connection) -> None:
    read(connection, DATA / "nsys_node.sqlite")
    assert rows(connection, "SELECT count(*) FROM kernel") == [63]
    per_range = rows(
        connection,
        """SELECT "range".name, count(*), count(DISTINCT range_id) FROM range_kernel
        JOIN "range" USING (pass, range_id) WHERE domain = 'nsight_suite' GROUP BY ALL ORDER BY ALL""",
    )
    assert per_range == [
        ("row:fused:graph:4096x1024", 5, 5),
        ("row:fused:stream:4096x1024", 5, 5),
        ("row:staged:graph:4096x1024", 20, 5),
        ("row:staged:stream:4096x1024", 20, 5),
    ]
    assert rows(connection, "SELECT graph_trace, tool_version, schema_version, rows, complete FROM report") == [
        ("node", "2023.4.4.54", "3.7.2", 63, True)
    ]
    assert codes(connection) == []


def test_launches_into_a_captured_stream_never_ran(connection: store.Connection) -> None:
    read(connection, DATA / "nsys_node.sqlite")
    assert rows(connection, "SELECT name, count(*) FROM launch WHERE captured GROUP BY name ORDER BY name") == [
        ("cuLaunchCooperativeKernel", 1),
        ("cuLaunchKernel", 5),
    ]
    assert rows(connection, "SELECT count(*) FROM launch JOIN kernel USING (launch_id) WHERE captured") == [0]


def test_a_replay_is_one_launch_of_many_kernels(connection: store.Connection) -> None:
    read(connection, DATA / "nsys_node.sqlite")
    replays = rows(
        connection,
        """SELECT count(*), count(DISTINCT graph_node_id) FROM launch JOIN kernel USING (launch_id)
        JOIN "range" ON "range".range_id = launch.range_id WHERE "range".name = 'row:staged:graph:4096x1024'
        GROUP BY launch_id""",
    )
    assert replays == [(4, 4)] * 5


def test_graph_trace_leaves_kernels_unknown_and_says_so(connection: store.Connection) -> None:
    read(connection, DATA / "nsys_graph.sqlite")
    assert rows(connection, "SELECT count(*) FROM kernel") == [32]
    assert rows(connection, "SELECT code, subject FROM finding") == [
        ("graph-level-trace", "kernels of 13 graph launches")
    ]
    assert "--cuda-graph-trace=node" in rows(connection, "SELECT reason FROM finding")[0]


def test_processes_that_share_correlation_ids_stay_apart(connection: store.Connection) -> None:
    read(connection, DATA / "nsys_two_gpus.sqlite")
    assert rows(connection, "SELECT process, device, count(*) FROM kernel GROUP BY ALL ORDER BY ALL") == [
        (0, 0, 24),
        (1, 1, 24),
    ]
    shared = "SELECT correlation_id FROM kernel GROUP BY correlation_id HAVING count(DISTINCT process) = 2"
    assert len(rows(connection, shared)) == 18
    assert rows(connection, "SELECT count(*) FROM kernel JOIN launch USING (launch_id, process)") == [48]
    per_process = rows(
        connection,
        """SELECT kernel.process, "range".domain, "range".name, count(*) FROM kernel
        JOIN "range" USING (range_id) GROUP BY ALL ORDER BY ALL""",
    )
    assert per_process == [
        (process, f"rank{process}", name, count)
        for process in (0, 1)
        for name, count in (("add", 4), ("replay", 9), ("scale", 8), ("worker-thread-span", 1))
    ]
    assert rows(connection, "SELECT count(*) FROM kernel WHERE range_id IS NULL") == [4]
    steps = """SELECT count(*) FROM range_kernel JOIN "range" USING (range_id) WHERE name LIKE 'step:%'"""
    assert rows(connection, steps) == [24]


# -- attribution -----------------------------------------------------------------------------------


def test_a_kernel_belongs_to_the_range_of_its_launch_not_of_its_run(
    connection: store.Connection, tmp_path: Path
) -> None:
    export = make_export(
        tmp_path / "late.sqlite",
        api=[Call(LAUNCH, 50, 60, 1)],
        kernels=[Kernel("k", 150, 250, 1)],
        nvtx=[Range("step", 0, 100), Range("other", 140, 260)],
    )
    read(connection, export)
    assert rows(connection, 'SELECT "range".name FROM kernel JOIN "range" USING (range_id)') == ["step"]


def test_the_innermost_open_range_wins_and_a_closed_one_does_not(
    connection: store.Connection, tmp_path: Path
) -> None:
    export = make_export(
        tmp_path / "nested.sqlite",
        api=[Call(LAUNCH, 20, 25, 1), Call(LAUNCH, 70, 75, 2), Call(LAUNCH, 200, 205, 3)],
        kernels=[Kernel(f"k{index}", 300 + index, 301 + index, index) for index in (1, 2, 3)],
        nvtx=[Range("outer", 0, 100), Range("inner", 10, 50)],
    )
    read(connection, export)
    assert rows(
        connection,
        'SELECT kernel.name, "range".name FROM kernel LEFT JOIN "range" USING (range_id) ORDER BY ALL',
    ) == [("k1", "inner"), ("k2", "outer"), ("k3", None)]
    assert rows(
        connection,
        """SELECT kernel.name, "range".name, innermost FROM range_kernel JOIN kernel USING (kernel_id)
        JOIN "range" ON "range".range_id = range_kernel.range_id ORDER BY ALL""",
    ) == [("k1", "inner", True), ("k1", "outer", False), ("k2", "outer", True)]
    assert rows(connection, 'SELECT name, parent_range_id FROM "range" ORDER BY range_id') == [
        ("outer", None),
        ("inner", 0),
    ]


def test_ranges_hold_the_calls_at_their_very_edges(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "edges.sqlite",
        api=[Call(LAUNCH, 10, 20, 1), Call(LAUNCH, 15, 21, 2), Call(LAUNCH, 9, 12, 3)],
        kernels=[Kernel(f"k{index}", 30, 31, index) for index in (1, 2, 3)],
        nvtx=[Range("r", 10, 20)],
    )
    # Calls of one thread nest or follow; these are of three, so that none contains another.
    with closing(sqlite3.connect(export)) as database:
        database.execute(
            "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = globalTid + 1 WHERE correlationId > 1"
        )
        database.commit()
    read(connection, export)
    assert rows(connection, "SELECT name FROM kernel WHERE range_id IS NOT NULL") == ["k1"]


def test_another_thread_s_range_is_not_taken(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "threads.sqlite",
        api=[Call(LAUNCH, 20, 25, 1, thread=2)],
        kernels=[Kernel("k", 30, 31, 1)],
        nvtx=[Range("of thread 1", 0, 100, thread=1)],
    )
    read(connection, export)
    assert rows(connection, "SELECT range_id FROM kernel") == [None]


def test_a_start_end_range_takes_only_what_no_push_pop_range_holds(
    connection: store.Connection, tmp_path: Path
) -> None:
    export = make_export(
        tmp_path / "styles.sqlite",
        api=[Call(LAUNCH, 20, 25, 1), Call(LAUNCH, 60, 65, 2), Call(LAUNCH, 70, 75, 3, thread=2)],
        kernels=[Kernel(f"k{index}", 100 + index, 110, index) for index in (1, 2, 3)],
        nvtx=[Range("span", 0, 90, type=60), Range("scope", 10, 50)],
    )
    read(connection, export)
    assert rows(
        connection,
        'SELECT kernel.name, "range".name FROM kernel LEFT JOIN "range" USING (range_id) ORDER BY ALL',
    ) == [("k1", "scope"), ("k2", "span"), ("k3", "span")]
    assert rows(connection, 'SELECT style FROM "range" ORDER BY range_id') == ["start_end", "push_pop"]


def test_a_range_without_end_lasts_and_is_told(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "open.sqlite",
        api=[Call(LAUNCH, 20, 25, 1)],
        kernels=[Kernel("k", 30, 31, 1)],
        nvtx=[Range("open", 5, None)],
    )
    read(connection, export)
    assert rows(connection, 'SELECT "range".name, end_ns FROM "range"') == [("open", None)]
    assert rows(connection, "SELECT range_id FROM kernel") == [0]
    assert codes(connection) == ["range-never-closed"]


def test_repeated_names_stay_instances(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "repeated.sqlite",
        api=[Call(LAUNCH, start, start + 1, start) for start in (5, 21, 23, 45)],
        kernels=[Kernel("k", 100 + start, 101 + start, start) for start in (5, 21, 23, 45)],
        nvtx=[
            Range("matmul", 0, 10, payload=0),
            Range("matmul", 20, 30, payload=1),
            Range("matmul", 40, 50, payload=2),
        ],
    )
    read(connection, export)
    counts = 'SELECT payload, count(*) FROM kernel JOIN "range" USING (range_id) GROUP BY ALL ORDER BY ALL'
    assert rows(connection, counts) == [(0, 1), (1, 2), (2, 1)]


# -- calls -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("carrier", ["outer", "inner", "both"])
def test_a_runtime_call_and_the_driver_call_in_it_are_one_launch(
    connection: store.Connection, tmp_path: Path, carrier: str
) -> None:
    inner = 1 if carrier == "both" else 2
    export = make_export(
        tmp_path / "pair.sqlite",
        api=[Call(LAUNCH, 10, 30, 1), Call("cuLaunchKernel", 15, 25, inner)],
        kernels=[Kernel("k", 40, 50, 2 if carrier == "inner" else 1)],
    )
    read(connection, export)
    name = "cuLaunchKernel" if carrier == "inner" else "cudaLaunchKernel"
    assert rows(connection, "SELECT name, kind, captured FROM launch") == [(name, "kernel", False)]
    assert rows(connection, "SELECT count(*) FROM kernel JOIN launch USING (launch_id)") == [1]
    assert codes(connection) == []


@pytest.mark.parametrize(
    ("api_name", "name", "kind"),
    [
        ("cudaLaunchKernel_v7000", "cudaLaunchKernel", "kernel"),
        ("cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel", "kernel"),
        ("cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC", "kernel"),
        ("cuLaunchKernelEx", "cuLaunchKernelEx", "kernel"),
        ("cuLaunchKernel_ptsz", "cuLaunchKernel", "kernel"),
        ("cudaGraphLaunch_v10000", "cudaGraphLaunch", "graph"),
        ("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync", "memcpy"),
        ("cudaMemsetAsync_v3020", "cudaMemsetAsync", "memset"),
    ],
)
def test_api_names_lose_their_suffixes_and_tell_the_kind(
    connection: store.Connection, tmp_path: Path, api_name: str, name: str, kind: str
) -> None:
    read(connection, make_export(tmp_path / "one.sqlite", api=[Call(api_name, 1, 2, 1)]))
    assert rows(connection, "SELECT name, kind FROM launch") == [(name, kind)]


@pytest.mark.parametrize("api_name", ["cuKernelGetName", "cudaGetDeviceCount_v3020", "cuLaunchHostFunc"])
def test_other_calls_launch_nothing(connection: store.Connection, tmp_path: Path, api_name: str) -> None:
    read(connection, make_export(tmp_path / "none.sqlite", api=[Call(api_name, 1, 2, 1)]))
    assert rows(connection, "SELECT name FROM launch") == []


def test_calls_that_wait_are_kept_with_their_range(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "wait.sqlite",
        api=[Call("cudaStreamSynchronize_v3020", 10, 20, 1), Call("cuStreamSynchronize", 12, 18, 2)],
        nvtx=[Range("case", 5, 25)],
    )
    read(connection, export)
    assert rows(connection, "SELECT name, range_id, start_ns, end_ns FROM sync") == [
        ("cudaStreamSynchronize", 0, 10, 20)
    ]


# -- what is doubtful ------------------------------------------------------------------------------


def test_launches_lost_at_the_end_are_told(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "tail.sqlite",
        api=[Call(LAUNCH, 10 * index, 10 * index + 1, index) for index in range(1, 11)],
        kernels=[Kernel("k", 10 * index + 5, 10 * index + 6, index) for index in range(1, 9)],
    )
    read(connection, export)
    assert rows(connection, "SELECT code, subject FROM finding") == [("launch-without-kernel", "2 launches")]
    assert "2 of them after the last one that has" in rows(connection, "SELECT reason FROM finding")[0]


def test_kernels_without_a_launch_still_count(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "orphans.sqlite",
        api=[Call(LAUNCH, 5, 6, 2)],
        kernels=[Kernel("k", 10, 11, correlation) for correlation in (1, 2, 3, None)],
    )
    read(connection, export)
    assert rows(connection, "SELECT count(*), count(launch_id) FROM kernel") == [(4, 1)]
    assert rows(connection, "SELECT code, subject FROM finding") == [("kernel-without-launch", "3 kernels")]


def test_a_capture_that_never_ended_is_told(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "capture.sqlite",
        api=[
            Call("cudaStreamBeginCapture_v10000", 1, 2, 1),
            Call(LAUNCH, 3, 4, 2),
            Call("cuLaunchKernel", 5, 6, 3),
        ],
    )
    read(connection, export)
    assert rows(connection, "SELECT captured FROM launch") == [True, True]
    assert codes(connection) == ["capture-never-ended"]


def test_ranges_that_vanished_are_told_with_the_remedy(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "vanished.sqlite",
        nvtx=[
            Range(None, 1, None, type=76),
            Range("mydom", 2, None, type=75, domain=1),
            Range(None, 3, None, type=76),
        ],
    )
    read(connection, export)
    assert codes(connection) == ["ranges-vanished"]
    assert "nvtx==0.2.11" in rows(connection, "SELECT reason FROM finding")[0]


def test_marks_are_no_ranges(connection: store.Connection, tmp_path: Path) -> None:
    events = [Range("CCCL", 10, None, type=75, domain=2), Range("amark", 12, None, type=34), Range("r", 20, 30)]
    read(connection, make_export(tmp_path / "marks.sqlite", nvtx=events))
    assert rows(connection, 'SELECT name FROM "range"') == ["r"]


def test_names_may_be_texts_or_registered_strings_and_none_is_dropped(
    connection: store.Connection, tmp_path: Path
) -> None:
    export = make_export(
        tmp_path / "names.sqlite",
        nvtx=[
            Range(None, 1, 2, registered=104),
            Range("iter 1", 3, 4),
            Range("", 5, 6),
            Range(None, 7, 8),
            Range(None, 9, 10, registered=9999),
            Range("a", 11, 12, registered=104),
        ],
        strings={104: "outer"},
    )
    read(connection, export)
    assert rows(connection, 'SELECT name FROM "range" ORDER BY range_id') == [
        *("outer", "iter 1", "<unnamed>", "<unnamed>", "<string 9999 missing>", "outer"),
    ]


def test_an_untimed_kernel_counts_without_times(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "untimed.sqlite",
        api=[Call(LAUNCH, 1, 2, 5), Call(LAUNCH, 3, 4, 6)],
        kernels=[Kernel("k", 0, 0, 5), Kernel("k", 1000, 1500, 6)],
    )
    read(connection, export)
    assert rows(connection, "SELECT start_ns, end_ns FROM kernel ORDER BY start_ns") == [
        (1000, 1500),
        (None, None),
    ]
    assert codes(connection) == ["untimed-kernel"]


@pytest.mark.parametrize(
    ("capture", "code", "words"),
    [
        ({"CAPTURE_EVENT_TYPE": "NvtxEvents"}, "cuda-not-traced", "CUDA was not traced"),
        ({}, "no-kernel-table", "unknown, not zero"),
    ],
)
def test_no_kernel_table_is_not_no_kernels(
    connection: store.Connection, tmp_path: Path, capture: dict[str, str], code: str, words: str
) -> None:
    read(connection, make_export(tmp_path / "none.sqlite", kernels=None, capture=capture))
    assert codes(connection) == [code]
    assert words in rows(connection, "SELECT reason FROM finding")[0]
    assert rows(connection, "SELECT rows FROM report") == [None]


def test_an_empty_kernel_table_proves_zero(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, make_export(tmp_path / "zero.sqlite"))
    assert rows(connection, "SELECT rows FROM report") == [0]
    assert codes(connection) == []


def test_missing_columns_are_null_and_named_when_needed(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(tmp_path / "old.sqlite", api=[Call(LAUNCH, 1, 2, 1)], kernels=[Kernel("k", 5, 6, 1)])
    with closing(sqlite3.connect(export)) as database:
        database.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN graphNodeId")
        database.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid")
        database.commit()
    read(connection, export)
    assert rows(connection, "SELECT name, graph_node_id, grid_x, launch_id FROM kernel") == [
        ("k", None, None, None)
    ]
    told = rows(connection, "SELECT subject FROM finding WHERE code = 'missing-column'")
    assert told == ["CUPTI_ACTIVITY_KIND_KERNEL.globalPid"]


def test_cells_of_a_wrong_type_are_null_and_told(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "odd.sqlite",
        api=[Call(LAUNCH, 1, 2, 1)],
        kernels=[Kernel("k", 5, 6, 1), Kernel("k", 7, 8, 1)],
    )
    with closing(sqlite3.connect(export)) as database:
        database.execute(
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 'oops', shortName = x'00ff' WHERE start = 7"
        )
        database.commit()
    read(connection, export)
    assert rows(connection, "SELECT name FROM kernel ORDER BY kernel_id") == ["k", "<unnamed>"]
    assert rows(connection, "SELECT code, subject FROM finding") == [
        ("odd-cells", "CUPTI_ACTIVITY_KIND_KERNEL")
    ]


def test_an_unsigned_payload_that_is_larger_than_any_signed_number_is_not_negative(
    connection: store.Connection, tmp_path: Path
) -> None:
    export = make_export(tmp_path / "r.sqlite", nvtx=[Range("a", 1, 2), Range("b", 3, 4)])
    with closing(sqlite3.connect(export)) as database:
        database.execute("ALTER TABLE NVTX_EVENTS ADD COLUMN uint64Value INTEGER")
        database.execute("UPDATE NVTX_EVENTS SET uint64Value = CASE start WHEN 1 THEN 7 ELSE -1 END")
        database.commit()
    read(connection, export)
    assert rows(connection, 'SELECT name, payload FROM "range" ORDER BY name') == [("a", 7), ("b", None)]
    assert rows(connection, "SELECT code, subject FROM finding") == [("odd-cells", "NVTX_EVENTS")]


# -- files that are none ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (lambda raw: b"", "is empty"),
        (lambda raw: raw[:16], "truncated"),
        (lambda raw: raw[: len(raw) // 2], "truncated"),
        (lambda raw: raw[:-100], "truncated"),
        (lambda raw: b"hello, world\n" * 20, "not an SQLite database"),
        (lambda raw: raw[:4096] + bytes(len(raw) - 4096), "damaged"),
    ],
    ids=["empty", "beginning", "half", "last page", "text", "zeroed"],
)
def test_a_damaged_export_is_refused_by_name_and_leaves_nothing(
    connection: store.Connection, tmp_path: Path, cut: Any, words: str
) -> None:
    path = tmp_path / "bad.sqlite"
    path.write_bytes(cut((DATA / "nsys_node.sqlite").read_bytes()))
    with pytest.raises(BadReport, match=words) as caught:
        nsys.read(connection, path, "nsys")
    assert "bad.sqlite" in str(caught.value)
    assert rows(connection, "SELECT count(*) FROM kernel") == [0]
    # The connection is as good as new.
    assert rows(read(connection, DATA / "nsys_node.sqlite"), "SELECT count(*) FROM kernel") == [63]


def test_a_missing_export_is_not_created(connection: store.Connection, tmp_path: Path) -> None:
    with pytest.raises(BadReport, match=r"nope\.sqlite"):
        nsys.read(connection, tmp_path / "nope.sqlite", "nsys")
    assert list(tmp_path.iterdir()) == []


def test_the_export_is_never_written_and_its_path_may_hold_anything(
    connection: store.Connection, tmp_path: Path
) -> None:
    folder = tmp_path / 'it\'s a "trace" é 100%?#'
    folder.mkdir()
    path = folder / "nsys.sqlite"
    path.write_bytes((DATA / "nsys_node.sqlite").read_bytes())
    path.chmod(0o400)
    read(connection, path)
    assert rows(connection, "SELECT count(*) FROM kernel") == [63]
    assert [entry.name for entry in folder.iterdir()] == ["nsys.sqlite"]


def test_only_strings_that_are_used_are_read(connection: store.Connection, tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "secret.sqlite", kernels=[Kernel("k", 1, 2, 1)], strings={77: "TOKEN=dummy"}
    )
    read(connection, export)
    texts = [
        text
        for table in ("kernel", "range", "launch", "finding", "report", "tool")
        for row in connection.execute(f'SELECT * FROM "{table}"').fetchall()
        for text in row
    ]
    assert "k" in texts
    assert not any("dummy" in str(text) for text in texts)


def test_a_hundred_thousand_nested_ranges_take_seconds(connection: store.Connection, tmp_path: Path) -> None:
    """A join over a thread and two inequalities would take minutes here."""
    count = 20_000
    nested = [
        Range(name, 1000 * index + shift, 1000 * index + 900 - shift)
        for index in range(count)
        for shift, name in ((0, "step"), (50, "layer"), (100, "op"))
    ]
    export = make_export(
        tmp_path / "many.sqlite",
        api=[Call(LAUNCH, 1000 * index + 200, 1000 * index + 210, index) for index in range(count)],
        kernels=[Kernel("k", 1000 * index + 300, 1000 * index + 400, index) for index in range(count)],
        nvtx=nested,
        strings={1797657063271174144: "a huge id"},
    )
    read(connection, export)
    assert rows(connection, "SELECT count(*), count(*) FILTER (innermost) FROM range_kernel") == [
        (3 * count, count)
    ]
    assert rows(connection, 'SELECT count(*) FROM "range" WHERE parent_range_id = range_id - 1') == [2 * count]
