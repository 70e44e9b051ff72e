"""`row/tuned`: its rule, its machine code, and its arithmetic held against FP64 on every fixture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from machine_code import machine_code
from numpy.typing import NDArray
from python_files import module_of

from nsight_suite.driving.build import Build, compile_source
from nsight_suite.driving.validation import generator
from nsight_suite.protocol import Shape, load
from nsight_suite.sources import data_root, find_experiment

SOURCE = data_root() / "kernels" / "row" / "tuned.cu"
PROTOCOL = load(find_experiment("row").protocol)
SHAPES = {shape.name: shape for shape in PROTOCOL.shapes}
# What the arithmetic is tried on: the fixtures of the shape, of which no more rows than these.
MOST_ROWS = 512

Floats = NDArray[np.float32]


TUNED = module_of(SOURCE.with_suffix(".py"))


def choose(rows: int, columns: int) -> Any:
    return TUNED.choose(PROTOCOL.rules["tuned"], rows, columns)


@pytest.fixture(scope="module")
def build() -> Build:
    return compile_source(SOURCE, "sm_90")


# --- the rule


def choices(rows: int, columns: int) -> set[Any]:
    """The rule's choice and what is swept beside it."""
    return {choose(rows, columns), *TUNED.candidates(rows, columns)}


def everything() -> list[tuple[Shape, Any]]:
    return [
        (shape, choice)
        for shape in SHAPES.values()
        for choice in sorted(choices(shape.parameters["rows"], shape.parameters["columns"]))
    ]


def test_every_timed_shape_has_a_kernel_of_its_width() -> None:
    for shape in SHAPES.values():
        rows, columns = shape.parameters["rows"], shape.parameters["columns"]
        chosen = choose(rows, columns)
        assert chosen.kernel.startswith(f"row_{columns}_" if shape.timed else "row_any")
        assert not shape.timed or chosen in TUNED.candidates(rows, columns)


@pytest.mark.parametrize(("shape", "choice"), everything(), ids=lambda value: getattr(value, "name", ""))
def test_a_launch_takes_every_row_once_and_every_float_of_it(shape: Shape, choice: Any, build: Build) -> None:
    """Threads times floats per thread is the width that the name tells; blocks times rows is all rows."""
    rows, columns = shape.parameters["rows"], shape.parameters["columns"]
    kernel, threads = choice.kernel, choice.threads
    assert kernel in {made.name for made in build.kernels}
    if kernel == "row_any":
        assert threads * TUNED.HELD >= columns
        assert threads % 32 == 0
        assert choice.grid(rows) == rows
        return
    width, kind, size, quads, counted = re.fullmatch(
        r"row_(\d+)_([lw])(\d+)q(\d+)(?:_ls|_c(\d+))?", kernel
    ).groups()
    lanes = int(size) * (32 if kind == "w" else 1)
    assert int(width) == columns == lanes * int(quads) * 4
    assert threads == lanes * choice.rows
    assert counted in (None, str(choice.rows))
    assert threads % 32 == 0
    assert (choice.rows == 1) or lanes <= 32
    assert choice.grid(rows) * choice.rows == rows


def test_rows_that_do_not_fill_whole_blocks_go_to_another_kernel() -> None:
    assert choose(4096, 128).rows > 1
    assert choose(4097, 128).rows == 1
    for rows, columns in ((5, 128), (4097, 1024), (3, 4096), (1, 1), (9, 129), (2, 16384)):
        choice = choose(rows, columns)
        assert rows % choice.rows == 0
        if choice.kernel == "row_any":
            assert choice.threads * TUNED.HELD >= columns


@pytest.mark.parametrize("columns", [0, 16385])
def test_a_width_that_no_kernel_takes_is_refused(columns: int) -> None:
    with pytest.raises(ValueError, match=f"not {columns}"):
        choose(4, columns)


# --- machine code


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_nothing_is_spilled(architecture: str) -> None:
    kernels = compile_source(SOURCE, architecture).kernels
    assert [kernel.name for kernel in kernels if kernel.local_bytes_per_thread] == []


def test_as_many_threads_fit_as_keep_the_memory_busy(build: Build) -> None:
    """26 KB in flight per multiprocessor are needed; by registers at least 48 KB can be."""
    for kernel in build.kernels:
        if found := re.fullmatch(r"row_\d+_([lw])(\d+)q(\d+)(?:_\w+)?", kernel.name):
            per_warp = -(-kernel.registers_per_thread * 32 // 256) * 256
            warps = min(64, 65_536 // per_warp)
            if int(found[3]) > 1:  # the kernels of one quad are for rows that are few
                assert warps * 32 * int(found[3]) * 16 >= 48 << 10, kernel


def test_the_machine_code_loads_and_stores_128_bits_once_per_quad(build: Build, tmp_path: Path) -> None:
    code = machine_code(build, tmp_path)
    assert sorted(code) == [kernel.name for kernel in build.kernels]
    for name, text in code.items():
        loads, stores = (re.findall(rf"\b{kind}\.E\S*", text) for kind in ("LDG", "STG"))
        assert not re.search(r"\b(LDL|STL|CALL)\b", text), name
        if name == "row_any":
            assert not any(".128" in access for access in loads + stores)
            continue
        quads = int(re.search(r"q(\d+)", name)[1])
        assert all(".128" in access for access in loads + stores), name
        assert len(loads) == len(stores) == quads, name
        assert {".EF" in access for access in loads + stores} == {"_ls" in name}, name
        # The maximum of a warp, and where it is counted the sum, in one instruction instead of five shuffles.
        shuffles, reductions = (0, 2) if "_c" in name else (6, 0) if "_l8" in name else (5, 1)
        assert len(re.findall(r"\bSHFL\b", text)) == shuffles, name
        assert len(re.findall(r"\bREDUX\b", text)) == reductions, name


# --- arithmetic

LOG2_E = np.float32(1.44269504)


def fused(a: Floats, b: np.float32, c: Floats) -> Floats:
    """a * b + c rounded once: the product of two FP32 numbers is exact in FP64, and the sum all but exact."""
    wide = a.astype(np.float64) * np.float64(b) + c.astype(np.float64)
    return wide.astype(np.float32)


def approximate(values: Floats, worst: float, random: np.random.Generator) -> Floats:
    """Each value off by up to `worst`, relative: what the approximate instructions are allowed."""
    off = random.uniform(-worst, worst, values.shape)
    return (values.astype(np.float64) * (1 + off)).astype(np.float32)


def exp2(values: Floats, random: np.random.Generator) -> Floats:
    """ex2.approx.ftz: within 2^-22 relative, and what is too small for a normal number is zero."""
    with np.errstate(under="ignore"):
        found = approximate(np.exp2(values.astype(np.float64)).astype(np.float32), 2.0**-22, random)
    return np.where(found < np.float32(2.0**-126), np.float32(0), found)


def softmax(x: Floats, warps: int, random: np.random.Generator) -> Floats:
    """The kernels' arithmetic: each warp relative to its own maximum, then rescaled by what all found."""
    rows, columns = x.shape
    part = x.reshape(rows, warps, columns // warps)
    peak = np.maximum(part.max(axis=2, keepdims=True) * LOG2_E, np.finfo(np.float32).min)
    shifted = exp2(fused(part, LOG2_E, -peak), random)
    total = shifted.sum(axis=2, keepdims=True, dtype=np.float32)
    highest = peak.max(axis=1, keepdims=True)
    share = exp2(peak - highest, random)
    whole = (total * share).sum(axis=1, keepdims=True, dtype=np.float32)
    inverse = approximate((1 / whole.astype(np.float64)).astype(np.float32), 2.0**-23, random)
    return (shifted * (share * inverse)).reshape(rows, columns)


def softmax_counted(x: Floats, random: np.random.Generator) -> Floats:
    """The same for the kernels `…_cN`: no exponential above 2^24, and a warp adds up whole numbers."""
    rows, columns = x.shape
    with np.errstate(over="ignore"):
        difference = x - x.max(axis=1, keepdims=True)
    shifted = exp2(fused(difference, LOG2_E, np.float32(24)), random)
    per_lane = shifted.reshape(rows, 32, columns // 32).sum(axis=2, dtype=np.float32)
    count = np.rint(per_lane.astype(np.float64)).sum(axis=1, keepdims=True)
    assert count.max() < 2**32
    inverse = approximate(
        (1 / count.astype(np.float32).astype(np.float64)).astype(np.float32), 2.0**-23, random
    )
    return shifted * inverse


@pytest.mark.parametrize("fixture", [*PROTOCOL.fixtures, PROTOCOL.held_out])
@pytest.mark.parametrize("name", SHAPES)
def test_the_arithmetic_holds_the_tolerances(name: str, fixture: str) -> None:
    row = module_of(find_experiment("row").driver)
    parameters = dict(SHAPES[name].parameters)
    parameters["rows"] = min(parameters["rows"], MOST_ROWS)
    given = row.inputs(fixture, parameters, generator(PROTOCOL.seed, fixture, name))
    right = row.reference(parameters, given)
    limit = PROTOCOL.tolerances["absolute"] + PROTOCOL.tolerances["relative"] * right
    random = np.random.default_rng(5)
    columns = parameters["columns"]
    found_by = [softmax(given["x"], warps, random) for warps in ((1, 8) if columns % 8 == 0 else (1,))]
    found_by += [softmax_counted(given["x"], random)] if columns == 128 else []
    for found in found_by:
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        assert (np.abs(found - right) / limit).max() < 0.5  # half of what is allowed
        sums = found.sum(axis=1, dtype=np.float64)
        assert np.abs(sums - 1).max() < PROTOCOL.tolerances["row_sum"] / 2


def test_a_masked_part_of_a_row_gives_zeros() -> None:
    row = module_of(find_experiment("row").driver)
    x = np.random.default_rng(3).standard_normal((8, 1024), dtype=np.float32)
    x[:, 200:700] = -np.inf  # whole warps of it
    found = softmax(x, 8, np.random.default_rng(4))
    assert (found[:, 200:700] == 0).all()
    assert np.abs(found - row.reference({}, {"x": x})).max() < PROTOCOL.tolerances["absolute"]


def test_a_counted_sum_stays_below_two_to_the_32_however_large_the_values() -> None:
    """Rows of one value: every exponential is the largest there is."""
    for value in (0.0, 3e38, -3e38, 1e8):
        found = softmax_counted(np.full((4, 128), value, dtype=np.float32), np.random.default_rng(6))
        assert np.abs(found * 128 - 1).max() < PROTOCOL.tolerances["relative"]


def test_an_exponent_that_is_rounded_before_the_subtraction_would_not_hold_them() -> None:
    """Why the multiply-add is fused: around an offset of 1000 the scaled value alone has too few bits."""
    row = module_of(find_experiment("row").driver)
    parameters = {"rows": 64, "columns": 1024}
    given = row.inputs("shifted", parameters, generator(PROTOCOL.seed, "shifted", "32x1024"))
    right = row.reference(parameters, given)
    x = given["x"]
    shifted = np.exp2(x * LOG2_E - x.max(axis=1, keepdims=True) * LOG2_E)
    found = shifted / shifted.sum(axis=1, keepdims=True)
    limit = PROTOCOL.tolerances["absolute"] + PROTOCOL.tolerances["relative"] * right
    assert (np.abs(found - right) / limit).max() > 1


def test_floats_are_ordered_as_the_integers_that_redux_compares() -> None:
    values = np.array([-np.inf, -1e30, -1.5, -1e-40, 0.0, 1e-40, 1.0, 100.0, np.inf], dtype=np.float32)
    bits = values.view(np.int32)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    assert (np.diff(ordered.astype(np.int64)) > 0).all()
    assert ((ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).view(np.float32) == values).all()
