"""How `scale` is driven: arrays, fixtures, reference, launches."""

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
    """Every array on the device, by name: its shape and type."""
    whole = ((parameters["elements"],), np.float32)
    return {"x": whole, "t": whole, "y": whole}


def inputs(fixture: str, parameters: Parameters, random: np.random.Generator) -> HostArrays:
    """The input of a fixture: a pure function of what it is given."""
    x = random.standard_normal(parameters["elements"], dtype=np.float32)
    return {"x": x * np.float32(1000) if fixture == "large" else x}


def reference(parameters: Parameters, given: HostArrays) -> NDArray[np.float64]:
    """The right output, in FP64."""
    x = given["x"].astype(np.float64)
    return 2.0 * x + 1.0


def launches(bench: Bench, variant: str, parameters: Parameters, on: DeviceArrays) -> Sequence[Launch]:
    """The device work of one invocation, in order."""
    elements = parameters["elements"]
    grid, block, size = (-(-elements // 256),), (256,), np.int32(elements)
    kernels = bench.kernels(f"{variant}.cu")
    if variant == "separate":
        return [
            bench.launch(kernels["multiply"], grid, block, on["x"], on["t"], size),
            bench.launch(kernels["add"], grid, block, on["t"], on["y"], size),
        ]
    return [bench.launch(kernels["scale"], grid, block, on["x"], on["y"], size)]


SCALE = Experiment(arrays, inputs, reference, launches, (validation.finite, validation.error), output="y")

if __name__ == "__main__":
    sys.exit(run_driver(SCALE))
