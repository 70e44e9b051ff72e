"""Putting fixtures in, and holding each case's output against the reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cupy
from cuda.bindings import driver

from nsight_suite.driving import validation
from nsight_suite.driving.calls import call
from nsight_suite.driving.launch import Status, raise_for
from nsight_suite.driving.workload import Subject, Workload
from nsight_suite.errors import SuiteError

# NaN in every floating format and no plausible integer: an element that is never written is found.
_POISON = 0xFF


class CheckFailed(SuiteError):
    """A check of an output did not hold."""


@dataclass(frozen=True)
class Loaded:
    """A fixture that stands in the input arrays, with its reference on the device."""

    fixture: str
    inputs: frozenset[str]
    reference: Any


def load(workload: Workload, fixture: str) -> Loaded:
    """Put a fixture into the input arrays and compute its reference."""
    bench, parameters = workload.bench, workload.shape.parameters
    random = validation.generator(bench.plan.seed, fixture, workload.shape.name)
    inputs = workload.experiment.inputs(fixture, parameters, random)
    for name, values in inputs.items():
        array = workload.arrays[name]
        if (values.shape, values.dtype) != (array.shape, array.dtype):
            raise ValueError(f"fixture {fixture}: '{name}' does not have the declared shape and type")
        array.set(values, stream=bench.device.cupy_stream)
    with bench.device.cupy_stream:
        reference = cupy.asarray(workload.experiment.reference(parameters, inputs))
    bench.wait()
    return Loaded(fixture, frozenset(inputs), reference)


def check(workload: Workload, subject: Subject, loaded: Loaded) -> None:
    """Run a case on poisoned arrays, check its output and record every check. Raises CheckFailed."""
    plan, case = workload.bench.plan, subject.case
    _run_poisoned(workload, loaded, subject.submit)
    with workload.bench.device.cupy_stream:
        checks = [
            make(workload.output, loaded.reference, plan.protocol.tolerances)
            for make in workload.experiment.checks
        ]
        if subject.graph:
            by_graph = cupy.empty_like(workload.output)
            by_graph.data.copy_from_device_async(workload.output.data, workload.output.nbytes)
            _run_poisoned(workload, loaded, subject.enqueue)
            checks.append(validation.same_as_stream(by_graph, workload.output))
    for made in checks:
        workload.bench.records.write(
            "validation",
            case_id=case.case_id,
            fixture=loaded.fixture,
            held_out=loaded.fixture == plan.protocol.held_out,
            check=made.name,
            worst=made.worst,
            limit=made.limit,
            passed=made.passed,
            elements=made.elements,
        )
    if failed := [made for made in checks if not made.passed]:
        told = "; ".join(f"{made.name} is {made.worst:g}, at most {made.limit:g} allowed" for made in failed)
        raise CheckFailed(
            f"{case.case_id} is wrong on the fixture '{loaded.fixture}': {told}.",
            "A variant whose output is wrong is not measured: mend it, or leave it out with --variants.",
        )


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
