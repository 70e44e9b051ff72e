"""How two-stage jobs are driven: arrays, fixtures, reference, launches, tasks.

What is measured says protocol.toml. Every kernel is launched with an artificial reservation: just over half of
a multiprocessor's shared memory per block, which no kernel touches, so that a multiprocessor holds one block at
a time. What is measured under it holds for jobs that need a whole multiprocessor, and for no others.
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
from nsight_suite.driving.tasks import Stage
from nsight_suite.errors import CannotMeasure

if TYPE_CHECKING:
    from nsight_suite.driving.bench import Bench, Kernel
    from nsight_suite.driving.launch import Launch

VALUES = 256  # of a job, one per thread
# Multiplier and increment of each stage, as in kernels/jobs/stages.cuh.
STEP_OF_A = (1664525, 1013904223)
STEP_OF_B = (22695477, 1)

_MODULUS_MASK = np.uint64(2**32 - 1)
# Where arithmetic modulo 2^32 could go wrong: nothing, one, around half the range, the end of the range.
_EDGES = np.array([0, 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1], dtype=np.uint32)


def job_count(parameters: Parameters) -> int:
    """Jobs for a device: four and a half to each multiprocessor, and three more: the last wave is partial."""
    multiprocessors = parameters["multiprocessors"]
    return 4 * multiprocessors + multiprocessors // 2 + 3


def arrays(parameters: Parameters) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Input x, each job's iterations of stage A, its result a, output y, and the counter of the queue."""
    jobs = job_count(parameters)
    values, per_job, one = ((jobs, VALUES), np.uint32), ((jobs,), np.uint32), ((1,), np.uint32)
    return {"x": values, "iterations": per_job, "a": values, "y": values, "counter": one}


def inputs(fixture: str, parameters: Parameters, random: np.random.Generator) -> HostArrays:
    """The fixtures, uint32; each draws from a seed of its own. The iterations are the same for all.

    uniform   over the whole range
    counting  0, 1, 2 … through all jobs: a value computed for another place shows
    edges     where a carry or a sign could go wrong
    unseen    over the whole range, kept back until after the measurement
    """
    size = job_count(parameters), VALUES
    if fixture in ("uniform", "unseen"):
        x = random.integers(0, 2**32, size, dtype=np.uint32)
    elif fixture == "counting":
        x = np.arange(size[0] * size[1], dtype=np.uint32).reshape(size)
    elif fixture == "edges":
        x = random.choice(_EDGES, size)
    else:
        raise ValueError(f"jobs has no fixture '{fixture}'")
    return {"x": x, "iterations": iterations(parameters)}


def iterations(parameters: Parameters) -> NDArray[np.uint32]:
    """Iterations of stage A of each job."""
    heavy = np.arange(job_count(parameters)) % parameters["every"] == 0
    return np.where(heavy, np.uint32(parameters["heavy"]), np.uint32(parameters["light"])).astype(np.uint32)


def reference(parameters: Parameters, given: HostArrays) -> dict[str, NDArray[np.uint32]]:
    """a and y without iterating: n steps v → m v + c are one step with another m and c, found by squaring."""
    a = _applied(_power(STEP_OF_A, given["iterations"]), given["x"])
    second = np.full(len(a), parameters["second"], dtype=np.uint32)
    return {"a": a, "y": _applied(_power(STEP_OF_B, second), a)}


def _power(step: tuple[int, int], times: NDArray[np.uint32]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Multiplier and increment, modulo 2^32, of the step done `times[job]` times, for each job.

    No product of two numbers below 2^32, nor its sum with a third, exceeds 64 bits.
    """
    left = times.astype(np.uint64)
    multiplier, increment = np.ones_like(left), np.zeros_like(left)
    m, c = (np.full_like(left, number) for number in step)
    while left.any():
        odd = (left & np.uint64(1)).astype(bool)
        increment = np.where(odd, (m * increment + c) & _MODULUS_MASK, increment)
        multiplier = np.where(odd, (m * multiplier) & _MODULUS_MASK, multiplier)
        m, c = (m * m) & _MODULUS_MASK, (m * c + c) & _MODULUS_MASK
        left >>= np.uint64(1)
    return multiplier, increment


def _applied(step: tuple[NDArray[np.uint64], NDArray[np.uint64]], values: NDArray[Any]) -> NDArray[np.uint32]:
    """Each job's step on each of its values."""
    multiplier, increment = (part[:, np.newaxis] for part in step)
    return ((multiplier * values.astype(np.uint64) + increment) & _MODULUS_MASK).astype(np.uint32)


def launches(bench: Bench, variant: str, parameters: Parameters, on: DeviceArrays) -> Sequence[Launch]:
    """The device work of one invocation; what it does is told at the top of each .cu file.

    Raises CannotMeasure when the artificial reservation does not leave one block to a multiprocessor.
    """
    jobs, block = job_count(parameters), (VALUES,)
    reserved = bench.shared_bytes_per_multiprocessor // 2 + 1
    x, steps, a, y, counter = (on[name] for name in ("x", "iterations", "a", "y", "counter"))
    log, second = bench.task_log, np.uint32(parameters["second"])

    def alone(kernel: Kernel, blocks: int, *arguments: Any) -> Launch:
        """A launch under the artificial reservation, which must hold for this very kernel."""
        active = bench.active_blocks(kernel, block, reserved)
        if active != 1:
            raise CannotMeasure(
                f"With {reserved} bytes of shared memory {active} blocks of {kernel.name} fit on a "
                "multiprocessor; the artificial reservation is for exactly one.",
                "Run it on a device where a block may take more than half of a multiprocessor's shared memory.",
            )
        return bench.launch(kernel, (blocks,), block, *arguments, log, shared_bytes=reserved)

    if variant == "separate":
        kernels = bench.kernels("separate.cu")
        return [
            alone(kernels["jobs_stage_a"], jobs, x, steps, a),
            alone(kernels["jobs_stage_b"], jobs, a, y, second),
        ]
    if variant == "fused":
        return [alone(bench.kernels("fused.cu")["jobs_fused"], jobs, x, steps, a, y, second)]
    if variant == "queue":
        kernel = bench.kernels("queue.cu")["jobs_queue"]
        workers = parameters["multiprocessors"]
        return [
            bench.memset(counter),
            alone(kernel, workers, x, steps, a, y, second, counter, np.uint32(jobs)),
        ]
    raise ValueError(f"jobs has no variant '{variant}'")


def tasks(variant: str, parameters: Parameters, given: HostArrays) -> Sequence[Stage]:
    """Each job once in each stage; a B waits for all A in `separate`, else for its own job's."""
    jobs = job_count(parameters)
    return [Stage("A", jobs, "nothing"), Stage("B", jobs, "stage" if variant == "separate" else "job")]


JOBS = Experiment(
    arrays,
    inputs,
    reference,
    launches,
    {"a": (validation.exact,), "y": (validation.exact,)},
    output="y",
    alike=(("separate", "fused", "queue"),),
    tasks=tasks,
)

if __name__ == "__main__":
    sys.exit(run_driver(JOBS))
