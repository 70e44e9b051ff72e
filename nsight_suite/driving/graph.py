"""CUDA graphs: capture, instantiation, upload, and what the graph API itself says is in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuda.bindings import driver

from nsight_suite.driving.calls import call

_DUMPED = re.compile(r'^"graph_\d+_node_\d+"\s*\[.*?shape="(\w+)"\s*label="\d+\n([^\n"]*)', re.MULTILINE)
_KERNEL = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL


@dataclass(frozen=True)
class Node:
    """One node of a graph. `name` is the kernel's, or None where the API gives none."""

    kind: str
    name: str | None


@dataclass(frozen=True)
class Graph:
    """A captured graph and its executable form."""

    captured: Any
    executable: Any

    def destroy(self) -> None:
        call(driver.cuGraphExecDestroy, self.executable)
        call(driver.cuGraphDestroy, self.captured)


def capture(stream: Any, submit: Callable[[], object]) -> Any:
    """Capture what `submit` enqueues on `stream`. Only this thread's unsafe calls would spoil the capture."""
    call(driver.cuStreamBeginCapture, stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
    try:
        submit()
    finally:
        captured = call(driver.cuStreamEndCapture, stream)
    return captured


def instantiate(captured: Any) -> Any:
    return call(driver.cuGraphInstantiate, captured, 0)


def upload(executable: Any, stream: Any) -> None:
    """Bring an executable graph to the device and wait for it, so that the first replay need not."""
    call(driver.cuGraphUpload, executable, stream)
    call(driver.cuStreamSynchronize, stream)


def make_graph(stream: Any, submit: Callable[[], object]) -> Graph:
    captured = capture(stream, submit)
    executable = instantiate(captured)
    upload(executable, stream)
    return Graph(captured, executable)


def dump(captured: Any, path: Path) -> None:
    """Have the driver write the graph as DOT: a second witness of its nodes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    call(driver.cuGraphDebugDotPrint, captured, str(path).encode(), 0)


def dumped_kinds(dot: str) -> Counter[str]:
    """How many nodes of each kind a dump of the driver holds.

    A kernel is an octagon labelled with its number and name; any other node's label has its kind in its second
    line: `label="0\nMEMSET\n(0,256)\n"`.
    """
    kinds: Counter[str] = Counter()
    for shape, kind in _DUMPED.findall(dot):
        kinds["kernel" if shape == "octagon" else kind.lower()] += 1
    return kinds


def nodes(captured: Any) -> list[Node]:
    """The nodes in topological order; nodes that may run in any order keep the order of the API."""
    *_, count = driver.cuGraphGetNodes(captured, 0)
    handles = call(driver.cuGraphGetNodes, captured, count)[0] if count else []
    waiting = {int(handle): set[int]() for handle in handles}
    for before, after in _edges(captured):
        waiting[after].add(before)
    by_id = {int(handle): handle for handle in handles}
    ordered = []
    while waiting:
        ready = next(node for node, parents in waiting.items() if not parents)
        del waiting[ready]
        for parents in waiting.values():
            parents.discard(ready)
        ordered.append(_node(by_id[ready]))
    return ordered


def _edges(captured: Any) -> list[tuple[int, int]]:
    # cuda.bindings 13 adds the edges' data before the count; sources, targets and count stand where they stood.
    *_, count = driver.cuGraphGetEdges(captured, 0)
    if not count:
        return []
    sources, targets, *_ = call(driver.cuGraphGetEdges, captured, count)
    return [(int(source), int(target)) for source, target in zip(sources, targets, strict=False)][:count]


def _node(handle: Any) -> Node:
    kind = call(driver.cuGraphNodeGetType, handle)
    name = str(kind.name).removeprefix("CU_GRAPH_NODE_TYPE_").lower()
    return Node(name, _kernel_name(handle) if kind == _KERNEL else None)


def _kernel_name(handle: Any) -> str | None:
    parameters = call(driver.cuGraphKernelNodeGetParams, handle)
    if int(parameters.func):
        status, name = driver.cuFuncGetName(parameters.func)
    else:
        status, name = driver.cuKernelGetName(parameters.kern)
    return str(name.decode()) if status == 0 and name else None
