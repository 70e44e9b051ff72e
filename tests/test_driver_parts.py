"""The parts of the driver toolkit that need no GPU: plan, records, order, launches, graphs, outcomes."""

import ctypes
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cuda.bindings import driver

from nsight_suite.driving import graph, launch
from nsight_suite.driving.calls import CudaError, call
from nsight_suite.driving.order import shuffled_rounds
from nsight_suite.driving.records import Records
from nsight_suite.driving.state import reasons
from nsight_suite.driving.validation import Check, generator
from nsight_suite.errors import UsageError
from nsight_suite.plan import load_plan
from nsight_suite.sources import data_root

PLAN = {
    "pass": "timing",
    "protocol": str(data_root() / "capture" / "row" / "protocol.toml"),
    "kernels": str(data_root() / "kernels" / "row"),
    "device": 0,
    "cases": ["row:fused:graph:32x1024", "row:fused:stream:32x1024", "row:staged:graph:7x781"],
    "rounds": 3,
    "invocations": 1,
}


def written(tmp_path: Path, **changes: object) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({**PLAN, **changes}))
    return path


def test_a_plan_names_its_cases_and_their_shapes_come_once(tmp_path: Path) -> None:
    plan = load_plan(written(tmp_path))
    assert [shape.name for shape in plan.shapes()] == ["32x1024", "7x781"]
    assert [case.submission for case in plan.cases_at(plan.shapes()[0])] == ["graph", "stream"]
    assert plan.shapes()[1].timed is False


def test_a_plan_that_is_off_says_what_is_off(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lacks: row:fused:graph:1x1"):
        load_plan(written(tmp_path, cases=["row:fused:graph:1x1"]))
    with pytest.raises(UsageError, match="malformed"):
        load_plan(written(tmp_path, rounds="many"))
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({key: value for key, value in PLAN.items() if key != "rounds"}))
    with pytest.raises(UsageError, match="lacks the key 'rounds'"):
        load_plan(path)


def test_records_are_on_disk_as_soon_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    with Records(path, "timing") as records:
        records.write("driven", case_id="a", invocations=2, output_sha256="00")
        records.progress(1, 4, "a")
        lines = [json.loads(line) for line in path.read_text().splitlines()]  # the file is still open
        assert lines == [
            {"table": "driven", "pass": "timing", "case_id": "a", "invocations": 2, "output_sha256": "00"},
            {"table": "_progress", "done": 1, "total": 4, "what": "a"},
        ]
        records.end()
    assert json.loads(path.read_text().splitlines()[-1]) == {"table": "_end", "state": "ok"}


def test_records_refuse_what_the_evidence_cannot_hold(tmp_path: Path) -> None:
    with Records(tmp_path / "records.jsonl", "timing") as records:
        with pytest.raises(ValueError, match="no column duration"):
            records.write("sample", duration=1)
        with pytest.raises(ValueError, match="no table 'samples'"):
            records.write("samples", duration_ns=1)
        with pytest.raises(ValueError, match="JSON"):
            records.write("validation", worst=float("nan"))


def test_each_round_runs_every_case_once_in_an_order_of_its_own() -> None:
    rounds = shuffled_rounds(6, 21, seed=20261129, shape="1x128")
    assert all(sorted(order) == list(range(6)) for order in rounds)
    assert len({tuple(order) for order in rounds}) > 15
    assert rounds == shuffled_rounds(6, 21, seed=20261129, shape="1x128")
    assert rounds != shuffled_rounds(6, 21, seed=20261129, shape="32x1024")
    # Fixed for good: another order would make runs of different versions differ for no reason.
    assert rounds[:2] == [[4, 0, 5, 2, 1, 3], [3, 2, 5, 1, 4, 0]]


def test_arguments_are_packed_as_the_driver_reads_them() -> None:
    array = SimpleNamespace(data=SimpleNamespace(ptr=0x7F0000000200))
    address, keep = launch.pack_arguments([array, np.int32(-5), np.float32(0.5), np.uint8(7)])
    slots = (ctypes.c_void_p * 4).from_address(address)
    assert ctypes.c_uint64.from_address(slots[0]).value == 0x7F0000000200
    assert ctypes.c_int32.from_address(slots[1]).value == -5
    assert ctypes.c_float.from_address(slots[2]).value == 0.5
    assert ctypes.c_uint8.from_address(slots[3]).value == 7
    assert any(kept is array for kept in keep)


def test_a_number_without_a_width_is_refused() -> None:
    with pytest.raises(TypeError, match=r"argument 0 is 5: give an array or a NumPy scalar"):
        launch.pack_arguments([5])


def test_a_submission_makes_its_calls_in_order_and_gives_the_last_status() -> None:
    made: list[str] = []
    launches = [launch.Launch(name, lambda name=name: made.append(name) or len(made)) for name in "abc"]
    assert launch.submission_of(launches)() == 3
    assert made == ["a", "b", "c"]


def test_a_failed_call_is_told_by_its_name() -> None:
    refused = launch.Launch("row_max", lambda: (driver.CUresult.CUDA_ERROR_INVALID_VALUE,))
    with pytest.raises(CudaError, match=r"launch of row_max failed: CUDA_ERROR_INVALID_VALUE"):
        refused.checked()
    library = launch.Launch("cudnnSoftmaxForward", lambda: 9, describe=lambda status: f"status {status}!")
    with pytest.raises(CudaError, match=r"cudnnSoftmaxForward failed: status 9!"):
        library.checked()
    with pytest.raises(CudaError, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
        launch.raise_for((driver.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS,))
    launch.raise_for((driver.CUresult.CUDA_SUCCESS,))
    launch.raise_for(None)

    def unlucky() -> tuple[object]:
        return (driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY,)

    with pytest.raises(CudaError, match="unlucky failed: CUDA_ERROR_OUT_OF_MEMORY"):
        call(unlucky)


@pytest.mark.parametrize("edge_data", [[], [["data", "data", "data"]]], ids=["bindings 12", "bindings 13"])
def test_graph_nodes_come_in_topological_order(
    monkeypatch: pytest.MonkeyPatch, edge_data: list[object]
) -> None:
    # 11 needs 12 and 13; 12 needs 13. The API gives them in the order 11, 12, 13.
    kinds = driver.CUgraphNodeType
    kind_of = {
        11: kinds.CU_GRAPH_NODE_TYPE_KERNEL,
        12: kinds.CU_GRAPH_NODE_TYPE_KERNEL,
        13: kinds.CU_GRAPH_NODE_TYPE_MEMSET,
    }
    edges = ([12, 13, 13], [11, 11, 12])
    fakes = {
        "cuGraphGetNodes": lambda _, count=0: (0, [11, 12, 13][:count], 3),
        "cuGraphGetEdges": lambda _, count=0: (0, edges[0][:count], edges[1][:count], *edge_data, 3),
        "cuGraphNodeGetType": lambda node: (0, kind_of[node]),
        "cuGraphKernelNodeGetParams": lambda node: (0, SimpleNamespace(func=node - 11, kern=node)),
        "cuFuncGetName": lambda _: (0, b"by_function"),
        "cuKernelGetName": lambda _: (driver.CUresult.CUDA_ERROR_INVALID_HANDLE, None),
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(driver, name, fake)
    assert graph.nodes("captured") == [
        graph.Node("memset", None),
        graph.Node("kernel", "by_function"),
        graph.Node("kernel", None),
    ]


def test_a_check_fails_on_what_is_no_number() -> None:
    assert Check("error", 1.0, 1.0, 4).passed
    assert not Check("error", 1.0000001, 1.0, 4).passed
    assert not Check("error", float("nan"), 1.0, 4).passed


def test_a_fixture_is_the_same_whatever_was_drawn_before() -> None:
    first = generator(1, "normal", "7x781").random(3)
    generator(1, "wide", "7x781").random(100)
    assert (generator(1, "normal", "7x781").random(3) == first).all()
    assert (generator(1, "normal", "1x128").random(3) != first).any()
    assert (generator(2, "normal", "7x781").random(3) != first).any()


def test_clock_reasons_are_named() -> None:
    assert reasons(0) == "none"
    assert reasons(0x1 | 0x40) == "gpu_idle+hw_thermal_slowdown"
    assert reasons(0x4 | 0x10000) == "sw_power_cap+0x10000"


def test_without_its_packages_the_driver_says_what_is_missing(tmp_path: Path) -> None:
    plan, records = written(tmp_path), tmp_path / "records.jsonl"
    script = (
        "import runpy, sys; sys.modules['cupy'] = None; "
        f"sys.path.insert(0, {str(data_root())!r}); "
        f"sys.argv = ['driver.py', '--plan', {str(plan)!r}, '--records', {str(records)!r}]; "
        f"runpy.run_path({str(data_root() / 'capture' / 'row' / 'driver.py')!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    end = json.loads(records.read_text().splitlines()[-1])
    assert (end["table"], end["state"]) == ("_end", "failed")
    assert "cupy" in end["reason"]
    assert "pip install '.[cuda13]'" in end["reason"]


DUMP = """digraph dot {
subgraph cluster_1 {
label="graph_1" graph[style="dashed"];
"graph_1_node_0"[style="solid" shape="invtrapezium"label="0
MEMSET
(0,256)
"];

"graph_1_node_1"[style="bold" shape="octagon" label="1
probe_kernel
"];

"graph_1_node_2"[style="bold" shape="octagon" label="2
MEMSET
"];

"graph_1_node_3"[style="solid" shape="trapezium"label="3
MEMCPY
(DtoD,256)
"];

"graph_1_node_0" -> "graph_1_node_1";
"graph_1_node_1" -> "graph_1_node_2";
}
}
"""


def test_a_dump_of_a_graph_tells_kinds_of_nodes() -> None:
    """As the driver 580 writes it on an H200; even a kernel called MEMSET is a kernel."""
    from nsight_suite.driving.graph import dumped_kinds

    assert dumped_kinds(DUMP) == {"kernel": 2, "memset": 1, "memcpy": 1}


def test_a_block_of_records_is_one_line(tmp_path: Path) -> None:
    with Records(tmp_path / "r.jsonl", "trace") as records:
        records.write_block("task", {"job": [0, 1], "tile": [None, 3]}, case_id="a:b:graph:c", invocation=0)
        with pytest.raises(ValueError, match="unequal lengths"):
            records.write_block("task", {"job": [0, 1], "tile": [3]})
        with pytest.raises(ValueError, match="no column kind"):
            records.write_block("task", {"kind": [0]})
    (line,) = (tmp_path / "r.jsonl").read_text().splitlines()
    assert json.loads(line)["_rows"] == {"job": [0, 1], "tile": [None, 3]}
