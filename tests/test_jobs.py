"""The experiment `jobs`: its kernels, driver, declarations, queries and figures, without a GPU."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

import evidence_rows
import numpy as np
import pytest
from python_files import module_of

from nsight_suite.driving.build import OPTIONS, compile_source
from nsight_suite.driving.tasks import TRACED
from nsight_suite.driving.validation import generator
from nsight_suite.errors import CannotAnswer, CannotMeasure
from nsight_suite.figurefiles import figure_sources
from nsight_suite.protocol import load
from nsight_suite.querying import find_query, run_named, run_sql
from nsight_suite.sources import find_experiment

SOURCE = find_experiment("jobs")
PROTOCOL = load(SOURCE.protocol)
FIXTURES = (*PROTOCOL.fixtures, PROTOCOL.held_out)
SHAPES = {shape.name: dict(shape.parameters) for shape in PROTOCOL.shapes}
FIGURES = {source.name: source for source in figure_sources("jobs")}
KERNELS = {"separate": ["jobs_stage_a", "jobs_stage_b"], "fused": ["jobs_fused"], "queue": ["jobs_queue"]}
QUERIES = ("iterations", "reservation", "counter_reset", "compute_floor")
# Seven jobs, so that a loop in Python is done in no time.
TINY = {"light": 3, "heavy": 37, "every": 3, "second": 5, "multiprocessors": 1}

Row = dict[str, Any]


@pytest.fixture(scope="module")
def driver() -> ModuleType:
    return module_of(SOURCE.driver)


def given(driver: ModuleType, fixture: str, parameters: Mapping[str, int]) -> Mapping[str, np.ndarray]:
    return driver.inputs(fixture, parameters, generator(PROTOCOL.seed, fixture, "tiny"))


# Kernels


@pytest.mark.parametrize("options", [OPTIONS, (*OPTIONS, TRACED)], ids=["measured", "traced"])
@pytest.mark.parametrize("variant", KERNELS)
def test_the_kernels_need_no_local_memory(variant: str, options: tuple[str, ...]) -> None:
    build = compile_source(SOURCE.kernels / f"{variant}.cu", "sm_90", options)
    assert [kernel.name for kernel in build.kernels] == KERNELS[variant]
    assert all(kernel.local_bytes_per_thread == 0 for kernel in build.kernels)
    # Shared memory of their own they have next to none: the reservation is the launch's.
    assert all(kernel.static_shared_bytes <= 16 for kernel in build.kernels)


@pytest.mark.parametrize("variant", KERNELS)
def test_only_the_traced_build_reads_the_clock(variant: str) -> None:
    measured = compile_source(SOURCE.kernels / f"{variant}.cu", "sm_90").ptx.decode()
    traced = compile_source(SOURCE.kernels / f"{variant}.cu", "sm_90", (*OPTIONS, TRACED)).ptx.decode()
    assert "%globaltimer" not in measured
    assert "%smid" not in measured
    # Begin and end of both stages.
    assert traced.count("%globaltimer") == 4
    assert "%smid" in traced


@pytest.mark.parametrize("variant", KERNELS)
def test_a_is_stored_and_loaded_again_and_no_iteration_is_saved(variant: str) -> None:
    ptx = compile_source(SOURCE.kernels / f"{variant}.cu", "sm_90").ptx.decode()
    assert ptx.count("st.volatile.global.u32") == 1
    assert ptx.count("ld.volatile.global.u32") == 1
    # Each stage has a loop of sixteen multiply-adds at a time, and more for what is left.
    assert ptx.count("mad.lo.u32") >= 2 * (16 + 1)
    # Two iterations as one would multiply by a square.
    for multiplier in (1664525, 22695477):
        folded = multiplier**2 % 2**32
        assert str(multiplier) in ptx
        assert str(folded) not in ptx
        assert str(folded - 2**32) not in ptx


# Inputs and oracle


def test_the_number_of_jobs_and_iterations_are_the_published_ones(driver: ModuleType) -> None:
    totals = {}
    for shape, parameters in SHAPES.items():
        of_h200 = {**parameters, "multiprocessors": 132}
        assert driver.job_count(of_h200) == 597
        totals[shape] = int(driver.iterations(of_h200).sum())
    assert totals == {"balanced": 611_328, "ragged": 748_032}
    assert {parameters["second"] for parameters in SHAPES.values()} == {512}


def test_every_eighth_job_is_heavy(driver: ModuleType) -> None:
    ragged = driver.iterations({**SHAPES["ragged"], "multiprocessors": 4})
    assert ragged.tolist() == [8192 if job % 8 == 0 else 256 for job in range(21)]
    assert ragged.dtype == np.uint32


@pytest.mark.parametrize("fixture", FIXTURES)
def test_inputs_fit_the_arrays_and_share_one_layout(driver: ModuleType, fixture: str) -> None:
    declared = driver.arrays(TINY)
    arrays = given(driver, fixture, TINY)
    assert set(arrays) == {"x", "iterations"}
    for name, array in arrays.items():
        assert (array.shape, array.dtype) == (declared[name][0], declared[name][1])
    assert (arrays["iterations"] == driver.iterations(TINY)).all()
    assert (arrays["x"] == given(driver, fixture, TINY)["x"]).all()


def test_every_fixture_differs(driver: ModuleType) -> None:
    assert len({given(driver, fixture, TINY)["x"].tobytes() for fixture in FIXTURES}) == len(FIXTURES) == 4
    with pytest.raises(ValueError, match="no fixture 'unheard'"):
        given(driver, "unheard", TINY)


@pytest.mark.parametrize("fixture", FIXTURES)
def test_the_oracle_is_what_iterating_gives(driver: ModuleType, fixture: str) -> None:
    arrays = given(driver, fixture, TINY)
    right = driver.reference(TINY, arrays)
    for job, times in enumerate(arrays["iterations"].tolist()):
        for place, value in enumerate(arrays["x"][job].tolist()):
            v = value
            for _ in range(times):
                v = (1664525 * v + 1013904223) % 2**32
            assert right["a"][job, place] == v
            for _ in range(TINY["second"]):
                v = (22695477 * v + 1) % 2**32
            assert right["y"][job, place] == v
    assert right["a"].dtype == right["y"].dtype == np.uint32


def test_the_oracle_holds_for_many_iterations(driver: ModuleType) -> None:
    many = {**TINY, "light": 1, "heavy": 8192, "every": 6, "second": 512}
    arrays = given(driver, "uniform", many)
    right = driver.reference(many, arrays)
    for job in (0, 1, 6):
        v = int(arrays["x"][job, 255])
        for _ in range(arrays["iterations"][job]):
            v = (1664525 * v + 1013904223) % 2**32
        assert right["a"][job, 255] == v


@pytest.mark.parametrize("wrong", ["one iteration less", "stages swapped", "jobs shifted"])
def test_a_wrong_result_differs_from_the_oracle_nearly_everywhere(driver: ModuleType, wrong: str) -> None:
    arrays = dict(given(driver, "uniform", TINY))
    right = driver.reference(TINY, arrays)["y"]
    if wrong == "one iteration less":
        other = driver.reference({**TINY, "second": TINY["second"] - 1}, arrays)["y"]
    elif wrong == "stages swapped":
        arrays["iterations"] = np.full_like(arrays["iterations"], TINY["second"])
        other = driver.reference({**TINY, "second": TINY["light"]}, arrays)["y"]
    else:
        other = np.roll(right, 1, axis=0)
    assert (other != right).mean() > 0.99


# Launches


class FakeBench:
    """Takes down what a driver asks for; `fit` blocks fit on a multiprocessor."""

    shared_bytes_per_multiprocessor = 233_472
    task_log = np.uint64(0)

    def __init__(self, fit: int = 1) -> None:
        self.fit = fit
        self.asked: list[tuple[str, tuple[int, ...], int]] = []

    def kernels(self, file: str) -> Mapping[str, str]:
        return {name: name for name in KERNELS[file.removesuffix(".cu")]}

    def active_blocks(self, kernel: str, block: tuple[int, ...], shared_bytes: int = 0) -> int:
        self.asked.append((kernel, block, shared_bytes))
        return self.fit

    def launch(
        self,
        kernel: str,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        *arguments: Any,
        shared_bytes: int = 0,
    ) -> Row:
        return {"name": kernel, "grid": grid, "block": block, "shared": shared_bytes, "arguments": arguments}

    def memset(self, array: str, byte: int = 0) -> Row:
        return {"name": "memset", "array": array, "byte": byte}


class FakeKernel(str):
    """A kernel's name, which has a name."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return str(self)


ON = {name: name for name in ("x", "iterations", "a", "y", "counter")}
H200 = {**SHAPES["ragged"], "multiprocessors": 132}


@pytest.mark.parametrize(
    ("variant", "names", "blocks"),
    [
        ("separate", ["jobs_stage_a", "jobs_stage_b"], 597),
        ("fused", ["jobs_fused"], 597),
        ("queue", ["memset", "jobs_queue"], 132),
    ],
)
def test_every_kernel_is_launched_under_the_artificial_reservation(
    driver: ModuleType, variant: str, names: list[str], blocks: int
) -> None:
    bench = FakeBench()
    made = driver.launches(bench, variant, H200, ON)
    assert [launch["name"] for launch in made] == names
    kernels = [launch for launch in made if launch["name"] != "memset"]
    for launch in kernels:
        assert (launch["grid"], launch["block"]) == ((blocks,), (256,))
        # Two such blocks do not fit, and one does.
        assert 2 * launch["shared"] > bench.shared_bytes_per_multiprocessor >= launch["shared"]
        assert launch["arguments"][-1] is bench.task_log
        assert (launch["name"], (256,), launch["shared"]) in bench.asked
    assert len(bench.asked) == len(kernels)


def test_the_queue_resets_its_counter_first(driver: ModuleType) -> None:
    reset, kernel = driver.launches(FakeBench(), "queue", H200, ON)
    assert (reset["array"], reset["byte"]) == ("counter", 0)
    assert kernel["arguments"] == ("x", "iterations", "a", "y", 512, "counter", 597, 0)


@pytest.mark.parametrize("fit", [0, 2])
@pytest.mark.parametrize("variant", KERNELS)
def test_without_the_reservation_nothing_is_measured(driver: ModuleType, variant: str, fit: int) -> None:
    class Bench(FakeBench):
        def kernels(self, file: str) -> Mapping[str, str]:
            return {name: FakeKernel(name) for name in super().kernels(file)}

    with pytest.raises(CannotMeasure, match="artificial reservation") as caught:
        driver.launches(Bench(fit), variant, H200, ON)
    assert f"{fit} blocks of jobs_" in caught.value.what


def test_an_unknown_variant_is_refused(driver: ModuleType) -> None:
    with pytest.raises(ValueError, match="no variant 'tuned'"):
        driver.launches(FakeBench(), "tuned", H200, ON)


@pytest.mark.parametrize(("variant", "after"), [("separate", "stage"), ("fused", "job"), ("queue", "job")])
def test_each_job_is_one_task_of_each_stage(driver: ModuleType, variant: str, after: str) -> None:
    first, second = driver.tasks(variant, H200, {})
    assert (first.name, first.tiles, first.after) == ("A", 597, "nothing")
    assert (second.name, second.tiles, second.after) == ("B", 597, after)


def test_both_results_are_checked_and_alike(driver: ModuleType) -> None:
    experiment = driver.JOBS
    assert {name: [check.__name__ for check in made] for name, made in experiment.checks.items()} == {
        "a": ["exact"],
        "y": ["exact"],
    }
    assert experiment.alike == (tuple(KERNELS),)
    assert tuple(PROTOCOL.variants) == tuple(KERNELS)
    assert PROTOCOL.tolerances == {}


def test_the_reservation_is_called_artificial_wherever_it_shows(driver: ModuleType) -> None:
    texts = [driver.__doc__, SOURCE.expected.read_text()]
    texts += [find_query(name, "jobs").path.read_text() for name in QUERIES]
    texts += [path.read_text() for path in sorted(SOURCE.kernels.iterdir())]
    texts += [source.path.read_text() for source in FIGURES.values()]
    for text in texts:
        assert "artificial" in text
        assert "reservation" in text


# Declarations and queries over a tiny store


def case_rows() -> list[Row]:
    return [
        {
            "case_id": case.case_id,
            "experiment": "jobs",
            "variant": case.variant,
            "submission": case.submission,
            "shape": case.shape.name,
            "case_order": position,
            "parameters": json.dumps(dict(case.shape.parameters)),
            "timed": True,
        }
        for position, case in enumerate(PROTOCOL.cases())
    ]


DEVICE = [{"pass": "timing", "name": "NVIDIA H200", "multiprocessors": 132, "driver_version": "580"}]


store_of = partial(evidence_rows.store_of, expected=SOURCE.expected)
frames = partial(evidence_rows.frames, experiment=SOURCE)


def ask(name: str, **tables: Iterable[Row]) -> list[Row]:
    named = {"range" if table == "ranges" else table: rows for table, rows in tables.items()}
    with store_of({"variant_case": case_rows(), **named}) as store:
        return run_named(store, name, "jobs").records()


DECLARED = (
    "kernels",
    "graph_nodes",
    "kernel_names",
    "memset_nodes",
    "logical_read_bytes",
    "logical_write_bytes",
)


def test_each_case_declares_its_kernels_nodes_memsets_and_bytes() -> None:
    with store_of({"variant_case": case_rows(), "device": DEVICE}) as store:
        rows = run_sql(store, "SELECT * FROM expected").records()
    found = {row["case_id"]: tuple(row[name] for name in DECLARED) for row in rows}
    separate, fused, queue = (sorted(names) for names in KERNELS.values())
    assert len(found) == 12
    for shape in SHAPES:
        assert found[f"jobs:separate:graph:{shape}"] == (2, 2, separate, 0, 597 * 2052, 597 * 2048)
        assert found[f"jobs:separate:stream:{shape}"] == (2, None, separate, 0, 597 * 2052, 597 * 2048)
        assert found[f"jobs:fused:graph:{shape}"] == (1, 1, fused, 0, 597 * 1028, 597 * 2048)
        assert found[f"jobs:queue:graph:{shape}"] == (1, 1, queue, 1, 597 * 1028 + 4, 597 * 2048 + 4)
        assert found[f"jobs:queue:stream:{shape}"][3] == 1


def test_without_a_device_the_bytes_are_unknown_and_the_kernels_are_not() -> None:
    with store_of({"variant_case": case_rows()}) as store:
        rows = run_sql(store, "SELECT * FROM expected").records()
    assert {(row["logical_read_bytes"], row["logical_write_bytes"]) for row in rows} == {(None, None)}
    assert {row["kernels"] for row in rows} == {1, 2}


def test_iterations_of_a_device_of_132_multiprocessors() -> None:
    balanced, ragged = ask("iterations", device=DEVICE)
    assert tuple(balanced.values()) == ("balanced", 597, 597, 1024, 1024, 611_328, 597 * 512, 4.5227)
    assert tuple(ragged.values()) == ("ragged", 597, 75, 256, 8192, 748_032, 597 * 512, 4.5227)


def test_iterations_agree_with_the_driver_on_any_device(driver: ModuleType) -> None:
    for multiprocessors in (1, 7, 108, 144):
        for row in ask("iterations", device=[{"pass": "timing", "multiprocessors": multiprocessors}]):
            steps = driver.iterations({**SHAPES[row["shape"]], "multiprocessors": multiprocessors})
            assert (row["jobs"], row["a_iterations"]) == (len(steps), int(steps.sum()))
            assert row["heavy_jobs"] == int((steps == SHAPES[row["shape"]]["heavy"]).sum())


def test_without_a_device_iterations_are_unknown() -> None:
    assert {row["jobs"] for row in ask("iterations")} == {None}
    assert {row["a_iterations"] for row in ask("iterations")} == {None}


def test_reservation_tells_kernels_that_are_not_alone() -> None:
    def asked(pass_name: str, kernel: str, active: int) -> Row:
        sizes = {"block_threads": 256, "dynamic_shared_bytes": 116_737, "multiprocessors": 132}
        return {"pass": pass_name, "kernel": kernel, "active_blocks": active, **sizes}

    rows = [asked("timing", "jobs_fused", 1), asked("nsys", "jobs_fused", 1)]
    rows += [asked("timing", "jobs_queue", 1), asked("nsys", "jobs_queue", 2)]
    assert [tuple(row.values()) for row in ask("reservation", occupancy=rows)] == [
        ("jobs_fused", 256, 116_737, 1, 1, 2, True),
        ("jobs_queue", 256, 116_737, 1, 2, 2, False),
    ]


def test_the_distance_from_the_compute_floor_is_split_by_counters() -> None:
    """One multiprocessor has 7 jobs: 7 * 256 * (1024 + 512) multiply-adds, at 64 a cycle 43,008 cycles."""
    case_id, cycles = (
        "jobs:fused:graph:balanced",
        "sm__pipe_fmaheavy_cycles_active.avg.pct_of_peak_sustained_elapsed",
    )

    def counted(pass_name: str, workload: int, metric: str, value: float | None) -> Row:
        where = {"pass": pass_name, "workload_id": workload, "workload": "kernel", "name": "jobs_fused"}
        return {**where, "range_name": case_id, "metric": metric, "value": value}

    # Two workloads, 64,512 and 64,514 cycles; on average something was resident in 53,760 and 53,762.
    rows = [counted("ncu", n, "sm__cycles_elapsed.max", 64_512 + 2 * n) for n in (0, 1)]
    rows += [counted("ncu", n, "sm__cycles_active.avg", 53_760 + 2 * n) for n in (0, 1)]
    rows += [counted("ncu", n, cycles, 75) for n in (0, 1)]
    rows += [counted("ncu", n, "smsp__issue_active.avg.pct_of_peak_sustained_active", None) for n in (0, 1)]
    rows += [counted("ncu-warm", 0, "sm__cycles_elapsed.max", 1e6)]  # with what ncu does before the kernel
    passes = [{"pass": "ncu", "cache_control": "all"}, {"pass": "ncu-warm", "cache_control": "none"}]
    one = [{"pass": "timing", "multiprocessors": 1}]
    [found] = ask("compute_floor", **{"pass": passes}, device=one, counter=rows)
    assert (found["case_id"], found["pass"], found["kernel"], found["workloads"]) == (
        case_id,
        "ncu",
        "jobs_fused",
        2,
    )
    assert (found["multiply_adds"], found["floor_cycles"]) == (7 * 256 * 1536, 43_008)
    assert found["elapsed_cycles"] == 64_513
    assert found["elapsed_to_floor"] == 1.5
    assert found["elapsed_to_active"] == 1.2
    assert found["active_to_pipe"] == 1.111
    assert found["pipe_to_floor"] == 1.125
    assert (found["pipe_percent"], found["issue_percent"], found["wait_per_issue"]) == (75, None, None)


def profiled(case_id: str, number: int, operations: list[tuple[str, int, int]]) -> Mapping[str, list[Row]]:
    """One invocation by nsys, from 1000 * number on: a call, and what it started, each (kind, start, end)."""
    at, where = 1000 * number, {"pass": "nsys", "process": 0, "thread": 0}
    made: dict[str, list[Row]] = {
        "range": [
            {"range_id": number, "domain": "nsight_suite", "name": case_id, "payload": number, **where}
            | {"style": "push_pop", "start_ns": at, "end_ns": at + 900}
        ],
        "launch": [
            {"launch_id": number, "range_id": number, "name": "cuGraphLaunch", "kind": "graph", **where}
            | {"captured": False, "start_ns": at + 10, "end_ns": at + 20}
        ],
        "kernel": [],
        "memory_operation": [],
    }
    for start, (kind, begin, end) in enumerate(operations):
        row = {"pass": "nsys", "process": 0, "launch_id": number, "range_id": number, "device": 0, "context": 1}
        row |= {"stream": 7, "start_ns": at + begin, "end_ns": at + end}
        if kind == "memset":
            made["memory_operation"].append({**row, "kind": "memset", "bytes": 4})
        else:
            made["kernel"].append({**row, "kernel_id": 10 * number + start, "name": kind})
    return made


def test_counter_reset_tells_memsets_by_every_witness() -> None:
    queue, fused = "jobs:queue:graph:ragged", "jobs:fused:graph:ragged"
    tables: dict[str, list[Row]] = {"range": [], "launch": [], "kernel": [], "memory_operation": []}
    for made in (
        profiled(queue, 0, [("memset", 100, 102), ("jobs_queue", 103, 200)]),
        profiled(queue, 1, [("memset", 100, 104), ("jobs_queue", 107, 200)]),
        profiled(fused, 2, [("jobs_fused", 100, 200)]),
        profiled(fused, 3, []),  # of which nothing is recorded
    ):
        for name, rows in made.items():
            tables[name] += rows
    nodes = [
        {"pass": "validate", "case_id": case_id, "ordinal": ordinal, "kind": kind}
        for case_id, kinds in ((queue, ("memset", "kernel")), (fused, ("kernel",)))
        for ordinal, kind in enumerate(kinds)
    ]
    found = {
        row["case_id"]: row
        for row in ask("counter_reset", graph_node=nodes, ranges=tables.pop("range"), **tables)
    }
    assert list(found[queue].values())[4:] == [1, 1, 2, 1, 1, 3, 5]
    assert list(found[fused].values())[4:] == [0, 0, 1, 0, 0, None, None]
    assert list(found["jobs:queue:stream:ragged"].values())[4:] == [1, None, None, None, None, None, None]


@pytest.mark.parametrize("name", QUERIES)
def test_queries_document_their_columns_and_take_an_empty_store(name: str) -> None:
    query = find_query(name, "jobs")
    with store_of({}) as store:
        result = run_named(store, name, "jobs")
    assert query.about.startswith("One row per ")
    assert tuple(query.columns) == result.columns
    assert result.rows == ()


# Figures


def titles(figure: Any) -> list[str]:
    return [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes]


def words(figure: Any) -> str:
    return " ".join(figure.get_supxlabel().split())


def task(case_id: str, stage: str, job: int, ran: tuple[int, int], invocation: int = 0) -> Row:
    """A task that ran from and to these times on the multiprocessor of its job's number."""
    row = {"pass": "trace", "case_id": case_id, "invocation": invocation, "stage": stage, "job": job}
    return {**row, "worker": job, "multiprocessor": job, "start_ns": ran[0], "end_ns": ran[1]}


def traced() -> list[Row]:
    """Two jobs on two multiprocessors: of `fused` one B begins before the last A ends; of `separate` none."""
    rows = []
    for submission, late in (("stream", 9_000), ("graph", 0)):
        fused, separate = (f"jobs:{variant}:{submission}:ragged" for variant in ("fused", "separate"))
        for case_id, starts in ((fused, (1_000, 4_000)), (separate, (4_000, 4_000))):
            for job, (end, start) in enumerate(zip((1_000, 4_000), starts, strict=True)):
                begin = 10_000 + late
                rows.append(task(case_id, "A", job, (begin, begin + end)))
                rows.append(task(case_id, "B", job, (begin + start, begin + start + 500)))
    # A later invocation is not drawn.
    return [*rows, task("jobs:fused:graph:ragged", "A", 0, (90_000, 95_000), invocation=1)]


def test_tasks_are_drawn_on_their_multiprocessors() -> None:
    source = FIGURES["jobs-multiprocessors"]
    tables = frames(source, {"variant_case": case_rows(), "device": DEVICE, "task": traced()})
    assert set(tables["tasks"]["submission"]) == {"graph"}
    assert len(tables["tasks"]) == 8
    figure = source.draw(tables)
    assert titles(figure) == [
        "ragged, separate: 0 of 2 B began early",
        "ragged, fused: 1 of 2 B began early",
        "ragged, queue",
    ]
    separate, fused, queue = figure.axes
    assert fused.get_xlim() == pytest.approx((0, 4.5 * 1.01))  # the last B ends 4.5 µs after the first A began
    assert fused.get_lines()[0].get_xdata() == pytest.approx([4, 4])
    assert [len(collection.get_paths()) for collection in separate.collections] == [2, 2]
    assert [text.get_text() for text in queue.texts] == ["not traced"]
    assert all("own time scale" in axes.get_xlabel() for axes in (separate, fused))
    assert "artificial reservation" in words(figure)
    assert "Each panel has its own time scale" in words(figure)
    figure.draw_without_rendering()


def samples() -> list[Row]:
    base = {"pass": "timing", "quantity": "completion", "position": 0, "invocations": 1}
    return [
        {
            **base,
            "case_id": row["case_id"],
            "round": turn,
            "duration_ns": 120_000 + 1_000 * row["case_order"] + turn,
        }
        for row in case_rows()
        for turn in range(5)
    ]


def test_completion_is_drawn_per_distribution() -> None:
    source = FIGURES["jobs-completion"]
    figure = source.draw(frames(source, {"variant_case": case_rows(), "device": DEVICE, "sample": samples()}))
    assert titles(figure) == [
        "balanced: 597 jobs, 611,328 iterations of A",
        "ragged: 597 jobs, 748,032 iterations of A",
    ]
    assert [text.get_text() for text in figure.axes[0].texts] == ["120", "121", "122", "123", "124", "125"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()][:3] == [
        "separate stream",
        "separate graph",
        "fused stream",
    ]
    assert "artificial reservation" in words(figure)
    figure.draw_without_rendering()


def test_completion_is_drawn_without_a_known_device() -> None:
    source = FIGURES["jobs-completion"]
    figure = source.draw(frames(source, {"variant_case": case_rows(), "sample": samples()}))
    assert titles(figure) == ["balanced", "ragged"]


@pytest.mark.parametrize("name", ["jobs-completion", "jobs-multiprocessors"])
def test_a_figure_without_its_evidence_says_which_pass_to_run(name: str) -> None:
    source = FIGURES[name]
    with pytest.raises(CannotAnswer) as caught:
        source.draw(frames(source, {"variant_case": case_rows(), "device": DEVICE}))
    assert "pass" in caught.value.way_out
