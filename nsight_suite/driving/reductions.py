"""One number from a whole array, on the GPU: the kernels of checks.cu, compiled for the arrays' types.

Each function waits for the current stream and gives a Python number. Arrays are CuPy arrays in C order.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from nsight_suite.driving.build import OPTIONS, compile_source
from nsight_suite.driving.calls import call

SOURCE = Path(__file__).parent / "checks.cu"
_TYPES = {
    "float32": "float",
    "float64": "double",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
}
_BLOCK, _MOST_BLOCKS = 256, 2048


def options(output: Any, reference: Any) -> tuple[str, ...]:
    """The compiler's options for two array types. Raises ValueError for a type that no check knows."""
    names = []
    for kind in (np.dtype(output).name, np.dtype(reference).name):
        if kind not in _TYPES:
            raise ValueError(f"no check knows arrays of {kind}; known: {', '.join(_TYPES)}")
        names.append(_TYPES[kind])
    return (*OPTIONS, f"-DOUTPUT={names[0]}", f"-DREFERENCE={names[1]}")


def worst_error(output: Any, reference: Any, absolute: float, relative: float) -> float:
    """Largest |output - reference| / (absolute + relative * |reference|); the largest double for a NaN."""
    limits = np.float64(absolute), np.float64(relative)
    return float(_reduce("worst_error", (output, reference), np.uint64(output.size), *limits).view(np.float64))


def most_negative(output: Any) -> float:
    """Size of the most negative element; zero when there is none."""
    return float(_reduce("most_negative", (output,), np.uint64(output.size)).view(np.float64))


def not_finite(output: Any) -> int:
    """Number of elements that are NaN or infinite."""
    return int(_reduce("not_finite", (output,), np.uint64(output.size)))


def differing(left: Any, right: Any) -> int:
    """Number of elements whose bits differ; the arrays have one type and size."""
    bits = np.dtype(f"u{left.itemsize}")
    return int(_reduce("differing", (left.view(bits), right.view(bits)), np.uint64(left.size)))


def worst_row_sum(output: Any) -> float:
    """Largest distance from one of a sum over the last axis, in FP64."""
    columns = output.shape[-1]
    sizes = np.uint64(output.size // columns), np.uint64(columns)
    return float(_reduce("worst_row_sum", (output,), *sizes).view(np.float64))


def _reduce(kernel: str, arrays: tuple[Any, ...], *scalars: np.generic) -> np.uint64:
    """Run one kernel into eight zeroed bytes, and bring them back."""
    import cupy
    from cuda.bindings import driver

    from nsight_suite.driving.launch import pack_arguments

    function = _function(kernel, arrays[0].dtype.name, arrays[-1].dtype.name)
    result = cupy.zeros(1, np.uint64)
    address, _keep = pack_arguments([*arrays, *scalars, result])
    blocks = min(_MOST_BLOCKS, -(-arrays[0].size // _BLOCK))
    stream = driver.CUstream(cupy.cuda.get_current_stream().ptr)
    call(driver.cuLaunchKernel, function, blocks, 1, 1, _BLOCK, 1, 1, 0, stream, address, 0)
    return np.uint64(result.get()[0])


@cache
def _function(kernel: str, output: str, reference: str) -> Any:
    from cuda.bindings import driver

    return call(driver.cuModuleGetFunction, _module(output, reference), kernel.encode())


@cache
def _module(output: str, reference: str) -> Any:
    import cupy
    from cuda.bindings import driver

    architecture = f"sm_{cupy.cuda.Device().compute_capability}"
    return call(driver.cuModuleLoadData, compile_source(SOURCE, architecture, options(output, reference)).cubin)
