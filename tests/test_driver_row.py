"""The driver of `row`: its fixtures and its reference, against numbers worked by hand."""

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from python_files import module_of

from nsight_suite.driving.validation import generator
from nsight_suite.protocol import load
from nsight_suite.sources import data_root, find_experiment

SOURCE = find_experiment("row")


@pytest.fixture(scope="module")
def row() -> ModuleType:
    return module_of(SOURCE.driver)


def x_of(row: ModuleType, fixture: str, rows: int = 7, columns: int = 781) -> np.ndarray:
    parameters = {"rows": rows, "columns": columns}
    return row.inputs(fixture, parameters, generator(20261129, fixture, f"{rows}x{columns}"))["x"]


def test_importing_the_driver_touches_no_gpu() -> None:
    """--help and the message about a missing package need neither CuPy nor CUDA."""
    script = (
        f"import runpy, sys; sys.path.insert(0, {str(data_root())!r}); runpy.run_path({str(SOURCE.driver)!r}); "
        "print({'cupy', 'cuda', 'nvtx', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_every_fixture_of_the_protocol_fits_the_declared_array(row: ModuleType) -> None:
    protocol = load(SOURCE.protocol)
    size, dtype = row.arrays({"rows": 7, "columns": 781})["x"]
    for fixture in (*protocol.fixtures, protocol.held_out):
        x = x_of(row, fixture)
        assert (x.shape, x.dtype) == (size, dtype), fixture
        assert np.isfinite(x).all()
        assert (x == x_of(row, fixture)).all()
    with pytest.raises(ValueError, match="no fixture 'unheard'"):
        x_of(row, "unheard")


def test_each_fixture_is_what_its_name_says(row: ModuleType) -> None:
    wide, ties, shifted = (x_of(row, name) for name in ("wide", "ties", "shifted"))
    assert wide.min() < -99
    assert wide.max() > 99
    assert ((ties == ties.max(axis=1, keepdims=True)).sum(axis=1) > 100).all()
    with np.errstate(over="ignore"):  # without subtracting the maximum, FP32 gives up
        assert not np.isfinite(np.exp(shifted).sum(axis=1)).all() or (np.exp(shifted).sum(axis=1) == 0).any()


def test_the_reference_is_softmax(row: ModuleType) -> None:
    # exp(0), exp(ln 3), exp(0) = 1, 3, 1; and a thousand is subtracted before it overflows.
    x = np.array([[0, np.log(3), 0], [1000, 1000 + np.log(3), 1000]], dtype=np.float32)
    y = row.reference({"rows": 2, "columns": 3}, {"x": x})
    assert y.dtype == np.float64
    np.testing.assert_allclose(y[0], [0.2, 0.6, 0.2], rtol=1e-7)
    np.testing.assert_allclose(y[1], [0.2, 0.6, 0.2], rtol=1e-4)
    assert x[0, 0] == 0  # the input is left as it was


def test_tolerances_catch_a_softmax_without_one_element(row: ModuleType) -> None:
    tolerances = load(SOURCE.protocol).tolerances
    x = x_of(row, "normal", 32, 1024)
    right = row.reference({"rows": 32, "columns": 1024}, {"x": x})
    wrong = row.reference({"rows": 32, "columns": 1023}, {"x": x[:, :-1]})
    allowed = tolerances["absolute"] + tolerances["relative"] * np.abs(right[:, :-1])
    assert (np.abs(wrong - right[:, :-1]) > allowed).any(axis=1).sum() > 16
    rounded = right.astype(np.float32)
    assert (np.abs(rounded - right) <= tolerances["absolute"] + tolerances["relative"] * np.abs(right)).all()


def test_block_sizes_are_whole_warps_within_their_limits(row: ModuleType) -> None:
    assert row.whole_warps(781 / 16, 128, 1024) == 128
    assert row.whole_warps(4096 / 16, 128, 1024) == 256
    assert row.whole_warps(4100 / 16, 128, 1024) == 288
    assert row.whole_warps(100000 / 16, 128, 1024) == 1024
    assert row.whole_warps(128 / 4, 32, 256) == 32
