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
    from nsight_suite.driving.validation import Check

Parameters = Mapping[str, int]  # the integers of one shape, as the protocol names them
HostArrays = Mapping[str, NDArray[Any]]
DeviceArrays = Mapping[str, Any]  # CuPy arrays by name
Checker = Callable[[Any, Any, Mapping[str, float]], "Check"]


@dataclass(frozen=True)
class Experiment:
    """How an experiment is driven; what is measured stands in its protocol.

    arrays     (parameters) → shape and type of every device array by name; allocated once per shape
    inputs     (fixture, parameters, generator) → the input arrays, a pure function of its arguments
    reference  (parameters, inputs) → the right output, computed in a way of its own
    launches   (bench, variant, parameters, device arrays) → the device work of one invocation, in order
    checks     what must hold of the output, each (output, reference, tolerances) → Check, on the GPU
    output     name of the output array
    """

    arrays: Callable[[Parameters], Mapping[str, tuple[tuple[int, ...], Any]]]
    inputs: Callable[[str, Parameters, np.random.Generator], HostArrays]
    reference: Callable[[Parameters, HostArrays], NDArray[Any]]
    launches: Callable[[Bench, str, Parameters, DeviceArrays], Sequence[Launch]]
    checks: Sequence[Checker]
    output: str
