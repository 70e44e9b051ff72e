"""Run a GPU experiment unprofiled, under nsys and under ncu, and reconcile what they saw.

`open_run(path)` is the way in for Python: it gives queries as frames, findings as dataclasses and figures.
Nothing heavy is imported until it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pathlib import Path

    from nsight_suite.run import Run

__all__ = ["__version__", "open_run"]


def open_run(path: str | Path) -> Run:
    """Open a run folder, or a recorded run by its name, for reading.

    Raises `nsight_suite.errors.SuiteError` when the folder holds no evidence.
    """
    from nsight_suite.run import Run

    return Run.open(path)
