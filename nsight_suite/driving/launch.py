"""Kernel launches with their arguments packed once, and the calls of which a timed region is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nsight_suite.driving.calls import CudaError, status_name

# What a launch's call gives back: None, a status, or the tuple of cuda.bindings that begins with one.
Status = Any


@dataclass(frozen=True)
class Launch:
    """One prepared piece of device work: `call()` enqueues it and does nothing else.

    `describe` turns a nonzero status into text; `kind` and `planned` are columns of `planned_launch`; `keep`
    holds what must live as long as the launch.
    """

    name: str
    call: Callable[[], Status]
    describe: Callable[[int], str] = status_name
    kind: str = "library"
    planned: Mapping[str, Any] = field(default_factory=dict)
    keep: tuple[Any, ...] = field(default=(), repr=False)

    def checked(self) -> None:
        """Enqueue, and raise CudaError when the call failed."""
        if status := status_of(self.call()):
            raise CudaError(f"The launch of {self.name} failed: {self.describe(status)}.")


def status_of(outcome: Status) -> Any:
    """The status that a prepared call gave back, or 0."""
    return (outcome[0] if isinstance(outcome, tuple) else outcome) or 0


def raise_for(outcome: Status) -> None:
    """Raise CudaError when a prepared call gave back a status that is no success."""
    if status := status_of(outcome):
        raise CudaError(f"A CUDA call failed while it was measured: {status_name(status)}.")


def submission_of(launches: Sequence[Launch]) -> Callable[[], Status]:
    """One call that enqueues all launches in order; only the last status is given back.

    The launches must outlive it: they own the packed arguments that the call points to.

    The others need no look here: a launch is refused for what it is, not for when it is, and each was made with
    `Launch.checked` before. What goes wrong on the device is told by the synchronisation.
    """
    calls = [launch.call for launch in launches]
    if len(calls) == 1:
        return calls[0]
    *first, last = calls

    def submit() -> Status:
        for call in first:
            call()
        return last()

    return submit


def pack_arguments(arguments: Sequence[Any]) -> tuple[int, tuple[Any, ...]]:
    """The address of a kernel's parameter array, and what must stay alive with it.

    Arrays (anything with `.data.ptr`) are passed as pointers, NumPy scalars by value. Raises TypeError for a
    bare Python number, whose width on the device would be a guess.
    """
    values = np.zeros(max(1, len(arguments)), dtype=np.uint64)
    for slot, argument in enumerate(arguments):
        if isinstance(argument, np.generic) and argument.nbytes <= values.itemsize:
            values[slot : slot + 1].view(np.uint8)[: argument.nbytes] = np.frombuffer(
                argument.tobytes(), np.uint8
            )
        elif hasattr(argument, "data") and hasattr(argument.data, "ptr"):
            values[slot] = argument.data.ptr
        else:
            raise TypeError(f"kernel argument {slot} is {argument!r}: give an array or a NumPy scalar")
    pointers = values.ctypes.data + np.arange(len(values), dtype=np.uint64) * np.uint64(values.itemsize)
    return int(pointers.ctypes.data), (values, pointers, *arguments)
