"""One shape made ready: its arrays, and per case the call that submits one invocation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import cupy

from nsight_suite.driving import graph, ranges
from nsight_suite.driving.bench import Bench
from nsight_suite.driving.experiment import Experiment, HostArrays, Parameters
from nsight_suite.driving.graph import Graph
from nsight_suite.driving.launch import Launch, Status, submission_of
from nsight_suite.driving.records import Records
from nsight_suite.driving.validation import generator
from nsight_suite.errors import UsageError
from nsight_suite.plan import KEEPS_BUILDS
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
    parameters: Parameters
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
        parameters = {**shape.parameters, "multiprocessors": bench.multiprocessors}
        arrays = _allocate(bench, experiment, parameters)
        cases = bench.plan.cases_at(shape)
        launches = {
            variant: experiment.launches(bench, variant, parameters, arrays)
            for variant in dict.fromkeys(case.variant for case in cases)
        }
        _fill(bench, experiment, shape, parameters, arrays)
        for prepared_launches in launches.values():
            _try(bench, prepared_launches)
        subjects = tuple(_subject(bench, case, launches[case.variant]) for case in cases)
    try:
        yield Workload(bench, experiment, shape, parameters, arrays, subjects)
    finally:
        for subject in subjects:
            if subject.graph:
                subject.graph.destroy()
        arrays.clear()


def record_plan(workload: Workload) -> None:
    """The device work of each case as it was prepared, and what its graph holds by two witnesses."""
    for subject in workload.subjects:
        _record_launches(workload.bench.records, subject)
        if subject.graph:
            _record_nodes(workload.bench, subject.case.case_id, subject.graph)


def _record_launches(records: Records, subject: Subject) -> None:
    for ordinal, launch in enumerate(subject.launches):
        records.write(
            "planned_launch",
            case_id=subject.case.case_id,
            ordinal=ordinal,
            kind=launch.kind,
            name=launch.name,
            **launch.planned,
        )


def _record_nodes(bench: Bench, case_id: str, made: Graph) -> None:
    for ordinal, node in enumerate(graph.nodes(made.captured)):
        bench.records.write("graph_node", case_id=case_id, ordinal=ordinal, kind=node.kind, name=node.name)
    if bench.plan.pass_name in KEEPS_BUILDS:
        path = bench.folder / f"{case_id.replace(':', '-')}.dot"
        graph.dump(made.captured, path)
        for kind, nodes in sorted(graph.dumped_kinds(path.read_text(encoding="utf-8")).items()):
            bench.records.write("graph_dot", case_id=case_id, kind=kind, nodes=nodes)


def _allocate(bench: Bench, experiment: Experiment, parameters: Parameters) -> dict[str, Any]:
    cupy.get_default_memory_pool().free_all_blocks()  # those of the shape before
    with bench.device.cupy_stream:
        arrays = {
            name: cupy.zeros(size, dtype) for name, (size, dtype) in experiment.arrays(parameters).items()
        }
    bench.wait()
    return arrays


def _fill(
    bench: Bench, experiment: Experiment, shape: Shape, parameters: Parameters, arrays: Mapping[str, Any]
) -> None:
    """A fixture into the input arrays: a layout of zeros would let kernels read where nothing is."""
    fixture = bench.plan.protocol.fixtures[0]
    put(bench, inputs_of(bench, experiment, shape, parameters, fixture), arrays)
    bench.wait()


def inputs_of(
    bench: Bench, experiment: Experiment, shape: Shape, parameters: Parameters, fixture: str
) -> HostArrays:
    """The input arrays of a fixture at a shape: the same whenever they are asked for."""
    return experiment.inputs(fixture, parameters, generator(bench.plan.seed, fixture, shape.name))


def put(bench: Bench, inputs: HostArrays, arrays: Mapping[str, Any]) -> None:
    """Copy input arrays to the device. Raises ValueError for one that is not as `arrays` declares it."""
    for name, values in inputs.items():
        array = arrays[name]
        if (values.shape, values.dtype) != (array.shape, array.dtype):
            raise ValueError(f"input '{name}' does not have the declared shape and type")
        array.set(values, stream=bench.device.cupy_stream)


def _try(bench: Bench, launches: Sequence[Launch]) -> None:
    """Make each launch once with its status looked at."""
    for launch in launches:
        launch.checked()
    bench.wait()


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
