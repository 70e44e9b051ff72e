"""A machine that has everything, for tests of `capture` without a GPU.

with_fakes(monkeypatch)                      # the fake profilers come first on PATH
status = capture_fake("--quick", out=folder) # `capture` on the fake experiment, without the analysis
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from unittest import mock

import pytest

from nsight_suite import capture
from nsight_suite.capturing.preflight import ALL_PASSES, Check

HERE = Path(__file__).resolve().parent
EXPERIMENT = HERE / "fake"
TOOLS = HERE / "bin"
PASSES = ("validate", "timing", "nsys", "ncu", "ncu-warm", "sanitize")


def ready(*_: object) -> tuple[Check, ...]:
    """Checks of a machine that can capture."""
    return (Check("GPU and driver", "ok", "a fake GPU", "", ALL_PASSES),)


def without_gpu(*_: object) -> tuple[Check, ...]:
    """Checks of a machine without a GPU."""
    return (Check("GPU and driver", "missing", "no NVIDIA driver", "Use a machine with a GPU.", ALL_PASSES),)


def without(*names: str):
    """Checks of a machine that lacks these profilers."""

    def inspect(*_: object) -> tuple[Check, ...]:
        needed_by = {"nsys": ("nsys",), "ncu": ("ncu", "ncu-warm"), "compute-sanitizer": ("sanitize",)}
        return tuple(
            Check(name, "missing", f"{name} is not installed", f"Install {name}.", needed_by[name])
            for name in names
        )

    return inspect


def search_path() -> str:
    """A PATH on which the fake profilers come first, and a Python for them."""
    return os.pathsep.join([str(TOOLS), str(Path(sys.executable).parent), os.environ["PATH"]])


def is_running(pid: int) -> bool:
    """Whether a process lives; one that ended and that nobody has asked about is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def with_fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", search_path())


def capture_fake(*options: str, out: Path | None = None, inspect=ready) -> int:
    """`capture` on the fake experiment up to the analysis, which its fake reports do not bear."""
    where = ["--out", str(out)] if out else []
    with mock.patch.object(capture, "analyse", return_value=0):
        return capture.main([str(EXPERIMENT), *where, *options], inspect=inspect)


if __name__ == "__main__":  # a process of its own, for tests that kill it
    sys.exit(capture_fake(*sys.argv[1:]))
