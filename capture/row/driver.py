"""How row softmax is driven: arrays, fixtures, reference, launches. What is measured says protocol.toml."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsight_suite.driving import validation
from nsight_suite.driving.app import run_driver
from nsight_suite.driving.experiment import DeviceArrays, Experiment, HostArrays, Parameters

if TYPE_CHECKING:
    from nsight_suite.driving.bench import Bench
    from nsight_suite.driving.launch import Launch


def arrays(parameters: Parameters) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Input x, output y, and the intermediates of the staged variant: m, e, z."""
    rows, columns = parameters["rows"], parameters["columns"]
    whole, per_row = ((rows, columns), np.float32), ((rows,), np.float32)
    return {"x": whole, "y": whole, "m": per_row, "e": whole, "z": per_row}


def inputs(fixture: str, parameters: Parameters, random: np.random.Generator) -> HostArrays:
    """The fixtures, FP32 of rows × columns.

    normal   standard normal: what attention scores look like
    wide     from -100 to 100, so that most exponentials underflow
    ties     five distinct values, so that each row's maximum occurs many times
    shifted  normal around a large offset of each row's own: wrong without subtracting the maximum
    """
    size = parameters["rows"], parameters["columns"]
    if fixture == "normal":
        x = random.standard_normal(size, dtype=np.float32)
    elif fixture == "wide":
        x = random.random(size, dtype=np.float32) * np.float32(200) - np.float32(100)
    elif fixture == "ties":
        x = random.integers(-2, 3, size, dtype=np.int8).astype(np.float32)
    elif fixture == "shifted":
        offset = random.choice(np.array([-1000, -90, 90, 1000], dtype=np.float32), (size[0], 1))
        x = random.standard_normal(size, dtype=np.float32) + offset
    else:
        raise ValueError(f"row has no fixture '{fixture}'")
    return {"x": x}


def reference(parameters: Parameters, given: HostArrays) -> NDArray[np.float64]:
    """Softmax of each row in FP64 by NumPy, stable."""
    y = given["x"].astype(np.float64)
    y -= y.max(axis=1, keepdims=True)
    np.exp(y, out=y)
    y /= y.sum(axis=1, keepdims=True)
    return y


def launches(bench: Bench, variant: str, parameters: Parameters, on: DeviceArrays) -> Sequence[Launch]:
    """The device work of one invocation; the launch shapes are told at the top of each .cu file."""
    rows, columns = parameters["rows"], parameters["columns"]
    if variant == "staged":
        kernels = bench.kernels("staged.cu")
        grid, block = (rows,), (whole_warps(columns / 4, 32, 256),)
        width = np.int32(columns)
        return [
            bench.launch(kernels["row_max"], grid, block, on["x"], on["m"], width),
            bench.launch(kernels["row_exp"], grid, block, on["x"], on["m"], on["e"], width),
            bench.launch(kernels["row_sum"], grid, block, on["e"], on["z"], width),
            bench.launch(kernels["row_divide"], grid, block, on["e"], on["z"], on["y"], width),
        ]
    if variant == "fused":
        kernel = bench.kernels("fused.cu")["row_softmax"]
        threads, per_block = (32, 4) if columns <= 256 else (whole_warps(columns / 16, 128, 1024), 1)
        sizes = np.int32(rows), np.int32(columns)
        return [bench.launch(kernel, (-(-rows // per_block),), (threads, per_block), on["x"], on["y"], *sizes)]
    if variant == "tuned":
        choose = bench.module("tuned.py").choose
        return [tuned_launch(bench, choose(bench.plan.protocol.rules["tuned"], rows, columns), parameters, on)]
    if variant == "cudnn":
        cudnn = bench.module("cudnn.py")
        bench.tool("cudnn", cudnn.version())
        softmax = cudnn.softmax(on["x"].data.ptr, on["y"].data.ptr, rows, columns, int(bench.device.stream))
        return [bench.library_call("cudnnSoftmaxForward", softmax, cudnn.describe)]
    raise ValueError(f"row has no variant '{variant}'")


def tuned_launch(bench: Bench, choice: Any, parameters: Parameters, on: DeviceArrays) -> Launch:
    """One kernel of tuned.cu, chosen. Those of a fixed width take only the arrays; row_any takes the width."""
    rows, columns = parameters["rows"], parameters["columns"]
    kernel = bench.kernels("tuned.cu")[choice.kernel]
    sizes = [np.int32(columns)] if choice.kernel == "row_any" else []
    return bench.launch(kernel, (choice.grid(rows),), (choice.threads,), on["x"], on["y"], *sizes)


def whole_warps(threads: float, least: int, most: int) -> int:
    """`threads` rounded up to a multiple of 32, within the limits."""
    return min(most, max(least, int(-(-threads // 32)) * 32))


CHECKS = (validation.finite, validation.nonnegative, validation.error, validation.row_sum)

ROW = Experiment(arrays, inputs, reference, launches, CHECKS, output="y")

if __name__ == "__main__":
    sys.exit(run_driver(ROW))
