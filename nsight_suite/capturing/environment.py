"""What a child process inherits, and what of its command line may be written down."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import nsight_suite

# Set by nsys, ncu and compute-sanitizer for the programs they start. Inherited by a second profiler they load
# the first one into it, and the report of either is then empty or mixed.
_INJECTED_PREFIXES = (
    "CUDA_INJECTION",
    "NVTX_INJECTION",
    "NSYS_",
    "QUADD_",
    "NV_COMPUTE_PROFILER",
    "NV_NSIGHT",
    "NV_SANITIZER",
    "NV_TPS",
)
_INJECTED_LIBRARY = re.compile(
    r"ToolsInjection|Interceptor|TreeLauncher|cuda-injection|cuinj|nsight|nsys|sanitizer", re.IGNORECASE
)
# Every process of a pass carries this variable, so that all of them can be found and ended, whatever
# sessions and daemons the profilers make of them.
MARKER = "NSIGHT_SUITE_PASS"

DROPPED = "(dropped)"
_SECRET = (
    r"[\w.-]*(?:token(?!s)|passw|passphrase|secret|credential|api[-_]?key|private[-_]?key|access[-_]?key"
    r"|(?<![A-Za-z])key(?![A-Za-z])|(?<![A-Za-z])pwd(?![A-Za-z]))[\w.-]*"
)
_SECRET_NAME = re.compile(rf"-+{_SECRET}", re.IGNORECASE)
_SECRET_ASSIGNMENT = re.compile(rf"({_SECRET})=.+", re.IGNORECASE | re.DOTALL)
_SECRET_IN_URL = re.compile(r"(://)[^/\s@]+@")


def child_environment(
    inherited: Mapping[str, str], mark: Path, package_root: Path | None = None
) -> dict[str, str]:
    """The environment of a child: nothing of another profiler, its marker, and the suite on PYTHONPATH.

    `mark` is the folder that the child works in. `package_root` is put in front of PYTHONPATH; None leaves it.
    """
    environment = {name: value for name, value in inherited.items() if not name.startswith(_INJECTED_PREFIXES)}
    if "LD_PRELOAD" in environment:
        kept = [entry for entry in re.split(r"[:\s]+", environment.pop("LD_PRELOAD")) if entry]
        kept = [entry for entry in kept if not _INJECTED_LIBRARY.search(entry)]
        if kept:
            environment["LD_PRELOAD"] = ":".join(kept)
    if package_root is not None:
        others = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(package_root), *([others] if others else [])])
    environment[MARKER] = str(mark)
    return environment


def package_root() -> Path | None:
    """The folder that a child must have on PYTHONPATH to import the suite; None when it is installed."""
    root = Path(nsight_suite.__file__).resolve().parent.parent
    return None if root.name in ("site-packages", "dist-packages") else root


def without_secrets(argv: Iterable[str]) -> list[str]:
    """A command line as it was, but for the values of arguments whose name speaks of a secret."""
    result = []
    value_follows = False
    for argument in argv:
        if value_follows and not argument.startswith("--"):
            result.append(DROPPED)
            value_follows = False
            continue
        value_follows = bool(_SECRET_NAME.fullmatch(argument))
        text = _SECRET_ASSIGNMENT.sub(rf"\1={DROPPED}", argument)
        result.append(_SECRET_IN_URL.sub(rf"\1{DROPPED}@", text))
    return result
