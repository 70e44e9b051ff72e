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
import numpy as np
from cuda.bindings import driver

from nsight_suite.driving.build import OPTIONS, Build, compile_source, write_build
from nsight_suite.driving.calls import call
from nsight_suite.driving.device import Device
from nsight_suite.driving.disassembly import disassemble
from nsight_suite.driving.launch import Launch, Status, pack_arguments, raise_for
from nsight_suite.driving.records import Records
from nsight_suite.driving.tasks import TRACED, TaskLog
from nsight_suite.errors import UsageError
from nsight_suite.plan import KEEPS_BUILDS, Plan

_SHARED_LIMIT = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


@dataclass(frozen=True)
class Kernel:
    """A loaded kernel, the name of its source and the hash of its machine code."""

    name: str
    function: Any
    source: str
    cubin_sha256: str


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
        self.folder = folder
        self._kernels: dict[str, dict[str, Kernel]] = {}
        self._modules: dict[str, ModuleType] = {}
        self._tools: dict[str, str] = {}
        self._asked: dict[tuple[str, str, int, int], int] = {}
        # The task log of the pass `trace`; other passes have none.
        self.log = TaskLog(device.cupy_stream) if plan.pass_name == "trace" else None

    def wait(self) -> None:
        """Wait for the stream. Raises CudaError for whatever went wrong on it."""
        raise_for(self.synchronize())

    @property
    def multiprocessors(self) -> int:
        return self.device.attribute("MULTIPROCESSOR_COUNT")

    @property
    def shared_bytes_per_multiprocessor(self) -> int:
        return self.device.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR")

    @property
    def shared_bytes_per_block(self) -> int:
        """The most that a block may ask for; `launch` asks for more than 48 KiB where it must."""
        return self.device.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")

    @property
    def task_log(self) -> np.uint64:
        """The argument of kernels that include trace.cuh: the log's address, or a null pointer."""
        return self.log.argument if self.log else np.uint64(0)

    def kernels(self, file: str) -> Mapping[str, Kernel]:
        """The kernels of a .cu file in the plan's kernels folder, by name; compiled and recorded once."""
        if file not in self._kernels:
            options = (*OPTIONS, TRACED) if self.log else OPTIONS
            build = compile_source(self.plan.kernels / file, self.device.architecture, options)
            self._keep(build)
            module = call(driver.cuModuleLoadData, build.cubin)
            self._kernels[file] = {
                kernel.name: Kernel(
                    kernel.name,
                    call(driver.cuModuleGetFunction, module, kernel.name.encode()),
                    file,
                    build.cubin_sha256,
                )
                for kernel in build.kernels
            }
        return self._kernels[file]

    def launch(
        self,
        kernel: Kernel,
        grid: Sequence[int],
        block: Sequence[int],
        *arguments: Any,
        shared_bytes: int = 0,
        cooperative: bool = False,
    ) -> Launch:
        """A launch on the bench's stream, its arguments (arrays and NumPy scalars) packed once.

        `shared_bytes` is dynamic shared memory per block. `cooperative`: all blocks are resident together, or
        the launch is refused.
        """
        address, keep = pack_arguments(arguments)
        sizes = (*_three(grid), *_three(block), shared_bytes)
        _allow_shared(kernel, shared_bytes)
        make = self.cooperative_call if cooperative else self.kernel_call
        columns = (*(f"{kind}_{axis}" for kind in ("grid", "block") for axis in "xyz"), "dynamic_shared_bytes")
        planned = {
            "source": kernel.source,
            "cubin_sha256": kernel.cubin_sha256,
            **dict(zip(columns, sizes, strict=True)),
            "cooperative": cooperative,
        }
        return Launch(
            kernel.name, make(kernel.function, sizes, address), kind="kernel", planned=planned, keep=keep
        )

    def memset(self, array: Any, byte: int = 0) -> Launch:
        """A fill of a whole array on the bench's stream: in a graph a node of its own."""
        enqueue = partial(driver.cuMemsetD8Async, array.data.ptr, byte, array.nbytes, self.device.stream)
        return Launch("memset", enqueue, kind="memset", planned={"bytes": array.nbytes}, keep=(array,))

    def active_blocks(self, kernel: Kernel, block: Sequence[int], shared_bytes: int = 0) -> int:
        """How many blocks of this launch shape fit on a multiprocessor at a time, by the occupancy API.

        A capacity limit, recorded as evidence; it says nothing of how many are resident in fact.
        """
        threads = int(np.prod(block))
        asked = (kernel.cubin_sha256, kernel.name, threads, shared_bytes)
        if asked not in self._asked:
            _allow_shared(kernel, shared_bytes)
            ask = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor
            self._asked[asked] = int(call(ask, kernel.function, threads, shared_bytes))
            self.records.write(
                "occupancy",
                kernel=kernel.name,
                cubin_sha256=kernel.cubin_sha256,
                block_threads=threads,
                dynamic_shared_bytes=shared_bytes,
                active_blocks=self._asked[asked],
                multiprocessors=self.multiprocessors,
            )
        return self._asked[asked]

    def kernel_call(self, function: Any, sizes: Sequence[int], parameters: int) -> Callable[[], Status]:
        """The prepared launch of a kernel. `sizes`: grid x, y, z, block x, y, z, shared bytes."""
        return partial(driver.cuLaunchKernel, function, *sizes, self.device.stream, parameters, 0)

    def cooperative_call(self, function: Any, sizes: Sequence[int], parameters: int) -> Callable[[], Status]:
        """The same for a launch whose blocks must all be resident together."""
        return partial(driver.cuLaunchCooperativeKernel, function, *sizes, self.device.stream, parameters)

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
        write_build(build, self.folder)
        if self.plan.pass_name in KEEPS_BUILDS and (reason := disassemble(build, self.folder)):
            self.records.write("finding", code="no-disassembly", subject=build.source.name, reason=reason)


def _allow_shared(kernel: Kernel, shared_bytes: int) -> None:
    """More dynamic shared memory than 48 KiB must be asked for."""
    if shared_bytes > 48 << 10:
        call(driver.cuFuncSetAttribute, kernel.function, _SHARED_LIMIT, shared_bytes)


def _three(sizes: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
