"""How softmax over tiles is driven: layout, arrays, fixtures, reference, launches.

What is measured says protocol.toml.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from nsight_suite.driving import validation
from nsight_suite.driving.app import run_driver
from nsight_suite.driving.experiment import DeviceArrays, Experiment, HostArrays, Parameters
from nsight_suite.driving.tasks import Stage
from nsight_suite.driving.validation import Check
from nsight_suite.errors import CannotMeasure

if TYPE_CHECKING:
    from nsight_suite.driving.bench import Bench, Kernel
    from nsight_suite.driving.launch import Launch

TILE = 1024  # elements
BLOCK = (128,)  # threads that have a tile: a block of every kernel but dataflow; its warps run B in `separate`
WARPS = 4
INIT_BLOCK = 256
# Of every this many rows one is long.
GROUP = 8
# The queue's counters lie on 128 bytes each: see kernels/tiled/persistent.cu.
QUEUE_COUNTERS = 128
# Blocks per multiprocessor, which the kernel's launch bounds guarantee to fit, traced or not.
WORKERS = {"persistent": 6}
# Of dataflow: a block's groups of threads, the tiles of a group, the rows of a block, the blocks of a cluster.
# As in kernels/tiled/dataflow.cu.
GROUPS, DEPTH, PIECES, CLUSTER = 2, 5, 2, 4
SLOTS = GROUPS * DEPTH
PHASED, QUEUE = np.int32(0), np.int32(1)
LARGEST = float(np.finfo(np.float64).max)


def tiles_of_rows(parameters: Parameters) -> NDArray[np.int32]:
    """Number of tiles of each row: one long row and seven short ones in eight, in an order drawn from the seed.

    Raises CannotMeasure when the rows are no multiple of eight.
    """
    rows = parameters["rows"]
    if rows % GROUP:
        raise CannotMeasure(
            f"tiled makes one row in {GROUP} long and cannot take {rows} rows.",
            f"Make `rows` of the shape in protocol.toml a multiple of {GROUP}.",
        )
    counts = np.full(rows, parameters["tiles_short"], np.int32)
    counts[::GROUP] = parameters["tiles_long"]
    return np.random.default_rng(parameters["layout_seed"]).permutation(counts)


def layout(parameters: Parameters) -> dict[str, NDArray[np.int32]]:
    """row_tile: first tile of each row, and at the end the number of tiles; tile_row: the row of each tile."""
    counts = tiles_of_rows(parameters)
    row_tile = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return {"row_tile": row_tile, "tile_row": np.repeat(np.arange(len(counts), dtype=np.int32), counts)}


def tile_count(parameters: Parameters) -> int:
    groups = parameters["rows"] // GROUP
    return groups * (parameters["tiles_long"] + (GROUP - 1) * parameters["tiles_short"])


def pieces(parameters: Parameters) -> NDArray[np.int32]:
    """Which tiles each block of `dataflow` has: (blocks, PIECES, 4), whole clusters of blocks.

    A piece is some consecutive tiles of a row: its first tile, how many they are, the row, and how many tiles
    the whole row has. Rows of more than SLOTS tiles come first, each spread evenly over a cluster of its own.
    After that a block has one row, or two where both fit. A piece of zero tiles is none; a block that has none
    makes its cluster complete.
    """
    counts = tiles_of_rows(parameters)
    rows = list(zip((np.cumsum(counts) - counts).tolist(), counts.tolist(), strict=True))
    blocks: list[list[tuple[int, int, int, int]]] = []
    for row, (start, count) in enumerate(rows):
        if count > SLOTS:
            bounds = [start + count * rank // CLUSTER for rank in range(CLUSTER + 1)]
            blocks += [[(first, last - first, row, count)] for first, last in pairwise(bounds)]
    together: list[tuple[int, int, int, int]] = []
    for row, (start, count) in enumerate(rows):
        if count <= SLOTS:
            if len(together) == PIECES or sum(piece[1] for piece in together) + count > SLOTS:
                blocks.append(together)
                together = []
            together.append((start, count, row, count))
    blocks += [together] if together else []
    planned = np.zeros((-(-len(blocks) // CLUSTER) * CLUSTER, PIECES, 4), np.int32)
    for block, own in enumerate(blocks):
        planned[block, : len(own)] = own
    return planned


def arrays(parameters: Parameters) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Input x and output y by tile; summaries of tiles and rows; the layout; what the schedulers count in."""
    rows, tiles = parameters["rows"], tile_count(parameters)
    elements = ((tiles, TILE), np.float32)
    return {
        "x": elements,
        "y": elements,
        **dict.fromkeys(("tile_max", "tile_sum"), ((tiles,), np.float32)),
        **dict.fromkeys(("row_max", "row_sum"), ((rows,), np.float32)),
        "row_tile": ((rows + 1,), np.int32),
        "tile_row": ((tiles,), np.int32),
        # phased
        "generation": ((1,), np.uint32),
        # queue
        "counters": ((QUEUE_COUNTERS,), np.uint32),
        "entries": ((rows + tiles,), np.uint32),
        "pending": ((rows,), np.uint32),
        # dataflow
        "pieces": (pieces(parameters).shape, np.int32),
    }


def inputs(fixture: str, parameters: Parameters, random: np.random.Generator) -> HostArrays:
    """The fixtures, FP32 by tile, and what is the same for all: the layout, dataflow's plan, a counter.

    normal   standard normal: what attention scores look like
    wide     from -100 to 100, so that most exponentials underflow
    ties     five distinct values, so that each row's maximum occurs in every tile of it
    shifted  normal around a large offset of each row's own: wrong without subtracting the maximum

    The counter of `phased` begins at zero once, and no invocation resets it. The queue's own are no inputs:
    `queue_init` sets them in every invocation.
    """
    placed = layout(parameters)
    size = (len(placed["tile_row"]), TILE)
    if fixture == "normal":
        x = random.standard_normal(size, dtype=np.float32)
    elif fixture == "wide":
        x = random.random(size, dtype=np.float32) * np.float32(200) - np.float32(100)
    elif fixture == "ties":
        x = random.integers(-2, 3, size, dtype=np.int8).astype(np.float32)
    elif fixture == "shifted":
        offset = random.choice(np.array([-1000, -90, 90, 1000], dtype=np.float32), parameters["rows"])
        x = random.standard_normal(size, dtype=np.float32) + offset[placed["tile_row"], None]
    else:
        raise ValueError(f"tiled has no fixture '{fixture}'")
    return {"x": x, **placed, "pieces": pieces(parameters), "generation": np.zeros(1, np.uint32)}


def reference(parameters: Parameters, given: HostArrays) -> HostArrays:
    """Softmax of each row in FP64 by NumPy, and what the tasks leave behind on the way.

    Row sums are sums over the elements, not over tile sums. Maxima need no rounding and are FP32.
    """
    x, tile_row, starts = given["x"], given["tile_row"], given["row_tile"][:-1]
    tile_max = x.max(axis=1)
    row_max = np.maximum.reduceat(tile_max, starts)
    tile_sum = np.exp(x.astype(np.float64) - tile_max[:, None]).sum(axis=1)
    y = x.astype(np.float64)
    y -= row_max[tile_row, None]
    np.exp(y, out=y)
    row_sum = np.add.reduceat(y.sum(axis=1), starts)
    y /= row_sum[tile_row, None]
    return {"y": y, "tile_max": tile_max, "tile_sum": tile_sum, "row_max": row_max, "row_sum": row_sum}


def tile_total(output: Any, right: Any, tolerances: Mapping[str, float]) -> Check:
    """Largest |sum over a tile - right sum over it| / right sum over it, in FP64; the largest double for a NaN.

    A row's tiles are nonnegative and their right sums make one, so this keeps each row's sum within the same
    distance of one; rows of unequal length have no axis to be summed over.
    """
    ours, theirs = (array.get().sum(axis=-1, dtype=np.float64) for array in (output, right))
    worst = float(np.nan_to_num(np.max(np.abs(ours - theirs) / theirs), nan=LARGEST, posinf=LARGEST))
    return Check("tile_total", worst, tolerances["row_sum"], output.size)


def launches(bench: Bench, variant: str, parameters: Parameters, on: DeviceArrays) -> Sequence[Launch]:
    """The device work of one invocation; the launch shapes are told at the top of each .cu file."""
    rows, tiles = parameters["rows"], tile_count(parameters)
    placed, log = (on["row_tile"], on["tile_row"]), bench.task_log
    of_tiles, of_rows = (on["tile_max"], on["tile_sum"]), (on["row_max"], on["row_sum"])
    if variant == "separate":
        kernels = bench.kernels("separate.cu")
        combine = (*of_tiles, *of_rows, on["row_tile"], np.int32(rows), log)
        return [
            bench.launch(kernels["tile_summary"], (tiles,), BLOCK, on["x"], *of_tiles, *placed, log),
            bench.launch(kernels["combine_rows"], (-(-rows // WARPS),), BLOCK, *combine),
            bench.launch(kernels["normalise_tiles"], (tiles,), BLOCK, on["x"], on["y"], *of_rows, *placed, log),
        ]
    computed = (on["x"], on["y"], *of_tiles, *of_rows, *placed)
    sizes = (np.int32(rows), np.int32(tiles))
    if variant in ("phased", "queue"):
        kernels = bench.kernels("persistent.cu")
        queue = (on["counters"], on["entries"], on["pending"])
        way = PHASED if variant == "phased" else QUEUE
        worker = kernels["persistent"]
        grid = (workers(bench, worker, parameters),)
        arguments = (way, *computed, *sizes, on["generation"], *queue, log)
        run = bench.launch(worker, grid, BLOCK, *arguments, cooperative=True)
        if variant == "phased":
            return [run]
        blocks = -(-(rows + tiles) // INIT_BLOCK)
        initial = (*queue, on["row_tile"], *sizes)
        return [bench.launch(kernels["queue_init"], (blocks,), (INIT_BLOCK,), *initial), run]
    if variant == "dataflow":
        planned = pieces(parameters)
        if (planned[..., 1] > SLOTS).any():
            raise CannotMeasure(
                f"dataflow holds a row in one cluster, at most {SLOTS * CLUSTER} tiles, "
                f"and a row has {planned[..., 3].max()}.",
                "Make the rows shorter, or leave the variant out with --variants.",
            )
        if (planned[..., 3] > SLOTS).any() and not bench.device.attribute("CLUSTER_LAUNCH"):
            raise CannotMeasure(
                f"dataflow spreads a row of more than {SLOTS} tiles over a cluster, which this device lacks.",
                "Take a Hopper GPU or a later one, or leave the variant out with --variants.",
            )
        kernel = bench.kernels("dataflow.cu")["dataflow"]
        block = (GROUPS * BLOCK[0],)
        shared = (on["x"], on["y"], *of_tiles, *of_rows, on["row_tile"])
        return [bench.launch(kernel, (len(planned),), block, *shared, on["pieces"], log)]
    raise ValueError(f"tiled has no variant '{variant}'")


def workers(bench: Bench, kernel: Kernel, parameters: Parameters) -> int:
    """Blocks of a kernel that stays, all resident at once. Raises CannotMeasure where they do not fit."""
    wanted, fitting = WORKERS[kernel.name], bench.active_blocks(kernel, BLOCK)
    if fitting < wanted:
        raise CannotMeasure(
            f"{kernel.name} needs {wanted} resident blocks on each multiprocessor, and {fitting} fit.",
            "Take a device with more registers and threads per multiprocessor.",
        )
    return wanted * parameters["multiprocessors"]


def tasks(variant: str, parameters: Parameters, given: HostArrays) -> Sequence[Stage]:
    """A and C per tile of each row, B per row. Only `queue` and `dataflow` let a row go on before others."""
    tiles = np.diff(given["row_tile"]).tolist()
    after: Literal["stage", "job"] = "stage" if variant in ("separate", "phased") else "job"
    return [Stage("A", tiles, "nothing"), Stage("B", len(tiles), after), Stage("C", tiles, after)]


CHECKS = {
    "y": (validation.finite, validation.nonnegative, validation.error, tile_total),
    "tile_max": (validation.exact,),
    "tile_sum": (validation.error,),
    "row_max": (validation.exact,),
    "row_sum": (validation.error,),
}
TILED = Experiment(
    arrays,
    inputs,
    reference,
    launches,
    CHECKS,
    output="y",
    alike=(("separate", "phased", "queue", "dataflow"),),
    tasks=tasks,
)

if __name__ == "__main__":
    sys.exit(run_driver(TILED))
