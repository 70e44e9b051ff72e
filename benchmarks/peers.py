"""What the suite's row softmax is held against: PyTorch, its compiler, Triton, cuDNN, and copies of the array.

Each peer is a `Launch` that enqueues on the bench's stream, so that all are captured and replayed alike. One
that is not installed or does not work raises; benchmarks/kernels.py then shows it as not measured.
"""

from __future__ import annotations

import importlib
import os
import statistics
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from cuda.bindings import driver

from nsight_suite.driving import graph
from nsight_suite.driving.bench import Bench
from nsight_suite.driving.calls import call
from nsight_suite.driving.launch import Launch, raise_for

Arrays = Mapping[str, Any]

# One process compiles the few kernels sooner than a pool of them starts.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")


class Peers:
    """Makes the launches of the peers, by name; what a peer told of itself stands in `notes`."""

    def __init__(self, bench: Bench, copy_source: str, compile_mode: str) -> None:
        self._bench = bench
        self._copy_source = copy_source
        self._compile_mode = compile_mode
        self._compiled: Any = None
        self._chosen: dict[tuple[int, ...], str] = {}
        self.notes: dict[str, str] = {}
        self.makers: dict[str, Callable[[Arrays], Launch]] = {
            "torch.softmax": self._torch,
            "torch.compile": self._torch_compile,
            "triton": self._triton,
            "copy kernel": self._copy_kernel,
            "copy": self._copy,
        }

    def launch(self, name: str, on: Arrays) -> Launch:
        return self.makers[name](on)

    def _tensors(self, on: Arrays) -> tuple[Any, Any, Any]:
        """PyTorch, and x and y as its tensors: the same memory."""
        torch = importlib.import_module("torch")
        self.notes["torch"] = str(torch.__version__)
        where = f"cuda:{self._bench.device.ordinal}"
        torch.cuda.set_device(self._bench.device.ordinal)
        x, y = (torch.as_tensor(on[name], device=where) for name in ("x", "y"))
        if (x.data_ptr(), y.data_ptr()) != (on["x"].data.ptr, on["y"].data.ptr):
            raise RuntimeError("PyTorch copied the arrays instead of taking them as they are")
        return torch, x, y

    def _on_stream(self, torch: Any, name: str, work: Callable[[], Any], keep: tuple[Any, ...]) -> Launch:
        stream = torch.cuda.ExternalStream(int(self._bench.device.stream), device=self._bench.device.ordinal)

        def enqueue() -> int:
            with torch.cuda.stream(stream), torch.no_grad():
                work()
            return 0

        return Launch(name, enqueue, keep=(*keep, stream))

    def _torch(self, on: Arrays) -> Launch:
        """The operator behind torch.softmax, told where to write."""
        torch, x, y = self._tensors(on)
        softmax = torch.ops.aten._softmax.out
        return self._on_stream(torch, "torch.softmax", lambda: softmax(x, 1, False, out=y), (x, y))

    def _torch_compile(self, on: Arrays) -> Launch:
        torch, x, y = self._tensors(on)
        if self._compiled is None:

            def softmax_into(x: Any, y: Any) -> None:
                y.copy_(torch.softmax(x, 1))

            mode = None if self._compile_mode == "default" else self._compile_mode
            self._compiled = torch.compile(softmax_into, dynamic=False, mode=mode)
            self.notes["torch.compile"] = f"mode {self._compile_mode}"
        return self._on_stream(torch, "torch.compile", lambda: self._compiled(x, y), (x, y))

    def _triton(self, on: Arrays) -> Launch:
        """The fastest of a few configurations, by batches of graph replays."""
        torch, x, y = self._tensors(on)
        self.notes["triton"] = str(importlib.import_module("triton").__version__)
        softmax = importlib.import_module("triton_softmax")
        rows, columns = on["x"].shape
        made = {}
        for name, kernel, grid, more, options in softmax.configurations(
            rows, columns, self._bench.multiprocessors
        ):

            def work(kernel: Any = kernel, grid: Any = grid, more: Any = more, options: Any = options) -> None:
                kernel[grid](x, y, *more, **options)

            made[name] = self._on_stream(torch, "triton", work, (x, y))
        if (rows, columns) not in self._chosen:
            times = {name: self._batch_us(launch) for name, launch in made.items()}
            self._chosen[rows, columns] = min(times, key=times.__getitem__)
            told = "; ".join(f"{name} {time:.2f}" for name, time in times.items())
            self.notes[f"triton {rows}x{columns}"] = f"{self._chosen[rows, columns]} (µs in batches: {told})"
        return made[self._chosen[rows, columns]]

    def _batch_us(self, launch: Launch, count: int = 32, rounds: int = 5) -> float:
        """Device time of a replay in a batch, in µs; the first round is the warm-up."""
        launch.checked()
        self._bench.wait()
        stream = self._bench.device.stream
        made = graph.make_graph(stream, launch.call)
        first, last = (call(driver.cuEventCreate, 0) for _ in range(2))
        replay = self._bench.graph_call(made.executable)
        found = []
        for _ in range(rounds + 1):
            call(driver.cuEventRecord, first, stream)
            for _ in range(count):
                raise_for(replay())
            call(driver.cuEventRecord, last, stream)
            self._bench.wait()
            found.append(float(call(driver.cuEventElapsedTime, first, last)) * 1e3 / count)
        for event in (first, last):
            call(driver.cuEventDestroy, event)
        made.destroy()
        return statistics.median(found[1:])

    def _copy_kernel(self, on: Arrays) -> Launch:
        quads = on["x"].size // 4
        kernel = self._bench.kernels(self._copy_source)["copy_quads"]
        return self._bench.launch(kernel, (-(-quads // 1024),), (256,), on["x"], on["y"], np.uint32(quads))

    def _copy(self, on: Arrays) -> Launch:
        """The driver's own device-to-device copy: in a graph a memcpy node."""
        source, target = on["x"], on["y"]

        def enqueue() -> Any:
            return driver.cuMemcpyDtoDAsync(
                target.data.ptr, source.data.ptr, source.nbytes, self._bench.device.stream
            )

        return Launch("copy", enqueue, keep=(source, target))
