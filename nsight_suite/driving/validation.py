"""Checks of an output array against an oracle, on the GPU. Each gives the worst violation that it found."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsight_suite.driving import reductions


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
    worst = reductions.worst_error(output, reference, tolerances["absolute"], tolerances["relative"])
    return Check("error", worst, 1.0, output.size)


def finite(output: Any, reference: Any, tolerances: Mapping[str, float]) -> Check:
    """Number of elements that are NaN or infinite."""
    return Check("finite", float(reductions.not_finite(output)), 0.0, output.size)


def nonnegative(output: Any, reference: Any, tolerances: Mapping[str, float]) -> Check:
    """Size of the most negative element."""
    return Check("nonnegative", reductions.most_negative(output), 0.0, output.size)


def row_sum(output: Any, reference: Any, tolerances: Mapping[str, float]) -> Check:
    """Largest distance of a row's sum (in FP64, over the last axis) from one."""
    return Check("row_sum", reductions.worst_row_sum(output), tolerances["row_sum"], output.size)


def exact(output: Any, reference: Any, tolerances: Mapping[str, float]) -> Check:
    """Number of elements whose bits differ from the reference's, which has the same type."""
    if output.dtype != reference.dtype:
        raise ValueError(
            f"an exact check of {output.dtype} needs a reference of that type, not {reference.dtype}"
        )
    return Check("exact", float(reductions.differing(output, reference)), 0.0, output.size)


def same_as(whose: str, output: Any, other: Any) -> Check:
    """Number of elements whose bits differ from those that the stream submission or another variant wrote."""
    name = "same_as_stream" if whose == "stream" else f"same_as:{whose}"
    return Check(name, float(reductions.differing(output, other)), 0.0, output.size)


def sha256(output: Any) -> str:
    """SHA-256 of the array's bytes, in C order."""
    return hashlib.sha256(np.ascontiguousarray(output.get()).data).hexdigest()


def generator(seed: int, fixture: str, shape: str) -> np.random.Generator:
    """The random numbers of one fixture at one shape, whatever else was drawn before."""
    return np.random.default_rng([seed, zlib.crc32(fixture.encode()), zlib.crc32(shape.encode())])
