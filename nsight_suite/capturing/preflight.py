"""What this machine lacks for a capture, and the remedy for each lack.

The checks change nothing and import no GPU library: whatever may crash or hang runs in a child with a time-out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nsight_suite.capturing import probes
from nsight_suite.capturing.diagnosis import PERMISSION_REMEDY
from nsight_suite.capturing.passes import TOOL_OF_PASS
from nsight_suite.capturing.tools import Tool
from nsight_suite.protocol import KNOWN_PASSES
from nsight_suite.versions import distribution_version

State = Literal["ok", "warning", "missing"]

ALL_PASSES = KNOWN_PASSES
# The check that fails where there is no GPU at all, or no driver for it.
NO_GPU = "GPU and driver"
_NCU_PASSES = ("ncu", "ncu-warm")
_INSTALL = "In the checkout: pip install '.[cuda13]' (CUDA 13 drivers), or '.[cuda12]' (CUDA 12 drivers)."
_WANTED_DISK_BYTES = 1 << 30
_LEAST_DISK_BYTES = 200 << 20


@dataclass(frozen=True)
class Check:
    """One thing that a capture needs: the passes that need it, or the variants that alone do."""

    name: str
    state: State
    seen: str
    remedy: str
    needed_by: tuple[str, ...]
    variants: tuple[str, ...] = ()


# Shared libraries, each with the variants that need it.
Libraries = Mapping[str, tuple[str, ...]]
# What looks at a machine: the tools found, the folder of the run, the device, the libraries needed.
Inspect = Callable[[Mapping[str, Tool], Path, int, Libraries], tuple[Check, ...]]


def inspect_machine(
    tools: Mapping[str, Tool], output: Path, device: int, libraries: Libraries
) -> tuple[Check, ...]:
    """Every check, in the order in which a person would mend them. `output` is the folder of the run."""
    with ThreadPoolExecutor() as pool:  # each of these waits for a child that takes seconds
        gpu_found = pool.submit(probes.gpu)
        cupy_found = pool.submit(probes.cupy)
        libraries_found = {name: pool.submit(probes.library, name) for name in libraries}
    gpu = gpu_found.result()
    return (
        _gpu(gpu, device),
        _cupy(cupy_found.result()),
        _cuda_bindings(distribution_version("cuda-bindings"), gpu.cuda_version),
        _nvtx(distribution_version("nvtx")),
        *(_library(name, found.result(), libraries[name]) for name, found in libraries_found.items()),
        *(_tool(name, tools) for name in dict.fromkeys(TOOL_OF_PASS.values())),
        _nvtx_and_nsys(distribution_version("nvtx"), tools.get("nsys")),
        _permission(probes.counters()),
        _disk(*probes.free_disk(output)),
    )


def blocking(checks: Sequence[Check], passes: Sequence[str], variants: Sequence[str]) -> list[Check]:
    """The lacks that leave nothing to measure: needed by every one of these passes, or by a chosen variant."""
    return [
        check
        for check in checks
        if check.state == "missing"
        and (
            all(name in check.needed_by for name in passes)
            or any(variant in check.variants for variant in variants)
        )
    ]


def unmet_needs(checks: Sequence[Check], passes: Sequence[str]) -> dict[str, str]:
    """Why each of these passes cannot be made, for those that cannot."""
    unmet: dict[str, str] = {}
    for check in checks:
        if check.state == "missing":
            for name in passes:
                if name in check.needed_by:
                    unmet.setdefault(name, f"{check.seen}. {check.remedy}")
    return unmet


def _gpu(gpu: probes.Gpu, device: int) -> Check:
    if gpu.problem:
        remedy = "Use a machine with an NVIDIA GPU and its driver; in a container, start it with its GPUs."
        return Check(NO_GPU, "missing", gpu.problem, remedy, ALL_PASSES)
    seen = (
        f"{', '.join(gpu.names)}; driver {gpu.driver_version or 'of unknown version'}, CUDA {gpu.cuda_version}"
    )
    if not 0 <= device < len(gpu.names):
        remedy = f"Choose --device from 0 to {len(gpu.names) - 1}."
        return Check("device", "missing", f"no device {device}: {seen}", remedy, ALL_PASSES)
    return Check(NO_GPU, "ok", seen, "", ALL_PASSES)


def _cupy(cupy: probes.Library) -> Check:
    if cupy.problem:
        return Check("CuPy", "missing", cupy.problem, _INSTALL, ALL_PASSES)
    return Check("CuPy", "ok", cupy.seen, "", ALL_PASSES)


def _cuda_bindings(version: str | None, cuda_version: str | None) -> Check:
    name = "cuda-bindings"
    if version is None:
        return Check(name, "missing", "not installed", _INSTALL, ALL_PASSES)
    if cuda_version and int(version.split(".")[0]) > int(cuda_version.split(".")[0]):
        seen = f"{version}, for a newer driver than this one (CUDA {cuda_version})"
        return Check(name, "warning", seen, _INSTALL, ALL_PASSES)
    return Check(name, "ok", version, "", ALL_PASSES)


def _nvtx(version: str | None) -> Check:
    if version is None:
        return Check(
            "nvtx", "missing", "not installed", f"{_INSTALL} Or: pip install nvtx==0.2.11.", ALL_PASSES
        )
    return Check("nvtx", "ok", version, "", ALL_PASSES)


def _library(name: str, library: probes.Library, variants: tuple[str, ...]) -> Check:
    if library.problem is None:
        return Check(name, "ok", library.seen, "", (), variants)
    package = f"nvidia-{name.removeprefix('lib').partition('.')[0]}-cu13"
    remedy = (
        f"Install it (pip install {package}, or -cu12), or leave out {', '.join(variants)} with --variants."
    )
    return Check(name, "missing", library.problem, remedy, (), variants)


def _tool(name: str, tools: Mapping[str, Tool]) -> Check:
    passes = tuple(each for each, tool in TOOL_OF_PASS.items() if tool == name)
    if name not in tools:
        package = {"nsys": "Nsight Systems", "ncu": "Nsight Compute"}.get(name, "the CUDA toolkit")
        remedy = f"Install {package} and put {name} on PATH."
        return Check(name, "missing", f"{name} is not installed", remedy, passes)
    tool = tools[name]
    if tool.version is None:
        return Check(name, "warning", f"{tool.path} does not tell its version", "Try it by hand.", passes)
    return Check(name, "ok", f"{tool.version}, {tool.path}", "", passes)


def _nvtx_and_nsys(nvtx: str | None, nsys: Tool | None) -> Check:
    """Measured with nsys 2023.2 to 2023.4: from wheel 0.2.12 on, not one range arrives in the report."""
    name = "nvtx with nsys"
    if nvtx is None or nsys is None or nsys.version is None:
        return Check(name, "warning", "one of the two is not known", "", ("nsys",))
    pair = f"nvtx {nvtx} with nsys {nsys.version}"
    if probes.numbers(nvtx) >= (0, 2, 12) and probes.numbers(nsys.version) < (2024,):
        remedy = "pip install nvtx==0.2.11, or install nsys 2024 or newer."
        return Check(name, "missing", f"{pair} loses every NVTX range", remedy, ("nsys",))
    return Check(name, "ok", pair, "", ("nsys",))


def _permission(counters: probes.Counters) -> Check:
    name = "permission to read counters"
    if counters.restricted is None:
        seen = "not known: the driver's parameters cannot be read"
        return Check(
            name, "warning", seen, "If ncu reports ERR_NVGPUCTRPERM: " + PERMISSION_REMEDY, _NCU_PASSES
        )
    if not counters.restricted:
        return Check(name, "ok", "open to all users", "", _NCU_PASSES)
    if counters.admin:
        return Check(name, "ok", "for administrators only, and this process is one", "", _NCU_PASSES)
    if counters.root:
        seen = "for administrators only; this process is root, without CAP_SYS_ADMIN"
        return Check(name, "warning", seen, PERMISSION_REMEDY, _NCU_PASSES)
    seen = "for administrators only, and this process is none"
    return Check(name, "missing", seen, PERMISSION_REMEDY, _NCU_PASSES)


def _disk(folder: Path, free_bytes: int) -> Check:
    seen = f"{free_bytes / 1e9:.1f} GB free in {folder}"
    remedy = "Free some space, or write elsewhere with --out."
    if free_bytes < _LEAST_DISK_BYTES:
        return Check("disk", "missing", seen, remedy, ALL_PASSES)
    if free_bytes < _WANTED_DISK_BYTES:
        return Check("disk", "warning", seen, remedy, ALL_PASSES)
    return Check("disk", "ok", seen, "", ALL_PASSES)
