"""One shape made ready: its arrays, and per case the call that submits one invocation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import cupy

from nsight_suite.driving import graph, ranges
from nsight_suite.driving.bench import Bench
from nsight_suite.driving.experiment import Experiment
from nsight_suite.driving.graph import Graph
from nsight_suite.driving.launch import Launch, Status, submission_of
from nsight_suite.errors import UsageError
from nsight_suite.protocol import Case, Shape


@dataclass(frozen=True)
class Subject:
    """One case made ready. `submit` enqueues one invocation; `enqueue` the same work by ordinary launches.

    `launches` own the packed arguments that both point to.
    """

    case: Case
    submit: Callable[[], Status]
    enqueue: Callable[[], Status]
    launches: Sequence[Launch]
    graph: Graph | None


@dataclass(frozen=True)
class Workload:
    """Every case of one shape on the same arrays, whose pointers never change."""

    bench: Bench
    experiment: Experiment
    shape: Shape
    arrays: dict[str, Any]
    subjects: tuple[Subject, ...]

    @property
    def output(self) -> Any:
        return self.arrays[self.experiment.output]


@contextmanager
def prepared(bench: Bench, experiment: Experiment, shape: Shape) -> Iterator[Workload]:
    """Allocate, compile, run each variant once with every call checked, and capture the graphs.

    All of it is released when the block ends.
    """
    with ranges.setup():
        arrays = _allocate(bench, experiment, shape)
        cases = bench.plan.cases_at(shape)
        launches = {
            variant: _tried(bench, experiment.launches(bench, variant, shape.parameters, arrays))
            for variant in dict.fromkeys(case.variant for case in cases)
        }
        subjects = tuple(_subject(bench, case, launches[case.variant]) for case in cases)
    try:
        yield Workload(bench, experiment, shape, arrays, subjects)
    finally:
        for subject in subjects:
            if subject.graph:
                subject.graph.destroy()
        arrays.clear()


def record_nodes(workload: Workload) -> None:
    """What the graph API says is in each case's graph, as rows of `graph_node`."""
    for subject in workload.subjects:
        if subject.graph:
            for ordinal, node in enumerate(graph.nodes(subject.graph.captured)):
                workload.bench.records.write(
                    "graph_node", case_id=subject.case.case_id, ordinal=ordinal, kind=node.kind, name=node.name
                )


def _allocate(bench: Bench, experiment: Experiment, shape: Shape) -> dict[str, Any]:
    cupy.get_default_memory_pool().free_all_blocks()  # those of the shape before
    with bench.device.cupy_stream:
        arrays = {
            name: cupy.zeros(size, dtype) for name, (size, dtype) in experiment.arrays(shape.parameters).items()
        }
    bench.wait()
    return arrays


def _tried(bench: Bench, launches: Sequence[Launch]) -> Sequence[Launch]:
    """The launches, after each was made once with its status looked at."""
    for launch in launches:
        launch.checked()
    bench.wait()
    return launches


def _subject(bench: Bench, case: Case, launches: Sequence[Launch]) -> Subject:
    enqueue = submission_of(launches)
    if case.submission == "stream":
        return Subject(case, enqueue, enqueue, launches, None)
    if case.submission == "graph":
        made = graph.make_graph(bench.device.stream, enqueue)
        return Subject(case, bench.graph_call(made.executable), enqueue, launches, made)
    raise UsageError(
        f"The driver knows no submission '{case.submission}'.",
        "It knows 'stream' and 'graph': see protocol.toml.",
    )
