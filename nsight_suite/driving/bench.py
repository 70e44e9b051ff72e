"""The bench that a driver's author works at: the plan, the opened GPU, compiled kernels, prepared launches."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import cupy
from cuda.bindings import driver

from nsight_suite.driving.build import Build, compile_source
from nsight_suite.driving.calls import call
from nsight_suite.driving.device import Device
from nsight_suite.driving.launch import Launch, Status, pack_arguments, raise_for
from nsight_suite.driving.records import Records
from nsight_suite.errors import UsageError
from nsight_suite.plan import Plan


@dataclass(frozen=True)
class Kernel:
    """A loaded kernel."""

    name: str
    function: Any


class Bench:
    """One pass at one GPU.

    Launches and replays reach the driver through cuda.bindings, prepared once. The wait goes through CuPy,
    which returns 0.3 µs sooner. benchmarks/host_overhead.py compares the ways.
    """

    def __init__(self, plan: Plan, device: Device, records: Records, folder: Path) -> None:
        self.plan = plan
        self.device = device
        self.records = records
        self.synchronize = self.synchronize_call()
        self._folder = folder
        self._kernels: dict[str, dict[str, Kernel]] = {}
        self._modules: dict[str, ModuleType] = {}
        self._tools: dict[str, str] = {}

    def wait(self) -> None:
        """Wait for the stream. Raises CudaError for whatever went wrong on it."""
        raise_for(self.synchronize())

    def kernels(self, file: str) -> Mapping[str, Kernel]:
        """The kernels of a .cu file in the plan's kernels folder, by name; compiled and recorded once."""
        if file not in self._kernels:
            build = compile_source(self.plan.kernels / file, self.device.architecture)
            self._keep(build)
            module = call(driver.cuModuleLoadData, build.cubin)
            self._kernels[file] = {
                kernel.name: Kernel(kernel.name, call(driver.cuModuleGetFunction, module, kernel.name.encode()))
                for kernel in build.kernels
            }
        return self._kernels[file]

    def launch(
        self, kernel: Kernel, grid: Sequence[int], block: Sequence[int], *arguments: Any, shared_bytes: int = 0
    ) -> Launch:
        """A launch on the bench's stream, its arguments (arrays and NumPy scalars) packed once."""
        address, keep = pack_arguments(arguments)
        enqueue = self.kernel_call(kernel.function, (*_three(grid), *_three(block), shared_bytes), address)
        return Launch(kernel.name, enqueue, keep=keep)

    def kernel_call(self, function: Any, sizes: Sequence[int], parameters: int) -> Callable[[], Status]:
        """The prepared launch of a kernel. `sizes`: grid x, y, z, block x, y, z, shared bytes."""
        return partial(driver.cuLaunchKernel, function, *sizes, self.device.stream, parameters, 0)

    def graph_call(self, executable: Any) -> Callable[[], Status]:
        """The prepared replay of a graph."""
        return partial(driver.cuGraphLaunch, executable, self.device.stream)

    def synchronize_call(self) -> Callable[[], Status]:
        """The prepared wait for the stream. It raises CuPy's own error when the device failed."""
        return partial(cupy.cuda.runtime.streamSynchronize, int(self.device.stream))

    def library_call(self, name: str, call: Callable[[], Any], describe: Callable[[int], str]) -> Launch:
        """A library's own call as a launch: it enqueues on the bench's stream and gives back 0 or a status."""
        return Launch(name, call, describe)

    def module(self, file: str) -> ModuleType:
        """A Python file of the plan's kernels folder, imported."""
        if file not in self._modules:
            path = self.plan.kernels / file
            spec = importlib.util.spec_from_file_location(f"kernels_{path.stem}", path)
            if spec is None or spec.loader is None or not path.is_file():
                raise UsageError(f"There is no module {path}.")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            self._modules[file] = module
        return self._modules[file]

    def tool(self, name: str, version: str) -> None:
        """Record a program or library that this pass uses, once."""
        if name not in self._tools:
            self._tools[name] = version
            self.records.write("tool", name=name, version=version)

    def _keep(self, build: Build) -> None:
        """Record a build, and leave log, PTX and machine code in the folder `build` beside the records."""
        for kernel in build.kernels:
            self.records.write(
                "build",
                variant=build.source.stem,
                kernel=kernel.name,
                architecture=build.architecture,
                registers_per_thread=kernel.registers_per_thread,
                static_shared_bytes=kernel.static_shared_bytes,
                local_bytes_per_thread=kernel.local_bytes_per_thread,
                source_sha256=build.source_sha256,
                cubin_sha256=build.cubin_sha256,
                options=json.dumps(build.options),
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        stem = f"{build.source.stem}.{build.architecture}"
        (self._folder / f"{stem}.log").write_text(build.log, encoding="utf-8")
        (self._folder / f"{stem}.ptx").write_bytes(build.ptx.rstrip(b"\0"))
        (self._folder / f"{stem}.cubin").write_bytes(build.cubin)


def _three(sizes: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
