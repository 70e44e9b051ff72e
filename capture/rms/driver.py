"""How the RMS-scaled softmax is driven: arrays, fixtures, reference, launches. What is measured says
protocol.toml.

The operator is `rms_scaled_softmax`, not ordinary softmax: y = softmax(r * x) with
r = 1 / sqrt(mean(x²) + 1e-5), row by row.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsight_suite.driving import validation
from nsight_suite.driving.app import run_driver
from nsight_suite.driving.experiment import DeviceArrays, Experiment, HostArrays, Parameters
from nsight_suite.errors import CannotMeasure

if TYPE_CHECKING:
    from nsight_suite.driving.bench import Bench, Kernel
    from nsight_suite.driving.launch import Launch

EPSILON = 1e-5
MOST_TILES = 128  # of a row, as in rms.cuh
STATIC_SHARED = 1024  # bytes of shared memory that the kernels of mega.cu use beside their tile, at most

# What mega_grid keeps for its store, by variant; the numbers of mega.cu.
RETENTION = {"mega_grid": 0, "mega_grid_ordinary": 0, "mega_grid_recompute": 1, "mega_grid_reload": 2}
ORDINARY = ("mega_grid_ordinary", "mega_row_ordinary")
MEGA = (*RETENTION, "mega_row", "mega_row_ordinary")


def arrays(parameters: Parameters) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Input x, output y, and what stands between.

    baseline                the whole arrays s, d, t, e; per row q, r, m, z, as at the top of baseline.cu
    local, mega_grid        per tile: `statistics` (maximum, sum of squares) and `sums` (of the exponentials)
    mega_grid               `arrivals`, the counter of its barrier
    mega_row                `statistics_messages`, `sum_messages`: the same numbers, each with its turn
    """
    rows, columns = parameters["rows"], parameters["columns"]
    whole, per_row, tiles = ((rows, columns), np.float32), ((rows,), np.float32), (rows, MOST_TILES)
    return {
        **dict.fromkeys(("x", "y", "s", "d", "t", "e"), whole),
        **dict.fromkeys(("q", "r", "m", "z"), per_row),
        "statistics": ((*tiles, 2), np.float32),
        "sums": (tiles, np.float32),
        **meeting_places(parameters),
    }


def meeting_places(parameters: Parameters) -> dict[str, tuple[tuple[int, ...], Any]]:
    """The arrays by which blocks wait for one another. They go on from launch to launch and start as zeros."""
    tiles = (parameters["rows"], MOST_TILES)
    return {
        "arrivals": ((1,), np.uint32),
        "statistics_messages": ((*tiles, 2), np.uint64),
        "sum_messages": (tiles, np.uint64),
    }


def inputs(fixture: str, parameters: Parameters, random: np.random.Generator) -> HostArrays:
    """The fixtures, FP32 of rows × columns. Scaling makes the root mean square one, unless that of x is small.

    normal   standard normal
    wide     magnitudes over six decades, either sign, so that r differs much from one
    ties     five distinct values, so that each row's maximum occurs many times
    faint    normal times 2^-9: the mean square is below 1e-5, which decides r as it does in no other fixture
    shifted  normal, with eight elements per row moved up by hundreds or thousands, an offset of the row's own:
             scaled, they reach sqrt(columns / 8), where exp overflows unless the maximum is subtracted
    """
    size = parameters["rows"], parameters["columns"]
    if fixture == "normal":
        x = random.standard_normal(size, dtype=np.float32)
    elif fixture == "wide":
        magnitude = 10 ** (random.random(size, dtype=np.float32) * np.float32(6) - np.float32(3))
        x = magnitude * random.choice(np.array([-1, 1], dtype=np.float32), size)
    elif fixture == "ties":
        x = random.integers(-2, 3, size, dtype=np.int8).astype(np.float32)
    elif fixture == "faint":
        x = random.standard_normal(size, dtype=np.float32) * np.float32(2.0**-9)
    elif fixture == "shifted":
        x = random.standard_normal(size, dtype=np.float32)
        for row in x:
            row[random.choice(size[1], min(8, size[1]), replace=False)] += random.choice((200, 1000, 5000))
    else:
        raise ValueError(f"rms has no fixture '{fixture}'")
    zeros = {name: np.zeros(shape, dtype) for name, (shape, dtype) in meeting_places(parameters).items()}
    return {"x": x, **zeros}


def reference(parameters: Parameters, given: HostArrays) -> NDArray[np.float64]:
    """The operator in FP64 by NumPy: scaled first, then a stable softmax."""
    y = given["x"].astype(np.float64)
    y /= np.sqrt(np.mean(y * y, axis=1, keepdims=True) + EPSILON)
    y -= y.max(axis=1, keepdims=True)
    np.exp(y, out=y)
    y /= y.sum(axis=1, keepdims=True)
    return y


class Spread(NamedTuple):
    """How mega spreads rows over multiprocessors: tiles per row, rows per launch (the last may have fewer)."""

    tiles: int
    rows_at_once: int
    launches: int


def spread(rows: int, columns: int, blocks: int, shared_bytes: int) -> Spread:
    """As few launches as `blocks` blocks with `shared_bytes` for a tile allow, each with as many tiles as fit.

    Rows are cut into a power of two of tiles, so that all tiles are equal. Raises CannotMeasure when not even
    one row fits the device.
    """
    fewest = 1
    while 4 * columns > fewest * shared_bytes:
        fewest *= 2
    most_rows = blocks // fewest
    if most_rows < 1 or fewest > MOST_TILES:
        raise CannotMeasure(
            f"A row of {columns} floats does not fit the shared memory of this device: it needs {fewest} "
            f"blocks of {shared_bytes} bytes, resident at once.",
            "Leave out the mega variants with --variants.",
        )
    launches = -(-rows // most_rows)
    rows_at_once = -(-rows // launches)
    tiles = fewest
    while 2 * tiles * rows_at_once <= blocks and 2 * tiles <= MOST_TILES:
        tiles *= 2
    return Spread(tiles, rows_at_once, launches)


def launches(bench: Bench, variant: str, parameters: Parameters, on: DeviceArrays) -> Sequence[Launch]:
    """The device work of one invocation; the launch shapes are told at the top of each .cu file."""
    rows, columns = parameters["rows"], parameters["columns"]
    if columns % 4096 or columns > MOST_TILES * 1024:
        raise ValueError(f"rms takes multiples of 4096 columns up to {MOST_TILES * 1024}, not {columns}")
    if variant == "baseline":
        return _baseline(bench, rows, columns, on)
    if variant == "local":
        return _local(bench, rows, columns, on)
    if variant in MEGA:
        return _mega(bench, variant, rows, columns, on)
    raise ValueError(f"rms has no variant '{variant}'")


def _baseline(bench: Bench, rows: int, columns: int, on: DeviceArrays) -> Sequence[Launch]:
    kernels = bench.kernels("baseline.cu")
    width = np.int32(columns)
    each, row, few = ((columns // 1024, rows), (256,)), ((rows,), (1024,)), ((-(-rows // 128),), (128,))
    return [
        bench.launch(kernels["square"], *each, on["x"], on["s"], width),
        bench.launch(kernels["mean_square"], *row, on["s"], on["q"], width),
        bench.launch(kernels["inverse_rms"], *few, on["q"], on["r"], np.int32(rows)),
        bench.launch(kernels["row_max"], *row, on["x"], on["m"], width),
        bench.launch(kernels["subtract"], *each, on["x"], on["m"], on["d"], width),
        bench.launch(kernels["scale"], *each, on["d"], on["r"], on["t"], width),
        bench.launch(kernels["exponential"], *each, on["t"], on["e"], width),
        bench.launch(kernels["row_sum"], *row, on["e"], on["z"], width),
        bench.launch(kernels["divide"], *each, on["e"], on["z"], on["y"], width),
    ]


def local_tile(rows: int, columns: int) -> int:
    """Elements of a tile of `local`: a single row is cut finer, for 32 blocks leave a large device idle."""
    return 1024 if rows * columns < 2**20 else 4096


def _local(bench: Bench, rows: int, columns: int, on: DeviceArrays) -> Sequence[Launch]:
    kernels = bench.kernels("local.cu")
    grid, block, width = (columns // local_tile(rows, columns), rows), (256,), np.int32(columns)
    x, y, statistics, sums = (on[name] for name in ("x", "y", "statistics", "sums"))
    return [
        bench.launch(kernels["local_statistics"], grid, block, x, statistics, width),
        bench.launch(kernels["local_sums"], grid, block, x, statistics, sums, width),
        bench.launch(kernels["local_normalise"], grid, block, x, statistics, sums, y, width),
    ]


def _mega(bench: Bench, variant: str, rows: int, columns: int, on: DeviceArrays) -> Sequence[Launch]:
    kernel = bench.kernels("mega.cu")["mega_grid" if variant in RETENTION else "mega_row"]
    room = bench.shared_bytes_per_block - STATIC_SHARED
    plan = spread(rows, columns, bench.multiprocessors, room)
    tile = columns // plan.tiles
    block = (min(1024, max(128, tile // 8)),)
    _need_residency(bench, kernel, plan.tiles * plan.rows_at_once, block, 4 * tile)
    places: tuple[Any, ...]
    last: tuple[np.int32, ...]
    if variant in RETENTION:
        places, last = (on["statistics"], on["sums"], on["arrivals"]), (np.int32(RETENTION[variant]),)
    else:
        places, last = (on["statistics_messages"], on["sum_messages"]), ()
    return [
        bench.launch(
            kernel,
            (plan.tiles, min(plan.rows_at_once, rows - first)),
            block,
            *(on["x"], on["y"], *places, np.int32(columns), np.int32(first), *last),
            shared_bytes=4 * tile,
            cooperative=variant not in ORDINARY,
        )
        for first in range(0, rows, plan.rows_at_once)
    ]


def _need_residency(bench: Bench, kernel: Kernel, blocks: int, block: tuple[int], shared_bytes: int) -> None:
    """Blocks that wait for blocks must all fit the device at once, whether or not the launch is cooperative.

    An ordinary launch is legal too then: it has the device to itself, for all work here is on one stream.
    """
    capacity = bench.active_blocks(kernel, block, shared_bytes) * bench.multiprocessors
    if blocks > capacity:
        raise CannotMeasure(
            f"{kernel.name} needs {blocks} blocks resident at once, and the occupancy API allows {capacity}.",
            "Leave out the mega variants with --variants.",
        )


CHECKS = (validation.finite, validation.nonnegative, validation.error, validation.row_sum)

RMS = Experiment(arrays, inputs, reference, launches, CHECKS, output="y", alike=(MEGA,))

if __name__ == "__main__":
    sys.exit(run_driver(RMS))
