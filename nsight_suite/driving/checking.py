"""Putting fixtures in, and holding each case's output against the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import cupy
from cuda.bindings import driver

from nsight_suite.driving import validation
from nsight_suite.driving.calls import call
from nsight_suite.driving.experiment import HostArrays
from nsight_suite.driving.launch import Status, raise_for
from nsight_suite.driving.validation import Check
from nsight_suite.driving.workload import Subject, Workload, inputs_of, put
from nsight_suite.errors import SuiteError

# NaN in every floating format and no plausible integer: an element that is never written is found.
_POISON = 0xFF


class CheckFailed(SuiteError):
    """A check of an output did not hold."""


@dataclass(frozen=True)
class Loaded:
    """A fixture that stands in the input arrays.

    `references` are the right arrays on the device, by name; `firsts` what the first variant of each group of
    equal variants wrote, by variant and name: the others are held against it.
    """

    fixture: str
    inputs: HostArrays
    references: Mapping[str, Any]
    firsts: dict[str, dict[str, Any]] = field(default_factory=dict)


def load(workload: Workload, fixture: str) -> Loaded:
    """Put a fixture into the input arrays and compute its references."""
    bench, experiment, parameters = workload.bench, workload.experiment, workload.parameters
    inputs = inputs_of(bench, experiment, workload.shape, parameters, fixture)
    put(bench, inputs, workload.arrays)
    with bench.device.cupy_stream:
        right = experiment.references_by_array(parameters, inputs)
        references = {name: cupy.asarray(right[name]) for name in experiment.checks_by_array()}
    bench.wait()
    return Loaded(fixture, inputs, references)


def check(workload: Workload, subject: Subject, loaded: Loaded) -> None:
    """Run a case on poisoned arrays, check what it wrote and record every check. Raises CheckFailed."""
    plan, case = workload.bench.plan, subject.case
    _run_poisoned(workload, loaded, subject.submit)
    with workload.bench.device.cupy_stream:
        made = [*_by_reference(workload, loaded), *_by_equals(workload, subject, loaded)]
        if subject.graph:
            by_graph = _copies(workload)
            _run_poisoned(workload, loaded, subject.enqueue)
            made += _held_against(workload, "stream", by_graph)
    for array, found in made:
        workload.bench.records.write(
            "validation",
            case_id=case.case_id,
            fixture=loaded.fixture,
            held_out=loaded.fixture == plan.protocol.held_out,
            array=array,
            check=found.name,
            worst=found.worst,
            limit=found.limit,
            passed=found.passed,
            elements=found.elements,
        )
    if failed := [(array, found) for array, found in made if not found.passed]:
        told = "; ".join(
            f"{found.name} of {array} is {found.worst:g}, at most {found.limit:g} allowed"
            for array, found in failed
        )
        raise CheckFailed(
            f"{case.case_id} is wrong on the fixture '{loaded.fixture}': {told}.",
            "A variant whose output is wrong is not measured: mend it, or leave it out with --variants.",
        )


def _by_reference(workload: Workload, loaded: Loaded) -> Iterator[tuple[str, Check]]:
    tolerances = workload.bench.plan.protocol.tolerances
    for name, checkers in workload.experiment.checks_by_array().items():
        for make in checkers:
            yield name, make(workload.arrays[name], loaded.references[name], tolerances)


def _by_equals(workload: Workload, subject: Subject, loaded: Loaded) -> Iterator[tuple[str, Check]]:
    """Against the first variant that must give the same bits; the first itself is kept to be compared with."""
    variants = list(dict.fromkeys(other.case.variant for other in workload.subjects))
    leader = workload.experiment.leader_of(subject.case.variant, variants)
    if leader is not None:
        yield from _held_against(workload, leader, loaded.firsts[leader])
    elif subject.case.variant not in loaded.firsts and any(
        workload.experiment.leader_of(other, variants) == subject.case.variant for other in variants
    ):
        loaded.firsts[subject.case.variant] = _copies(workload)


def _copies(workload: Workload) -> dict[str, Any]:
    """The checked arrays as they are now."""
    copies = {}
    for name in workload.experiment.checks_by_array():
        array = workload.arrays[name]
        copies[name] = cupy.empty_like(array)
        copies[name].data.copy_from_device_async(array.data, array.nbytes)
    return copies


def _held_against(workload: Workload, whose: str, others: Mapping[str, Any]) -> Iterator[tuple[str, Check]]:
    for name, other in others.items():
        yield name, validation.same_as(whose, workload.arrays[name], other)


def prove(workload: Workload, subject: Subject, loaded: Loaded) -> str:
    """SHA-256 of what the very submission that was measured writes over poisoned arrays, in this process."""
    _run_poisoned(workload, loaded, subject.submit)
    with workload.bench.device.cupy_stream:
        return validation.sha256(workload.output)


def _run_poisoned(workload: Workload, loaded: Loaded, submit: Callable[[], Status]) -> None:
    stream = workload.bench.device.stream
    for name, array in workload.arrays.items():
        if name not in loaded.inputs:
            call(driver.cuMemsetD8Async, array.data.ptr, _POISON, array.nbytes, stream)
    raise_for(submit())
    workload.bench.wait()
