"""The experiment `pointwise`: its kernels, driver, declarations, queries and figures, without a GPU."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any

import evidence_rows
import numpy as np
import pytest
from python_files import module_of

from nsight_suite.driving.build import compile_source
from nsight_suite.driving.validation import generator
from nsight_suite.errors import CannotAnswer, CannotMeasure
from nsight_suite.figurefiles import figure_sources
from nsight_suite.protocol import load
from nsight_suite.querying import find_query, run_named, run_sql
from nsight_suite.sources import find_experiment

SOURCE = find_experiment("pointwise")
PROTOCOL = load(SOURCE.protocol)
FIXTURES = (*PROTOCOL.fixtures, PROTOCOL.held_out)
FIGURES = {source.name: source for source in figure_sources("pointwise")}
KERNELS = {"separate": ["add_one", "halve", "square"], "fused": ["add_square_halve"]}

Row = dict[str, Any]


@pytest.fixture(scope="module")
def driver() -> ModuleType:
    return module_of(SOURCE.driver)


def x_of(driver: ModuleType, fixture: str, elements: int = 4096) -> np.ndarray:
    random = generator(PROTOCOL.seed, fixture, str(elements))
    return driver.inputs(fixture, {"elements": elements}, random)["x"]


# Kernels


@pytest.mark.parametrize("variant", KERNELS)
def test_the_kernels_need_no_local_memory(variant: str) -> None:
    build = compile_source(SOURCE.kernels / f"{variant}.cu", "sm_90")
    assert [kernel.name for kernel in build.kernels] == KERNELS[variant]
    assert all(kernel.local_bytes_per_thread == 0 for kernel in build.kernels)


@pytest.mark.parametrize("variant", KERNELS)
def test_the_kernels_move_128_bits_and_round_each_step(variant: str) -> None:
    ptx = compile_source(SOURCE.kernels / f"{variant}.cu", "sm_90").ptx.decode()
    # Two quads per thread and kernel; four elements in each go through three steps in all kernels together.
    quads = 2 * len(KERNELS[variant])
    assert len(re.findall(r"ld\.global\S*\.v4\.(?:f32|u32|b32)", ptx)) == quads
    assert len(re.findall(r"st\.global\S*\.v4\.(?:f32|u32|b32)", ptx)) == quads
    assert len(re.findall(r"add\.rn\.f32", ptx)) == 2 * 4
    assert len(re.findall(r"mul\.rn\.f32", ptx)) == 2 * 4 * 2
    assert "fma" not in ptx


def test_driver_and_kernels_agree_on_the_launch_shape(driver: ModuleType) -> None:
    text = (SOURCE.kernels / "steps.cuh").read_text()
    assert f"constexpr unsigned THREADS = {driver.THREADS};" in text
    assert f"constexpr unsigned QUADS = {driver.QUADS_PER_THREAD};" in text


# Inputs and oracle


@pytest.mark.parametrize("fixture", FIXTURES)
def test_inputs_are_bounded_dyadic_numbers(driver: ModuleType, fixture: str) -> None:
    x = x_of(driver, fixture)
    shape, dtype = driver.arrays({"elements": 4096})["x"]
    assert (x.shape, x.dtype) == (shape, dtype)
    assert np.abs(x).max() < 2048
    whole = x.astype(np.float64) * 2.0**30
    assert (whole == np.round(whole)).all()
    assert (x < 0).any()
    assert (x > 0).any()
    assert (x == x_of(driver, fixture)).all()


def test_every_fixture_differs(driver: ModuleType) -> None:
    arrays = [x_of(driver, fixture).tobytes() for fixture in FIXTURES]
    assert len(set(arrays)) == len(FIXTURES) == 4
    with pytest.raises(ValueError, match="no fixture 'unheard'"):
        x_of(driver, "unheard")


def rounded(exact: Fraction) -> Fraction:
    """The nearest FP32 number. FP64 holds `exact` as it is, so it is rounded once."""
    assert Fraction(float(exact)) == exact
    return Fraction(float(np.float32(float(exact))))


@pytest.mark.parametrize("fixture", FIXTURES)
def test_the_oracle_rounds_each_step(driver: ModuleType, fixture: str) -> None:
    x = x_of(driver, fixture, 512)
    kept = x.copy()
    y = driver.reference({"elements": 512}, {"x": x})
    assert y.dtype == np.float32
    assert (x == kept).all()
    slow = []
    for value in x:
        a = rounded(Fraction(float(value)) + 1)
        b = rounded(a * a)
        slow.append(float(rounded(b / 2)))
    assert y.tolist() == slow


def test_fixtures_round_where_they_say_so(driver: ModuleType) -> None:
    def changed(fixture: str, step: str) -> int:
        x = x_of(driver, fixture).astype(np.float64)
        a = x + 1
        exact = a if step == "sum" else a.astype(np.float32).astype(np.float64) ** 2
        return int((exact.astype(np.float32) != exact).sum())

    assert changed("sixteenths", "sum") == changed("sixteenths", "square") == 0
    assert changed("fine", "sum") == 0
    assert changed("fine", "square") > 2048
    assert changed("tiny", "sum") > 2048


def test_an_oracle_that_fuses_a_step_would_be_caught(driver: ModuleType) -> None:
    """(x + 1)² without rounding between gives other bits, so the exact check sees a contraction."""
    x = x_of(driver, "tiny")
    fused = (((x.astype(np.float64) + 1) ** 2).astype(np.float32) * np.float32(0.5)).astype(np.float32)
    assert (fused != driver.reference({"elements": 4096}, {"x": x})).any()


# Launches


class FakeBench:
    """Takes down what a driver asks for."""

    def kernels(self, file: str) -> Mapping[str, str]:
        build = compile_source(SOURCE.kernels / file, "sm_90")
        return {kernel.name: kernel.name for kernel in build.kernels}

    def launch(self, kernel: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: Any) -> Row:
        return {"kernel": kernel, "grid": grid, "block": block, "arguments": arguments}


ON = {name: name for name in ("x", "a", "b", "y")}


@pytest.mark.parametrize(
    ("elements", "blocks"), [(256, 1), (32_768, 16), (1_048_576, 512), (16_777_216, 8192), (2052, 2)]
)
def test_blocks_of_256_threads_cover_the_array(driver: ModuleType, elements: int, blocks: int) -> None:
    made = driver.launches(FakeBench(), "separate", {"elements": elements, "multiprocessors": 132}, ON)
    assert [launch["kernel"] for launch in made] == ["add_one", "square", "halve"]
    assert [launch["arguments"][:2] for launch in made] == [("x", "a"), ("a", "b"), ("b", "y")]
    assert {(launch["grid"], launch["block"]) for launch in made} == {((blocks,), (256,))}
    assert {int(launch["arguments"][2]) for launch in made} == {elements // 4}
    (fused,) = driver.launches(FakeBench(), "fused", {"elements": elements, "multiprocessors": 132}, ON)
    assert (fused["kernel"], fused["grid"], fused["block"]) == ("add_square_halve", (blocks,), (256,))
    assert fused["arguments"] == ("x", "y", np.uint32(elements // 4))


def test_what_cannot_be_launched_is_refused(driver: ModuleType) -> None:
    with pytest.raises(CannotMeasure, match="cannot take 1001"):
        driver.launches(FakeBench(), "fused", {"elements": 1001, "multiprocessors": 132}, ON)
    with pytest.raises(ValueError, match="no variant 'tuned'"):
        driver.launches(FakeBench(), "tuned", {"elements": 256, "multiprocessors": 132}, ON)


def test_the_protocol_is_that_of_the_experiment(driver: ModuleType) -> None:
    assert [shape.parameters["elements"] for shape in PROTOCOL.shapes] == [256, 32_768, 1_048_576, 16_777_216]
    assert len(PROTOCOL.fixtures) == 3
    assert PROTOCOL.tolerances == {}
    experiment = driver.POINTWISE
    assert experiment.alike == (("separate", "fused"),)
    assert [check.__name__ for check in experiment.checks] == ["exact"]


# Declarations and queries over a tiny store


def case_rows(shapes: Iterable[int] = (256, 16_777_216)) -> list[Row]:
    cases = [case for case in PROTOCOL.cases() if case.shape.parameters["elements"] in set(shapes)]
    return [
        {
            "case_id": case.case_id,
            "experiment": "pointwise",
            "variant": case.variant,
            "submission": case.submission,
            "shape": case.shape.name,
            "case_order": position,
            "parameters": json.dumps(dict(case.shape.parameters)),
            "timed": True,
        }
        for position, case in enumerate(cases)
    ]


def counted(
    pass_name: str, workload_id: int, case_id: str, moved: tuple[int, int], invocation: int = 0
) -> list[Row]:
    """A workload that ncu profiled; `moved`: DRAM bytes read and written."""
    base = {
        "pass": pass_name,
        "workload_id": workload_id,
        "workload": "graph" if pass_name == "ncu-warm" else "kernel",
        "name": "kernel",
        "range_name": case_id,
        "invocation": invocation,
        "ordinal": 0,
        "unit": "byte",
    }
    values = dict(zip(("dram__bytes_read.sum", "dram__bytes_write.sum"), moved, strict=True))
    return [{**base, "metric": metric, "value": float(value)} for metric, value in values.items()]


PASSES = [
    {"pass": "ncu", "state": "ok", "cache_control": "all"},
    {"pass": "ncu-warm", "state": "ok", "cache_control": "none"},
]


store_of = partial(evidence_rows.store_of, expected=SOURCE.expected)
frames = partial(evidence_rows.frames, experiment=SOURCE)


def test_each_case_declares_its_kernels_nodes_and_bytes() -> None:
    with store_of({"variant_case": case_rows([256])}) as store:
        declared = run_sql(store, "SELECT * FROM expected ORDER BY case_id").records()
    separate, fused = ["add_one", "square", "halve"], ["add_square_halve"]
    keys = ("case_id", "kernels", "graph_nodes", "kernel_names", "logical_read_bytes", "logical_write_bytes")
    assert [tuple(row[key] for key in keys) for row in declared] == [
        ("pointwise:fused:graph:256", 1, 1, fused, 4 * 256, 4 * 256),
        ("pointwise:fused:stream:256", 1, None, fused, 4 * 256, 4 * 256),
        ("pointwise:separate:graph:256", 3, 3, separate, 12 * 256, 12 * 256),
        ("pointwise:separate:stream:256", 3, None, separate, 12 * 256, 12 * 256),
    ]


def test_declared_kernels_are_those_that_the_sources_hold() -> None:
    with store_of({"variant_case": case_rows([256])}) as store:
        declared = run_sql(store, "SELECT case_id, kernel_names FROM expected").records()
    for row in declared:
        assert sorted(row["kernel_names"]) == KERNELS[row["case_id"].split(":")[1]]


def test_traffic_has_logical_and_measured_bytes_side_by_side() -> None:
    case_id, elements = "pointwise:separate:graph:16777216", 16_777_216
    counters: list[Row] = []
    for invocation in range(2):
        for kernel in range(3):
            moved = 1000 + invocation, 10 * kernel
            counters += counted("ncu", 3 * invocation + kernel, case_id, moved, invocation)
    counters += counted("ncu-warm", 0, case_id, (700, 600))
    with store_of({"variant_case": case_rows(), "pass": PASSES, "counter": counters}) as store:
        rows = {row["case_id"]: row for row in run_named(store, "traffic", "pointwise").records()}
    assert len(rows) == 8
    row = rows[case_id]
    assert (row["elements"], row["logical_bytes_per_element"]) == (elements, 24)
    assert (row["logical_read_bytes"], row["logical_write_bytes"]) == (12 * elements, 12 * elements)
    # Sums over three kernels; of two invocations the lower value.
    assert (row["flushed_read_bytes"], row["flushed_write_bytes"]) == (3000, 30)
    assert (row["warm_read_bytes"], row["warm_write_bytes"], row["warm_scope"]) == (700, 600, "whole-graph")
    other = rows["pointwise:fused:stream:256"]
    assert other["logical_bytes_per_element"] == 8
    assert (other["flushed_read_bytes"], other["warm_read_bytes"], other["warm_scope"]) == (None, None, None)


def test_traffic_withholds_a_sum_over_some_of_the_kernels() -> None:
    case_id = "pointwise:separate:graph:256"
    counters = counted("ncu", 0, case_id, (1000, 10)) + counted("ncu", 1, case_id, (1000, 10))[1:]
    with store_of({"variant_case": case_rows(), "pass": PASSES, "counter": counters}) as store:
        rows = {row["case_id"]: row for row in run_named(store, "traffic", "pointwise").records()}
    assert (rows[case_id]["flushed_read_bytes"], rows[case_id]["flushed_write_bytes"]) == (None, 20)


def test_the_query_documents_its_columns_and_takes_an_empty_store() -> None:
    query = find_query("traffic", "pointwise")
    with store_of({}) as store:
        result = run_named(store, "traffic", "pointwise")
    assert query.about.startswith("One row per ")
    assert tuple(query.columns) == result.columns
    assert result.rows == ()


# Figures


def samples() -> list[Row]:
    return [
        {
            "pass": "timing",
            "case_id": row["case_id"],
            "quantity": "completion",
            "round": turn,
            "position": 0,
            "invocations": 1,
            "duration_ns": 9_000 + 10 * turn + 1_000 * row["case_order"],
        }
        for row in case_rows()
        for turn in range(5)
    ]


def titles(figure: Any) -> list[str]:
    return [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes]


def test_completion_is_drawn_as_two_by_two_panels() -> None:
    source = FIGURES["pointwise-completion"]
    figure = source.draw(frames(source, {"variant_case": case_rows(), "sample": samples()}))
    assert titles(figure) == ["separate, stream", "separate, graph", "fused, stream", "fused, graph"]
    words = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert words[0] == ["9.02", "13.0"]  # medians of the first and the fifth case, in µs
    figure.draw_without_rendering()


def test_a_case_that_was_not_timed_is_a_word() -> None:
    source = FIGURES["pointwise-completion"]
    some = [row for row in samples() if ":fused:graph:" not in row["case_id"]]
    figure = source.draw(frames(source, {"variant_case": case_rows(), "sample": some}))
    assert [text.get_text() for text in figure.axes[3].texts] == ["not measured"]


def test_traffic_is_drawn_per_size() -> None:
    source = FIGURES["pointwise-traffic"]
    counters: list[Row] = []
    for number, row in enumerate(case_rows()):
        counters += counted("ncu", number, row["case_id"], (4000, 100))
    nodes = [
        {"pass": "validate", "case_id": row["case_id"], "ordinal": ordinal, "kind": "kernel", "name": "k"}
        for row in case_rows()
        if row["submission"] == "graph"
        for ordinal in range(3 if row["variant"] == "separate" else 1)
    ]
    tables = {"variant_case": case_rows(), "pass": PASSES, "counter": counters, "graph_node": nodes}
    figure = source.draw(frames(source, tables))
    assert titles(figure)[:3] == ["N = 256: DRAM reads", "N = 256: DRAM writes", "N = 256: nodes and kernels"]
    assert len(figure.axes) == 6
    reads, _, counts = ([text.get_text() for text in axes.texts] for axes in figure.axes[:3])
    assert reads == ["3.07", "4", "not measured", "1.02", "4", "not measured"]
    assert counts == ["3", "not measured", "not measured", "1", "not measured", "not measured"]
    figure.draw_without_rendering()


@pytest.mark.parametrize("name", ["pointwise-completion", "pointwise-traffic"])
def test_a_figure_without_its_evidence_says_which_pass_to_run(name: str) -> None:
    source = FIGURES[name]
    with pytest.raises(CannotAnswer) as caught:
        source.draw(frames(source, {"variant_case": case_rows()}))
    assert "pass" in caught.value.way_out
