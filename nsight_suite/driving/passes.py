"""What each pass does with each shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from nsight_suite.driving import checking, ranges, tasks, timing
from nsight_suite.driving.bench import Bench
from nsight_suite.driving.checking import Loaded
from nsight_suite.driving.environment import record_copies, record_device, record_state, record_tools
from nsight_suite.driving.experiment import Experiment
from nsight_suite.driving.launch import raise_for
from nsight_suite.driving.pilot import choices
from nsight_suite.driving.workload import Workload, prepared, record_plan
from nsight_suite.errors import UsageError
from nsight_suite.protocol import SESSIONS, Shape


def run_pass(bench: Bench, experiment: Experiment) -> None:
    """Run the plan's pass at each of its shapes, and record the device, its state and the tools around it."""
    plan = bench.plan
    measure = _PASSES.get(plan.pass_name)
    if measure is None:
        raise UsageError(f"The driver knows no pass '{plan.pass_name}'.", f"It knows: {', '.join(_PASSES)}.")
    shapes = plan.shapes()
    total, done = sum(len(plan.cases_at(shape)) for shape in shapes), 0
    record_tools(bench)
    record_device(bench)
    record_state(bench, "before")
    if plan.pass_name in SESSIONS:
        record_copies(bench)
    for shape in shapes:
        bench.records.progress(done, total, f"{plan.protocol.name} {shape.name}")
        _drive(bench, experiment, shape, measure)
        done += len(plan.cases_at(shape))
    bench.records.progress(total, total, "done")
    record_state(bench, "after")


def _drive(bench: Bench, experiment: Experiment, shape: Shape, measure: Callable[[Workload], None]) -> None:
    with prepared(bench, experiment, shape) as workload:
        record_plan(workload)
        measure(workload)


def _validate(workload: Workload) -> None:
    """Every fixture, the first one last because all passes are driven on it; then the held-out one."""
    plan = workload.bench.plan
    first, *others = plan.protocol.fixtures
    loaded = _check(workload, [*others, first])
    timing.completions(workload, plan.invocations)
    _record_driven(workload, loaded, plan.invocations)
    _check(workload, [plan.protocol.held_out])


def _choose(workload: Workload) -> None:
    """Which variant of each group is fastest here, by samples that enter no other table."""
    plan = workload.bench.plan
    loaded = _check(workload, plan.protocol.fixtures[:1])
    timing.warm_up(workload, plan.warmups)
    samples = timing.completions(workload, plan.invocations)
    _record_samples(workload, samples)
    for row in choices(plan.protocol.pilot, [subject.case for subject in workload.subjects], samples):
        workload.bench.records.write("choice", **row)
    _record_driven(workload, loaded, plan.invocations)


def _time(workload: Workload) -> None:
    plan = workload.bench.plan
    loaded = _check(workload, plan.protocol.fixtures[:1])
    for subject in workload.subjects:
        if subject.graph:
            steps, first_replays = timing.graph_setups(workload, subject, plan.graph_setups)
            for step in steps:
                workload.bench.records.write("graph_setup", **asdict(step))
            _record_samples(workload, first_replays)
    timing.warm_up(workload, plan.warmups)
    empty = timing.empty_synchronisations(workload, plan.rounds)
    timing.warm_up(workload, plan.warmups)
    completions = timing.completions(workload, plan.rounds)
    batches = timing.batches(workload, plan.rounds)
    _record_samples(workload, [*empty, *completions, *batches])
    _record_driven(workload, loaded, plan.rounds)
    _check(workload, [plan.protocol.held_out])


def _nsys(workload: Workload) -> None:
    """Under nsys: the very loop of the timing pass, so that its samples say what the profiler costs."""
    plan = workload.bench.plan
    loaded = _check(workload, plan.protocol.fixtures[:1])
    timing.warm_up(workload, plan.warmups)
    samples = timing.completions(workload, plan.invocations)
    if workload.shape.timed:
        _record_samples(workload, samples)
    _record_driven(workload, loaded, plan.invocations)


def _trace(workload: Workload) -> None:
    """The instrumented build, never timed: what its tasks did, beside what the host planned for them."""
    bench, plan, experiment = workload.bench, workload.bench.plan, workload.experiment
    if experiment.tasks is None or bench.log is None:
        raise UsageError(
            f"The driver of '{plan.protocol.name}' declares no tasks.",
            "Give its Experiment `tasks`, or leave the pass `trace` out of the protocol.",
        )
    loaded = _check(workload, plan.protocol.fixtures[:1])
    for subject in workload.subjects:
        case_id = subject.case.case_id
        stages = experiment.tasks(subject.case.variant, workload.parameters, loaded.inputs)
        for position, stage in enumerate(stages):
            bench.records.write_block(
                "task_plan",
                tasks.plan_columns(stage),
                case_id=case_id,
                stage=stage.name,
                position=position,
                tiled=not isinstance(stage.tiles, int),
                after=stage.after,
            )
        for invocation in range(plan.invocations):
            bench.log.empty()
            raise_for(subject.submit())
            bench.wait()
            columns = tasks.task_columns(bench.log.read(), stages)
            bench.records.write_block("task", columns, case_id=case_id, invocation=invocation)
    _record_driven(workload, loaded, plan.invocations)


def _ncu(workload: Workload) -> None:
    """Under ncu, which replays each kernel: the host's times mean nothing and are thrown away."""
    plan = workload.bench.plan
    loaded = _check(workload, plan.protocol.fixtures[:1])
    timing.warm_up(workload, plan.warmups)
    timing.completions(workload, plan.invocations)
    _record_driven(workload, loaded, plan.invocations)


_PASSES: dict[str, Callable[[Workload], None]] = {
    "validate": _validate,
    "pilot": _choose,
    "timing": _time,
    "timing-2": _time,
    "trace": _trace,
    "nsys": _nsys,
    "ncu": _ncu,
    "ncu-warm": _ncu,
    "sanitize": _validate,
}


def _check(workload: Workload, fixtures: Sequence[str]) -> Loaded:
    """Check every case on every fixture; the last one stays in the arrays."""
    with ranges.setup():
        for fixture in fixtures:
            loaded = checking.load(workload, fixture)
            for subject in workload.subjects:
                checking.check(workload, subject, loaded)
    return loaded


def _record_driven(workload: Workload, loaded: Loaded, invocations: int) -> None:
    with ranges.setup():
        for subject in workload.subjects:
            workload.bench.records.write(
                "driven",
                case_id=subject.case.case_id,
                invocations=invocations,
                output_sha256=checking.prove(workload, subject, loaded),
            )


def _record_samples(workload: Workload, samples: Sequence[timing.Sample]) -> None:
    for sample in samples:
        workload.bench.records.write("sample", **asdict(sample))
