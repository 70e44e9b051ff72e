"""How three pointwise steps are driven: arrays, fixtures, reference, launches.

What is measured says protocol.toml.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsight_suite.driving import validation
from nsight_suite.driving.app import run_driver
from nsight_suite.driving.experiment import DeviceArrays, Experiment, HostArrays, Parameters
from nsight_suite.errors import CannotMeasure

if TYPE_CHECKING:
    from nsight_suite.driving.bench import Bench
    from nsight_suite.driving.launch import Launch

# The launch shape of every kernel, told in kernels/pointwise/steps.cuh.
THREADS = 256
QUADS_PER_THREAD = 2


def arrays(parameters: Parameters) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Input x, output y, and the intermediates of the separate kernels: a, b."""
    whole = ((parameters["elements"],), np.float32)
    return {"x": whole, "a": whole, "b": whole, "y": whole}


def inputs(fixture: str, parameters: Parameters, random: np.random.Generator) -> HostArrays:
    """The fixtures: whole numbers over a power of two, below 2048 in size: nothing over- or underflows.

    sixteenths  k / 16 up to 8: every step is exact, so a wrong result is no question of rounding
    fine        k / 2^14 up to 8: the square needs up to 36 bits and is rounded
    tiny        k / 2^30 up to 1/128: the sum needs up to 31 bits and is rounded, ties included
    mixed       k / 2^e up to 2047, e from 0 to 20: all of that in one array
    """
    size = parameters["elements"]
    if fixture == "sixteenths":
        whole, exponent = _whole(random, 2**7, size), 4
    elif fixture == "fine":
        whole, exponent = _whole(random, 2**17, size), 14
    elif fixture == "tiny":
        whole, exponent = _whole(random, 2**23, size), 30
    elif fixture == "mixed":
        exponents = random.integers(0, 21, size, dtype=np.int32)
        return {"x": np.ldexp(_whole(random, 2047, size), -exponents)}
    else:
        raise ValueError(f"pointwise has no fixture '{fixture}'")
    return {"x": whole * np.float32(2.0**-exponent)}


def _whole(random: np.random.Generator, largest: int, size: int) -> NDArray[np.float32]:
    """Whole numbers from -largest to largest, which FP32 holds exactly up to 2^24."""
    return random.integers(-largest, largest, size, dtype=np.int32, endpoint=True).astype(np.float32)


def reference(parameters: Parameters, given: HostArrays) -> NDArray[np.float32]:
    """The three steps by NumPy in FP32, each a separate operation that rounds its result."""
    a = given["x"] + np.float32(1)
    b = a * a
    return np.asarray(b * np.float32(0.5))


def launches(bench: Bench, variant: str, parameters: Parameters, on: DeviceArrays) -> Sequence[Launch]:
    """The device work of one invocation; the launch shape is told in kernels/pointwise/steps.cuh.

    Raises CannotMeasure when the elements do not fill whole pieces of 128 bits.
    """
    elements = parameters["elements"]
    if elements % 4:
        raise CannotMeasure(
            f"pointwise moves four elements at a time and cannot take {elements}.",
            "Make `elements` of the shape in capture/pointwise/protocol.toml a multiple of 4.",
        )
    quads = elements // 4
    grid, block, size = (-(-quads // (THREADS * QUADS_PER_THREAD)),), (THREADS,), np.uint32(quads)
    if variant == "separate":
        kernels = bench.kernels("separate.cu")
        return [
            bench.launch(kernels["add_one"], grid, block, on["x"], on["a"], size),
            bench.launch(kernels["square"], grid, block, on["a"], on["b"], size),
            bench.launch(kernels["halve"], grid, block, on["b"], on["y"], size),
        ]
    if variant == "fused":
        kernel = bench.kernels("fused.cu")["add_square_halve"]
        return [bench.launch(kernel, grid, block, on["x"], on["y"], size)]
    raise ValueError(f"pointwise has no variant '{variant}'")


# Only y is common to both variants: the fused kernel has no a and no b in memory.
POINTWISE = Experiment(
    arrays,
    inputs,
    reference,
    launches,
    (validation.exact,),
    output="y",
    alike=(("separate", "fused"),),
)

if __name__ == "__main__":
    sys.exit(run_driver(POINTWISE))
