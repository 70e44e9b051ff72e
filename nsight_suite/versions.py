"""Versions of Python and of the installed packages that a measurement depends on; none of them is imported."""

from __future__ import annotations

import importlib.metadata
import platform

_LIBRARIES = ("cuda-bindings", "cuda-pathfinder", "nvtx", "nvidia-ml-py", "numpy")
_CUPY_WHEELS = ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy")


def library_versions() -> dict[str, str]:
    """What is installed, by name; CuPy is `cupy`, whichever of its wheels it comes from."""
    installed = {name: distribution_version(name) for name in _LIBRARIES}
    versions = {"python": platform.python_version(), **installed, "cupy": cupy_version()}
    return {name: version for name, version in versions.items() if version}


def distribution_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def cupy_version() -> str | None:
    """The version of CuPy, whichever of its wheels is installed."""
    versions = (distribution_version(name) for name in _CUPY_WHEELS)
    return next((version for version in versions if version), None)
