"""A driver's passes from plan to records, on a stand-in for the GPU: what is caught, what each pass records.

The stand-in keeps arrays in NumPy and runs each call when its stream would; graphs replay what was captured.
"""

import ctypes
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda.bindings import driver

PROTOCOL = """
[experiment]
name = "double"
title = "Doubling"
question = "?"
seed = 7
submissions = ["stream", "graph"]
passes = ["validate", "pilot", "timing", "timing-2", "trace", "nsys", "ncu", "sanitize"]
[variants]
plain = "y = 2 x"
twin = "the same"
[pilot]
any = ["plain", "twin"]
[shapes]
small = { count = 8, batch = 4 }
odd = { count = 3, timed = false }
[fixtures]
before = ["counting", "negative"]
held_out = "large"
[tolerances]
absolute = 0
relative = 1e-6
[timing]
warmups = 1
rounds = 3
batch = 4
graph_setups = 2
"""


class Array(np.ndarray):
    """What the toolkit uses of a CuPy array."""

    @property
    def data(self) -> Any:
        pointer = self.ctypes.data
        return SimpleNamespace(
            ptr=pointer,
            copy_from_device_async=lambda source, size: ctypes.memmove(pointer, source.ptr, size),
        )

    def set(self, values: np.ndarray, stream: object = None) -> None:
        self[...] = values

    def get(self) -> np.ndarray:
        return np.array(self)


class Gpu:
    """Runs calls at once, or keeps them while a graph is captured."""

    def __init__(self) -> None:
        self.captured: list[Callable[[], object]] | None = None
        self.replay_fails = False

    def enqueue(self, work: Callable[[], object]) -> int:
        if self.captured is None:
            work()
        else:
            self.captured.append(work)
        return 0

    def begin(self, *_: object) -> tuple[int]:
        self.captured = []
        return (0,)

    def end(self, *_: object) -> tuple[int, object]:
        captured, self.captured = self.captured, None
        return 0, captured

    def replay(self, executable: list[Callable[[], object]], stream: object) -> tuple[object]:
        if self.replay_fails:
            return (driver.CUresult.CUDA_ERROR_LAUNCH_FAILED,)
        for work in executable:
            work()
        return (0,)


def memset(pointer: int, value: int, size: int, stream: object) -> tuple[int]:
    if pointer:
        ctypes.memset(pointer, value, size)
    return (0,)


def dump(captured: list[Any], path: bytes, flags: int) -> tuple[int]:
    label = 'shape="octagon" label="0\ndouble\n"'
    Path(path.decode()).write_text("\n".join(f'"graph_1_node_{n}"[{label}];' for n in range(len(captured))))
    return (0,)


def worst_error(output: Any, reference: Any, absolute: float, relative: float) -> float:
    with np.errstate(invalid="ignore"):
        errors = np.abs(output - reference) / (absolute + relative * np.abs(reference))
    return float(np.nan_to_num(errors.astype(np.float64), nan=sys.float_info.max).max())


REDUCTIONS = {
    "worst_error": worst_error,
    "not_finite": lambda output: int((~np.isfinite(output)).sum()),
    "differing": lambda left, right: int((left != right).sum()),
}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    fake = Gpu()
    cupy = ModuleType("cupy")
    stream = type("Stream", (nullcontext,), {"ptr": 1})
    cupy.__dict__.update(
        __version__="stand-in",
        zeros=lambda size, dtype: np.zeros(size, dtype).view(Array),
        asarray=lambda values: np.asarray(values).view(Array),
        get_default_memory_pool=lambda: SimpleNamespace(free_all_blocks=lambda: None),
        empty_like=np.empty_like,
        cuda=SimpleNamespace(
            Device=lambda _: SimpleNamespace(use=lambda: None),
            Stream=lambda non_blocking: stream(),
            runtime=SimpleNamespace(free=lambda _: None, streamSynchronize=lambda _: None),
        ),
    )
    nvtx = ModuleType("nvtx")
    nvtx.__dict__["annotate"] = lambda *_, **__: nullcontext()
    results: dict[str, Any] = {
        "cuInit": (0,),
        "cuDeviceGetCount": (0, 2),
        "cuDeviceGet": (0, 0),
        "cuDeviceGetAttribute": (0, 9),
        "cuDeviceGetName": (0, b"Stand-in\0\0"),
        "cuDeviceGetUuid": (0, SimpleNamespace(bytes=bytes(16))),
        "cuDeviceTotalMem": (0, 1),
        "cuDriverGetVersion": (0, 13000),
        "cuMemGetInfo": (0, 400, 400),
        "cuMemAlloc": (0, 0),
        "cuMemFree": (0,),
        "cuMemcpyDtoDAsync": (0,),
        "cuEventCreate": (0, "event"),
        "cuEventRecord": (0,),
        "cuEventElapsedTime": (0, 0.25),
        "cuEventDestroy": (0,),
        "cuStreamSynchronize": (0,),
        "cuGraphUpload": (0,),
        "cuGraphDestroy": (0,),
        "cuGraphExecDestroy": (0,),
        "cuGraphGetNodes": (0, [], 0),
        "cuGraphGetEdges": (0, [], [], 0),
    }
    for name, result in results.items():
        monkeypatch.setattr(driver, name, lambda *_, result=result: result)
    monkeypatch.setattr(driver, "cuStreamBeginCapture", fake.begin)
    monkeypatch.setattr(driver, "cuStreamEndCapture", fake.end)
    monkeypatch.setattr(driver, "cuGraphInstantiate", lambda captured, flags: (0, captured))
    monkeypatch.setattr(driver, "cuGraphLaunch", fake.replay)
    monkeypatch.setattr(driver, "cuMemsetD8Async", memset)
    monkeypatch.setattr(driver, "cuGraphDebugDotPrint", dump)
    toolkit = "nsight_suite.driving"
    before = {name: module for name, module in sys.modules.items() if name.startswith(toolkit)}
    before |= {name: sys.modules[name] for name in ("cupy", "nvtx") if name in sys.modules}
    for name in before:
        del sys.modules[name]
    sys.modules.update(cupy=cupy, nvtx=nvtx)
    yield fake
    for name in [name for name in sys.modules if name.startswith(toolkit) or name in ("cupy", "nvtx")]:
        del sys.modules[name]
    sys.modules.update(before)


@pytest.fixture
def drive(
    gpu: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, list[dict[str, Any]]]]:
    """Drive one pass of doubling, with parts of the experiment replaced; gives exit status and records."""
    from nsight_suite.driving import app, reductions, validation
    from nsight_suite.driving.experiment import Experiment

    for name, reduction in REDUCTIONS.items():
        monkeypatch.setattr(reductions, name, reduction)

    def arrays(parameters: Any) -> dict[str, Any]:
        return {"x": ((parameters["count"],), np.float32), "y": ((parameters["count"],), np.float32)}

    def inputs(fixture: str, parameters: Any, random: Any) -> dict[str, Any]:
        scale = {"counting": 1, "negative": -1, "large": 1e6}[fixture]
        return {"x": np.arange(1, parameters["count"] + 1, dtype=np.float32) * np.float32(scale)}

    def launches(bench: Any, variant: str, parameters: Any, on: Any) -> list[Any]:
        def double() -> None:
            on["y"][...] = on["x"] * 2

        return [bench.library_call("double", lambda: gpu.enqueue(double), str)]

    experiment = Experiment(
        arrays=arrays,
        inputs=inputs,
        reference=lambda parameters, given: given["x"].astype(np.float64) * 2,
        launches=launches,
        checks=(validation.finite, validation.error),
        output="y",
    )

    def run(
        name: str, *, variants: tuple[str, ...] = ("plain",), **changes: Any
    ) -> tuple[int, list[dict[str, Any]]]:
        (tmp_path / "protocol.toml").write_text(PROTOCOL)
        shapes = ("small",) if name in ("pilot", "timing", "timing-2") else ("small", "odd")
        plan = {
            "pass": name,
            "protocol": str(tmp_path / "protocol.toml"),
            "kernels": str(tmp_path),
            "device": 0,
            "cases": [
                f"double:{variant}:{submission}:{shape}"
                for shape in shapes
                for variant in variants
                for submission in ("stream", "graph")
            ],
            "rounds": 3,
            "invocations": 2,
        }
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        records = tmp_path / "records.jsonl"
        argv = ["--plan", str(tmp_path / "plan.json"), "--records", str(records)]
        status = app.run_driver(replace(experiment, **changes), argv)
        return status, [json.loads(line) for line in records.read_text().splitlines()]

    return run


def of(records: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    """The rows of a table; those of a block one by one."""
    rows = []
    for record in records:
        if record["table"] == table:
            block = record.pop("_rows", None)
            columns = block or {}
            each = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
            rows += [record] if block is None else [{**record, **row} for row in each]
    return rows


def test_timing_keeps_every_sample_of_the_timed_shapes(drive: Any) -> None:
    status, records = drive("timing")
    assert status == 0
    assert records[-1] == {"table": "_end", "state": "ok"}
    samples = of(records, "sample")
    assert Counter((sample["quantity"], sample.get("case_id")) for sample in samples) == {
        ("device_copy", None): 3,
        ("first_replay", "double:plain:graph:small"): 2,
        **{
            (quantity, f"double:plain:{submission}:small"): 3
            for submission in ("stream", "graph")
            for quantity in (
                "completion",
                "empty_sync",
                "batch_enqueue",
                "batch_completion",
                "batch_event_interval",
            )
        },
    }
    assert all(sample["duration_ns"] > 0 for sample in samples)
    assert {s["duration_ns"] for s in samples if s["quantity"] == "batch_event_interval"} == {250_000}
    assert {s["invocations"] for s in samples if s["quantity"].startswith("batch")} == {4}
    completions = [s for s in samples if s["quantity"] == "completion"]
    assert sorted((s["round"], s["position"]) for s in completions) == [
        (0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)
    ]  # fmt: skip
    assert Counter(step["step"] for step in of(records, "graph_setup")) == {
        "capture": 2,
        "instantiate": 2,
        "upload": 2,
    }
    assert {driven["case_id"] for driven in of(records, "driven")} == {
        "double:plain:stream:small",
        "double:plain:graph:small",
    }


def test_validation_holds_the_last_fixture_back_until_the_end(drive: Any) -> None:
    status, records = drive("validate")
    assert status == 0
    assert of(records, "sample") == []
    at = [index for index, record in enumerate(records) if record["table"] == "driven"]
    small = [r for r in records if r["table"] == "validation" and r["case_id"].endswith("small")]
    assert [r["fixture"] for r in small if r["check"] == "same_as_stream"] == ["negative", "counting", "large"]
    assert [r["held_out"] for r in small if r["check"] == "same_as_stream"] == [False, False, True]
    held_out = [i for i, r in enumerate(records) if r.get("held_out") and r["case_id"].endswith("small")]
    assert max(at[:2]) < min(held_out)


def test_every_pass_proves_the_same_output(drive: Any) -> None:
    hashes = {}
    for name in ("validate", "timing", "nsys", "ncu", "sanitize"):
        status, records = drive(name)
        assert status == 0
        for driven in of(records, "driven"):
            hashes.setdefault(driven["case_id"].split(":")[-1], set()).add(driven["output_sha256"])
            assert driven["invocations"] == (3 if name == "timing" else 2)
    assert {shape: len(found) for shape, found in hashes.items()} == {"small": 1, "odd": 1}


def test_only_nsys_has_a_profiled_twin_of_the_timed_loop(drive: Any) -> None:
    under_nsys, under_ncu = drive("nsys")[1], drive("ncu")[1]
    assert of(under_ncu, "sample") == []
    twins = of(under_nsys, "sample")
    assert {twin["pass"] for twin in twins} == {"nsys"}
    assert Counter(twin["case_id"] for twin in twins) == {
        "double:plain:stream:small": 2,
        "double:plain:graph:small": 2,
    }
    assert len(of(under_nsys, "driven")) == 4  # the untimed shape is driven all the same


@pytest.mark.parametrize("name", ["validate", "timing", "nsys", "ncu", "sanitize"])
def test_an_element_that_is_never_written_stops_every_pass(drive: Any, gpu: Gpu, name: str) -> None:
    def forgetful(bench: Any, variant: str, parameters: Any, on: Any) -> list[Any]:
        def double() -> None:
            on["y"][:-1] = on["x"][:-1] * 2

        return [bench.library_call("double", lambda: gpu.enqueue(double), str)]

    status, records = drive(name, launches=forgetful)
    assert status == 1
    assert of(records, "driven") == []
    assert records[-1]["state"] == "failed"
    assert "double:plain:stream:small is wrong" in records[-1]["reason"]
    assert "finite of y is 1, at most 0 allowed" in records[-1]["reason"]
    failed = [check for check in of(records, "validation") if not check["passed"]]
    assert [(check["check"], check["worst"]) for check in failed] == [
        ("finite", 1.0),
        ("error", sys.float_info.max),
    ]


def test_a_graph_that_does_other_work_than_its_stream_is_caught(drive: Any, gpu: Gpu) -> None:
    def two_faced(bench: Any, variant: str, parameters: Any, on: Any) -> list[Any]:
        def double(factor: np.float32) -> None:
            on["y"][...] = on["x"] * factor

        def submit() -> int:
            nearly = np.nextafter(np.float32(2), np.float32(3))  # within tolerance, but not the same bits
            factor = np.float32(2) if gpu.captured is None else nearly
            return gpu.enqueue(lambda: double(factor))

        return [bench.library_call("double", submit, str)]

    status, records = drive("timing", launches=two_faced)
    assert status == 1
    assert [c["check"] for c in of(records, "validation") if not c["passed"]] == ["same_as_stream"]
    assert "double:plain:graph:small" in records[-1]["reason"]


def test_a_variant_that_is_wrong_only_on_the_held_out_fixture_is_caught(drive: Any, gpu: Gpu) -> None:
    def overfitted(bench: Any, variant: str, parameters: Any, on: Any) -> list[Any]:
        def double() -> None:
            on["y"][...] = np.minimum(on["x"] * 2, 1000)

        return [bench.library_call("double", lambda: gpu.enqueue(double), str)]

    status, records = drive("validate", launches=overfitted)
    assert status == 1
    assert "fixture 'large'" in records[-1]["reason"]
    assert len(of(records, "driven")) == 2  # what was measured before stays


def test_a_cuda_error_is_told_and_is_no_failed_check(drive: Any, gpu: Gpu) -> None:
    gpu.replay_fails = True
    status, records = drive("timing")
    assert status == 2
    assert "CUDA_ERROR_LAUNCH_FAILED" in records[-1]["reason"]


def test_a_mistake_of_the_drivers_author_ends_the_records_too(drive: Any, capsys: Any) -> None:
    def absent(bench: Any, variant: str, parameters: Any, on: Any) -> list[Any]:
        raise KeyError("kernel_of_mine")

    status, records = drive("validate", launches=absent)
    assert status == 2
    assert records[-1]["reason"] == "KeyError: 'kernel_of_mine'"
    assert "Traceback" in capsys.readouterr().err


def test_progress_ends_with_all_cases_done(drive: Any) -> None:
    progress = of(drive("ncu")[1], "_progress")
    assert [(step["done"], step["total"]) for step in progress] == [(0, 4), (2, 4), (4, 4)]
    assert progress[0]["what"] == "double small"


def doubling(gpu: Gpu, factors: dict[str, np.float32]) -> Any:
    """Launches of `y = factor * x`, each variant with a factor of its own."""

    def launches(bench: Any, variant: str, parameters: Any, on: Any) -> list[Any]:
        def double() -> None:
            on["y"][...] = on["x"] * factors[variant]

        return [bench.library_call("double", lambda: gpu.enqueue(double), str)]

    return launches


def test_variants_that_must_be_alike_are_held_against_the_first(drive: Any, gpu: Gpu) -> None:
    twice, nearly = np.float32(2), np.nextafter(np.float32(2), np.float32(3))  # within tolerance, other bits
    alike = (("plain", "twin"),)
    same = doubling(gpu, {"plain": twice, "twin": twice})
    status, records = drive("validate", variants=("plain", "twin"), launches=same, alike=alike)
    assert status == 0
    compared = {(r["case_id"], r["check"], r["passed"]) for r in of(records, "validation") if ":" in r["check"]}
    assert compared == {
        (f"double:twin:{submission}:{shape}", "same_as:plain", True)
        for submission in ("stream", "graph")
        for shape in ("small", "odd")
    }
    other = doubling(gpu, {"plain": twice, "twin": nearly})
    status, records = drive("validate", variants=("plain", "twin"), launches=other, alike=alike)
    assert status == 1
    assert "same_as:plain of y is 8, at most 0 allowed" in records[-1]["reason"]
    # Without the declaration both are right within the tolerance.
    assert drive("validate", variants=("plain", "twin"), launches=other)[0] == 0


def test_a_group_begins_with_its_first_variant_that_is_there(drive: Any, gpu: Gpu) -> None:
    alone = doubling(gpu, {"twin": np.float32(2)})
    status, records = drive("validate", variants=("twin",), launches=alone, alike=(("plain", "twin"),))
    assert status == 0
    assert not [r for r in of(records, "validation") if ":" in r["check"]]


def test_every_named_array_is_checked(drive: Any, gpu: Gpu) -> None:
    from nsight_suite.driving import validation

    def arrays(parameters: Any) -> dict[str, Any]:
        return dict.fromkeys(("x", "half", "y"), ((parameters["count"],), np.float32))

    def launches(bench: Any, variant: str, parameters: Any, on: Any) -> list[Any]:
        def double() -> None:
            on["half"][...] = on["x"]
            on["y"][...] = on["x"] * 2

        return [bench.library_call("double", lambda: gpu.enqueue(double), str)]

    declared = {
        "arrays": arrays,
        "launches": launches,
        "checks": {"y": (validation.error,), "half": (validation.exact,)},
    }
    wrong = drive(
        "validate", **declared, reference=lambda _, given: {"y": given["x"] * 2, "half": given["x"] / 2}
    )
    assert wrong[0] == 1
    assert "exact of half is 8" in wrong[1][-1]["reason"]
    status, records = drive(
        "validate", **declared, reference=lambda _, given: {"y": given["x"] * 2, "half": given["x"]}
    )
    assert status == 0
    assert {(r["array"], r["check"]) for r in of(records, "validation")} == {
        ("y", "error"), ("half", "exact"), ("y", "same_as_stream"), ("half", "same_as_stream")
    }  # fmt: skip


def test_a_memset_is_planned_and_enqueued_like_a_kernel(drive: Any, gpu: Gpu) -> None:
    def launches(bench: Any, variant: str, parameters: Any, on: Any) -> list[Any]:
        def double() -> None:
            on["y"][...] = on["x"] * 2

        return [bench.memset(on["y"]), bench.library_call("double", lambda: gpu.enqueue(double), str)]

    records = drive("validate", launches=launches)[1]
    planned = [r for r in of(records, "planned_launch") if r["case_id"] == "double:plain:stream:small"]
    assert [(r["ordinal"], r["kind"], r["name"], r.get("bytes")) for r in planned] == [
        (0, "memset", "memset", 32),
        (1, "library", "double", None),
    ]


def test_the_driver_s_own_dump_of_a_graph_is_kept_and_counted(drive: Any, tmp_path: Path) -> None:
    records = drive("validate")[1]
    assert [(row["case_id"], row["kind"], row["nodes"]) for row in of(records, "graph_dot")] == [
        ("double:plain:graph:small", "kernel", 1),
        ("double:plain:graph:odd", "kernel", 1),
    ]
    assert (tmp_path / "build" / "double-plain-graph-small.dot").is_file()
    assert of(drive("timing")[1], "graph_dot") == []


def test_a_pilot_chooses_by_its_own_samples(drive: Any, gpu: Gpu) -> None:
    twice = np.float32(2)
    launches = doubling(gpu, {"plain": twice, "twin": twice})
    records = drive("pilot", variants=("plain", "twin"), launches=launches)[1]
    rows = of(records, "choice")
    assert Counter((row["submission"], row["group_name"]) for row in rows) == {
        ("stream", "any"): 2,
        ("graph", "any"): 2,
    }
    for submission in ("stream", "graph"):
        mine = [row for row in rows if row["submission"] == submission]
        assert [row["chosen"] for row in sorted(mine, key=lambda row: row["median_ns"])] == [True, False]
        for row in mine:
            case_id = f"double:{row['variant']}:{submission}:small"
            durations = [s["duration_ns"] for s in of(records, "sample") if s["case_id"] == case_id]
            assert row["rounds"] == len(durations) == 2
            assert row["median_ns"] == sum(durations) / 2


def test_the_second_session_is_on_the_other_gpu_with_an_order_of_its_own(drive: Any) -> None:
    first, second = drive("timing")[1], drive("timing-2")[1]
    assert [of(records, "device")[0]["ordinal"] for records in (first, second)] == [0, 1]
    assert len(of(first, "sample")) == len(of(second, "sample"))
    assert {sample["pass"] for sample in of(second, "sample")} == {"timing-2"}


def test_a_trace_is_held_in_records_beside_its_plan(drive: Any, gpu: Gpu) -> None:
    from nsight_suite.driving.tasks import RECORD, Stage

    def launches(bench: Any, variant: str, parameters: Any, on: Any) -> list[Any]:
        head = bench.log._memory[:16].view(np.uint64)
        body = bench.log._memory[16 : 16 + 2 * RECORD.itemsize].view(RECORD)

        def double() -> None:
            on["y"][...] = on["x"] * 2
            head[0] += 2
            body[0] = (100, 130, 0, 0, 0xFFFFFFFF, 5, 7, 0)
            body[1] = (131, 150, 9, 1, 3, 6, 8, 0)

        return [bench.library_call("double", lambda: gpu.enqueue(double), str)]

    status, records = drive(
        "trace", launches=launches, tasks=lambda *_: [Stage("A", 2, "nothing"), Stage("B", [2, 1], "job")]
    )
    assert status == 0
    case_id = "double:plain:stream:small"
    planned = [r for r in of(records, "task_plan") if r["case_id"] == case_id]
    assert [(r["stage"], r["job"], r["tasks"], r["tiled"], r["after"]) for r in planned] == [
        ("A", 0, 1, False, "nothing"),
        ("A", 1, 1, False, "nothing"),
        ("B", 0, 2, True, "job"),
        ("B", 1, 1, True, "job"),
    ]
    ran = [r for r in of(records, "task") if r["case_id"] == case_id and r["invocation"] == 1]
    assert [
        (r["stage"], r["job"], r["tile"], r["worker"], r["multiprocessor"], r["start_ns"]) for r in ran
    ] == [
        ("A", 0, None, 5, 7, 100),
        ("9", 1, 3, 6, 8, 131),  # a stage that nobody planned
    ]


def test_an_experiment_without_tasks_cannot_be_traced(drive: Any) -> None:
    status, records = drive("trace")
    assert status == 2
    assert "declares no tasks" in records[-1]["reason"]


def test_an_overfull_task_log_is_told(drive: Any, gpu: Gpu) -> None:
    from nsight_suite.driving.tasks import Stage

    def launches(bench: Any, variant: str, parameters: Any, on: Any) -> list[Any]:
        head = bench.log._memory[:16].view(np.uint64)

        def double() -> None:
            on["y"][...] = on["x"] * 2
            head[0] += 1 << 40

        return [bench.library_call("double", lambda: gpu.enqueue(double), str)]

    status, records = drive("trace", launches=launches, tasks=lambda *_: [Stage("A", 1, "nothing")])
    assert status == 2
    assert "more than the log holds" in records[-1]["reason"]
