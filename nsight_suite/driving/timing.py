"""The measurements: what is timed, in which order, between which two looks at the clock.

Nothing is allocated, copied, checked or written inside a timed region. All durations are in ns by
`time.perf_counter_ns`, except the event interval, which is CUDA's own.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from cuda.bindings import driver

from nsight_suite.driving import graph, ranges
from nsight_suite.driving.calls import call
from nsight_suite.driving.launch import raise_for
from nsight_suite.driving.order import shuffled_rounds
from nsight_suite.driving.workload import Subject, Workload


@dataclass(frozen=True)
class Sample:
    """One row of the table `sample`, less its pass."""

    case_id: str
    quantity: str
    round: int
    position: int
    invocations: int
    duration_ns: int


@dataclass(frozen=True)
class SetupStep:
    """One row of the table `graph_setup`, less its pass."""

    case_id: str
    step: str
    repeat: int
    duration_ns: int


def warm_up(workload: Workload, times: int) -> None:
    """Submit and wait, so that what comes next finds everything loaded and the clocks up."""
    with ranges.setup():
        for subject in workload.subjects:
            for _ in range(times):
                raise_for(subject.submit())
                workload.bench.wait()


def completions(workload: Workload, rounds: int) -> list[Sample]:
    """Host completion of one invocation, from just before submission to the return of stream synchronisation.

    Each round runs every case once, in shuffled order, each inside its NVTX range; the range's own cost lies
    outside the two looks at the clock.
    """
    subjects, synchronize, plan = workload.subjects, workload.bench.synchronize, workload.bench.plan
    orders = shuffled_rounds(len(subjects), rounds, plan.seed, plan.shuffle_of(workload.shape))
    submits = [subject.submit for subject in subjects]
    entered = [ranges.invocations(subject.case.case_id, rounds) for subject in subjects]
    samples = []
    with _quiet():
        for number, order in enumerate(orders):
            for position, index in enumerate(order):
                submit = submits[index]
                with entered[index][number]:
                    start = perf_counter_ns()
                    submitted = submit()
                    finished = synchronize()
                    stop = perf_counter_ns()
                raise_for(submitted)
                raise_for(finished)
                case_id = subjects[index].case.case_id
                samples.append(Sample(case_id, "completion", number, position, 1, stop - start))
    return samples


def empty_synchronisations(workload: Workload, rounds: int) -> list[Sample]:
    """The same clock around a bare synchronisation of an idle stream, per case; never subtracted."""
    synchronize = workload.bench.synchronize
    samples = []
    with _quiet():
        for subject in workload.subjects:
            for number in range(rounds):
                start = perf_counter_ns()
                finished = synchronize()
                stop = perf_counter_ns()
                raise_for(finished)
                samples.append(Sample(subject.case.case_id, "empty_sync", number, 0, 1, stop - start))
    return samples


def batches(workload: Workload, rounds: int) -> list[Sample]:
    """Many invocations in a row, bracketed by CUDA events.

    batch_enqueue: the host's time to submit them; batch_completion: until the stream is synchronised;
    batch_event_interval: between the events on the device, waiting for the host included.
    """
    subjects, synchronize, stream = workload.subjects, workload.bench.synchronize, workload.bench.device.stream
    plan = workload.bench.plan
    orders = shuffled_rounds(len(subjects), rounds, plan.seed, f"{plan.shuffle_of(workload.shape)}:batch")
    count = workload.shape.batch
    samples = []
    with _events() as (first, last), _quiet():
        for number, order in enumerate(orders):
            for position, index in enumerate(order):
                submit = subjects[index].submit
                begun = driver.cuEventRecord(first, stream)
                start = perf_counter_ns()
                for _ in range(count):
                    submitted = submit()
                enqueued = perf_counter_ns()
                ended = driver.cuEventRecord(last, stream)
                finished = synchronize()
                stop = perf_counter_ns()
                for outcome in (begun, submitted, ended, finished):
                    raise_for(outcome)
                interval_ns = round(call(driver.cuEventElapsedTime, first, last) * 1e6)
                case_id = subjects[index].case.case_id
                samples += [
                    Sample(case_id, "batch_enqueue", number, position, count, enqueued - start),
                    Sample(case_id, "batch_completion", number, position, count, stop - start),
                    Sample(case_id, "batch_event_interval", number, position, count, interval_ns),
                ]
    return samples


def graph_setups(workload: Workload, subject: Subject, repeats: int) -> tuple[list[SetupStep], list[Sample]]:
    """Make the case's graph anew `repeats` times: capture, instantiation, upload, first replay, each apart."""
    stream, synchronize = workload.bench.device.stream, workload.bench.synchronize
    case_id = subject.case.case_id
    steps, first_replays = [], []
    with ranges.setup(), _quiet():
        for repeat in range(repeats):
            start = perf_counter_ns()
            captured = graph.capture(stream, subject.enqueue)
            captured_at = perf_counter_ns()
            executable = graph.instantiate(captured)
            instantiated_at = perf_counter_ns()
            graph.upload(executable, stream)
            uploaded_at = perf_counter_ns()
            replay = workload.bench.graph_call(executable)
            replay_at = perf_counter_ns()
            submitted = replay()
            finished = synchronize()
            stop = perf_counter_ns()
            raise_for(submitted)
            raise_for(finished)
            graph.Graph(captured, executable).destroy()
            steps += [
                SetupStep(case_id, "capture", repeat, captured_at - start),
                SetupStep(case_id, "instantiate", repeat, instantiated_at - captured_at),
                SetupStep(case_id, "upload", repeat, uploaded_at - instantiated_at),
            ]
            first_replays.append(Sample(case_id, "first_replay", repeat, 0, 1, stop - replay_at))
    return steps, first_replays


@contextmanager
def _quiet() -> Iterator[None]:
    """No garbage collection while the clock runs."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _events() -> Iterator[tuple[Any, Any]]:
    events = [call(driver.cuEventCreate, 0) for _ in range(2)]
    try:
        yield events[0], events[1]
    finally:
        for event in events:
            call(driver.cuEventDestroy, event)
