"""Task traces: the log that instrumented kernels append to (kernels/trace.cuh), and the plan beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nsight_suite.errors import SuiteError

# TaskRecord and TaskLog of kernels/trace.cuh.
RECORD = np.dtype(
    [
        *((name, np.uint64) for name in ("start_ns", "end_ns")),
        *((name, np.uint32) for name in ("stage", "job", "tile", "worker", "multiprocessor", "reserved")),
    ]
)
_HEAD = np.dtype([("records", np.uint64), ("capacity", np.uint64)])
_NO_TILE = 0xFFFFFFFF
# One invocation of the largest shapes leaves some ten thousand records; a kernel gone wild must be seen too.
_CAPACITY = 1 << 18

# The option that makes kernels append to the log.
TRACED = "-DNSIGHT_SUITE_TRACE=1"


@dataclass(frozen=True)
class Stage:
    """One stage of the work of an invocation; kernels number stages by their position in the list.

    tiles  the number of tasks of each job, or the number of jobs of one task without a tile
    after  what must have ended before a task begins: nothing; `job`: all tasks of the same job in the stage
           before; `stage`: all tasks of the stage before
    """

    name: str
    tiles: Sequence[int] | int
    after: Literal["nothing", "job", "stage"]

    def jobs(self) -> Iterator[tuple[int, int]]:
        """Each job with the number of its tasks."""
        counts = [1] * self.tiles if isinstance(self.tiles, int) else self.tiles
        for job, tasks in enumerate(counts):
            yield job, int(tasks)


class TaskLog:
    """The log on the device: emptied before an invocation, read after it."""

    def __init__(self, stream: Any) -> None:
        """`stream`: the CuPy stream of the kernels, so that none of them overtakes what empties the log."""
        import cupy

        self._stream = stream
        with stream:
            self._memory = cupy.zeros(_HEAD.itemsize + _CAPACITY * RECORD.itemsize, np.uint8)

    @property
    def argument(self) -> np.uint64:
        """What a kernel is given: the log's address."""
        return np.uint64(self._memory.data.ptr)

    def empty(self) -> None:
        head = np.array([(0, _CAPACITY)], _HEAD)
        self._memory[: _HEAD.itemsize].set(head.view(np.uint8), stream=self._stream)

    def read(self) -> NDArray[Any]:
        """The records in the order in which they were appended. Raises SuiteError when there were too many."""
        head = self._memory[: _HEAD.itemsize].get().view(_HEAD)[0]
        count = int(head["records"])
        if count > _CAPACITY:
            raise SuiteError(
                f"An invocation left {count} task records, more than the log holds ({_CAPACITY}).",
                "Trace a smaller shape, or look for tasks that run again and again.",
            )
        stop = _HEAD.itemsize + count * RECORD.itemsize
        records: NDArray[Any] = self._memory[_HEAD.itemsize : stop].get().view(RECORD)
        return records


def plan_columns(stage: Stage) -> dict[str, list[int]]:
    """Columns of `task_plan` that differ from job to job."""
    jobs = list(stage.jobs())
    return {"job": [job for job, _ in jobs], "tasks": [tasks for _, tasks in jobs]}


def task_columns(records: NDArray[Any], stages: Sequence[Stage]) -> dict[str, list[Any]]:
    """Columns of `task`, less pass, case and invocation. A stage that nobody planned goes by its number."""
    names = dict(enumerate(stage.name for stage in stages))
    return {
        "stage": [names.get(number, str(number)) for number in records["stage"].tolist()],
        "tile": [None if tile == _NO_TILE else tile for tile in records["tile"].tolist()],
        **{name: records[name].tolist() for name in ("job", "worker", "multiprocessor", "start_ns", "end_ns")},
    }
