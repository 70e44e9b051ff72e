"""Checks of an output array against an oracle, on the GPU. Each gives the worst violation that it found."""

from __future__ import annotations

import hashlib
import math
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

# A violation without a number (NaN, infinity) counts as the largest one that JSON can hold.
_WORST = sys.float_info.max

_PREAMBLE = """
__device__ double bounded(double violation) {
    const double most = 1.7976931348623157e308;
    return violation < most ? violation : most;
}
"""


@dataclass(frozen=True)
class Check:
    """One check of an output. `worst` and `limit` share a unit that the check's maker documents."""

    name: str
    worst: float
    limit: float
    elements: int

    @property
    def passed(self) -> bool:
        return self.worst <= self.limit


def error(output: Any, reference: Any, tolerances: Mapping[str, float]) -> Check:
    """Largest |output - reference| / (absolute + relative * |reference|), which may not exceed one."""
    limits = tolerances["absolute"], tolerances["relative"]
    worst = _error_kernel()(_blocks(output), _blocks(reference), *limits, axis=1)
    return Check("error", float(worst.get().max()), 1.0, output.size)


def finite(output: Any, reference: Any, tolerances: Mapping[str, float]) -> Check:
    """Number of elements that are NaN or infinite."""
    return Check("finite", float(_not_finite_kernel()(_blocks(output), axis=1).get().sum()), 0.0, output.size)


def nonnegative(output: Any, reference: Any, tolerances: Mapping[str, float]) -> Check:
    """Size of the most negative element."""
    return Check(
        "nonnegative", float(_negative_kernel()(_blocks(output), axis=1).get().max()), 0.0, output.size
    )


def row_sum(output: Any, reference: Any, tolerances: Mapping[str, float]) -> Check:
    """Largest distance of a row's sum (in FP64, over the last axis) from one."""
    sums = _sum_kernel()(output, axis=-1).get()
    distance = np.abs(sums - 1.0)
    worst = float(np.max(np.nan_to_num(distance, nan=_WORST, posinf=_WORST)))
    return Check("row_sum", worst, tolerances["row_sum"], output.size)


def same_as_stream(output: Any, stream_output: Any) -> Check:
    """Number of elements whose bits differ from the output of the stream submission."""
    bits = np.dtype(f"u{output.itemsize}")
    differing = _differing_kernel()(_blocks(output.view(bits)), _blocks(stream_output.view(bits)), axis=1)
    return Check("same_as_stream", float(differing.get().sum()), 0.0, output.size)


def sha256(output: Any) -> str:
    """SHA-256 of the array's bytes, in C order."""
    return hashlib.sha256(np.ascontiguousarray(output.get()).data).hexdigest()


def generator(seed: int, fixture: str, shape: str) -> np.random.Generator:
    """The random numbers of one fixture at one shape, whatever else was drawn before."""
    return np.random.default_rng([seed, zlib.crc32(fixture.encode()), zlib.crc32(shape.encode())])


def _blocks(array: Any) -> Any:
    """The same elements as a matrix of up to 4096 rows: CuPy gives each result of a reduction one block."""
    return array.reshape(math.gcd(array.size, 4096), -1)


def _reduction(*arguments: str, **options: str) -> Any:
    import cupy

    return cupy.ReductionKernel(*arguments, **options)


@cache
def _error_kernel() -> Any:
    return _reduction(
        "T output, R reference, float64 absolute, float64 relative",
        "float64 worst",
        "bounded(fabs((double)output - (double)reference) / (absolute + relative * fabs((double)reference)))",
        "max(a, b)",
        "worst = a",
        "0",
        "nsight_suite_error",
        preamble=_PREAMBLE,
    )


@cache
def _not_finite_kernel() -> Any:
    return _reduction(
        "T output",
        "int64 found",
        "(long long)!(fabs((double)output) <= 1.7976931348623157e308)",
        "a + b",
        "found = a",
        "0",
        "nsight_suite_not_finite",
    )


@cache
def _negative_kernel() -> Any:
    return _reduction(
        "T output",
        "float64 worst",
        "bounded(output >= (T)0 ? 0.0 : -(double)output)",
        "max(a, b)",
        "worst = a",
        "0",
        "nsight_suite_negative",
        preamble=_PREAMBLE,
    )


@cache
def _sum_kernel() -> Any:
    return _reduction(
        "T output", "float64 total", "(double)output", "a + b", "total = a", "0", "nsight_suite_sum"
    )


@cache
def _differing_kernel() -> Any:
    return _reduction(
        "T left, T right", "int64 found", "(long long)(left != right)", "a + b", "found = a", "0",
        "nsight_suite_differing",
    )  # fmt: skip
