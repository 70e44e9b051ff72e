"""Calling CUDA through cuda.bindings, with a status that becomes an error one can read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nsight_suite.errors import CannotMeasure


class CudaError(CannotMeasure):
    """A CUDA call failed."""


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of cuda.bindings; returns its result, or a tuple of several, without the status.

    Raises CudaError with the function's name and CUDA's own name for the status.
    """
    status, *results = function(*arguments)
    if status != 0:
        raise CudaError(
            f"{function.__name__} failed: {status_name(status)}.",
            "See whether other programs use the GPU, and run `nsight-suite doctor`.",
        )
    return results[0] if len(results) == 1 else tuple(results)


def status_name(status: object) -> str:
    """CUDA's own name for a status, as far as it is known."""
    return str(getattr(status, "name", status))
