"""What a driver declares: an `Experiment`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from nsight_suite.driving.bench import Bench
    from nsight_suite.driving.launch import Launch
    from nsight_suite.driving.tasks import Stage
    from nsight_suite.driving.validation import Check

# The integers of one shape, as the protocol names them, and `multiprocessors`, the device's.
Parameters = Mapping[str, int]
HostArrays = Mapping[str, NDArray[Any]]
DeviceArrays = Mapping[str, Any]  # CuPy arrays by name
Checker = Callable[[Any, Any, Mapping[str, float]], "Check"]


@dataclass(frozen=True)
class Experiment:
    """How an experiment is driven; what is measured stands in its protocol.

    arrays     (parameters) → shape and type of every device array by name; allocated once per shape
    inputs     (fixture, parameters, generator) → the input arrays, a pure function of its arguments
    reference  (parameters, inputs) → the right output, computed in a way of its own; or right arrays by name
    launches   (bench, variant, parameters, device arrays) → the device work of one invocation, in order
    checks     what must hold of the output, each (array, reference, tolerances) → Check, on the GPU; or, where
               more than the output is checked, by the array's name. Every variant writes what is checked
    output     name of the output array
    alike      groups of variants whose checked arrays must be equal to the last bit
    tasks      (variant, parameters, inputs) → the stages of an invocation, for the pass `trace`
    """

    arrays: Callable[[Parameters], Mapping[str, tuple[tuple[int, ...], Any]]]
    inputs: Callable[[str, Parameters, np.random.Generator], HostArrays]
    reference: Callable[[Parameters, HostArrays], NDArray[Any] | HostArrays]
    launches: Callable[[Bench, str, Parameters, DeviceArrays], Sequence[Launch]]
    checks: Sequence[Checker] | Mapping[str, Sequence[Checker]]
    output: str
    alike: Sequence[Sequence[str]] = ()
    tasks: Callable[[str, Parameters, HostArrays], Sequence[Stage]] | None = None

    def checks_by_array(self) -> Mapping[str, Sequence[Checker]]:
        return self.checks if isinstance(self.checks, Mapping) else {self.output: self.checks}

    def references_by_array(self, parameters: Parameters, given: HostArrays) -> HostArrays:
        right = self.reference(parameters, given)
        return right if isinstance(right, Mapping) else {self.output: right}

    def leader_of(self, variant: str, variants: Sequence[str]) -> str | None:
        """The first of `variants` that must give the same bits as this one; None when there is no other."""
        group = next((group for group in self.alike if variant in group), ())
        leader = next((other for other in variants if other in group), None)
        return None if leader == variant else leader
