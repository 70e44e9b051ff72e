"""What may not be concluded is refused here, by code.

Quantities carry how they were had; `run.measured` makes them. Operations on them return numbers, or raise
ForbiddenInference with the code of the rule, why, and what to do instead. The reconciliation computes with the
same operations. See docs/inference.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from nsight_suite.errors import ForbiddenInference
from nsight_suite.reconciliation.findings import AppliedRule
from nsight_suite.reconciliation.witnesses import Evidence


@dataclass(frozen=True)
class Measured:
    """A number with its unit and its history.

    unit    ns, byte, block, %, or 1
    method  host-clock, host-clock-under-nsys, cuda-events, nsys-device, ncu-device, ncu-counter, dram-counter,
            declared, occupancy-limit, quantile-of-repeats, early-start-count
    caches  flushed, warm, or empty when it does not matter
    scope   invocation, kernel, kernel-sum, whole-graph, batch, device
    traits  in what its case can differ from another: variant, submission, shape, kernels, declared bytes
    """

    value: float
    unit: str
    method: str
    caches: str = ""
    scope: str = "invocation"
    case_id: str = ""
    device_uuid: str = ""
    traits: Mapping[str, object] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Rule:
    """What must not be said, why, and whether a run holds evidence that it concerns."""

    code: str
    sentence: str
    way_out: str
    touches: Callable[[Evidence], bool]


def _has(query: str, **values: object) -> Callable[[Evidence], bool]:
    return lambda evidence: any(
        all(row.get(column) == value for column, value in values.items())
        for row in evidence.rows.get(query, ())
    )


RULES = {
    rule.code: rule
    for rule in (
        Rule(
            "flushed-is-not-warm",
            "Counters collected with flushed caches say nothing about warm bandwidth.",
            "Use the bytes of the pass ncu-warm.",
            _has("dram_bytes", cache_control="all"),
        ),
        Rule(
            "writes-left-in-cache",
            "One kernel's DRAM writes omit lines that are written back later.",
            "Use the whole-graph measurement with warm caches.",
            _has("dram_bytes", scope="kernel-sum"),
        ),
        Rule(
            "no-node-times",
            "A graph traced or measured as a whole gives no times of its nodes.",
            "Trace node by node: nsys profile --cuda-graph-trace=node.",
            _has("dram_bytes", scope="whole-graph"),
        ),
        Rule(
            "event-intervals-hold-gaps",
            "An interval between CUDA events may contain host gaps; it is no kernel duration.",
            "Use the kernel durations of the pass nsys.",
            _has("samples", quantity="batch_event_interval"),
        ),
        Rule(
            "completion-is-no-kernel-time",
            "Host completion holds launch and synchronisation; it is no kernel duration.",
            "Use the kernel durations of the pass nsys.",
            _has("samples", quantity="completion"),
        ),
        Rule(
            "times-have-no-single-cause",
            "Fusion changes kernel count and intermediate storage together; times alone attribute to neither.",
            "Compare cases that differ in one thing only, such as the submission, or add a control variant.",
            _has("samples", quantity="completion", **{"pass": "timing"}),
        ),
        Rule(
            "early-start-is-no-speedup",
            "An earlier start of consumers is not a speed-up.",
            "Compare unprofiled completions.",
            lambda evidence: bool(evidence.rows.get("early_starts")),
        ),
        Rule(
            "limits-are-not-utilisation",
            "Occupancy limits are capacities, not utilisation.",
            "Use sm__warps_active for what was resident.",
            lambda evidence: bool(evidence.rows.get("dram_bytes")),
        ),
        Rule(
            "logical-is-not-dram",
            "Logical bytes are not DRAM bytes.",
            "Use the DRAM counters, or call it a logical rate.",
            lambda evidence: any(row["logical_bytes"] is not None for row in evidence.rows.get("limits", ())),
        ),
        Rule(
            "quantiles-are-not-confidence",
            "Quantiles of repeats are not confidence intervals.",
            "Compare by round: the query paired_speedup gives the spread of the ratios.",
            _has("samples", quantity="completion", **{"pass": "timing"}),
        ),
        Rule(
            "other-device",
            "One device's result is not another's.",
            "Measure both on the same GPU.",
            lambda evidence: bool(evidence.rows.get("device")),
        ),
        Rule(
            "ncu-time-is-its-own",
            "Durations under ncu are never compared with other clocks: it serialises, replays and flushes.",
            "Use the kernel durations of the pass nsys.",
            lambda evidence: bool(evidence.rows.get("dram_bytes")),
        ),
        Rule(
            "profiled-is-no-latency",
            "A duration from an instrumented run never enters a latency table.",
            "Use the pass timing.",
            _has("samples", quantity="completion", **{"pass": "nsys"}),
        ),
    )
}


def applied_rules(evidence: Evidence) -> tuple[AppliedRule, ...]:
    """Every rule, and whether this run holds evidence that it concerns."""
    return tuple(AppliedRule(rule.code, rule.sentence, rule.touches(evidence)) for rule in RULES.values())


def completion(value_ns: float, case_id: str = "", *, under: str = "", device_uuid: str = "") -> Measured:
    """A host completion, unprofiled or `under` a profiler."""
    method = f"host-clock-under-{under}" if under else "host-clock"
    return Measured(value_ns, "ns", method, case_id=case_id, device_uuid=device_uuid)


def latency(measured: Measured) -> float:
    """The value as a latency fit to publish, in ns: a median or a quantile of unprofiled completions."""
    if measured.method not in ("host-clock", "quantile-of-repeats"):
        _refuse("profiled-is-no-latency", f"{_name(measured)} was had by {measured.method}.")
    return measured.value


def difference(one: Measured, other: Measured) -> float:
    """one − other, in their common unit."""
    _comparable(one, other)
    return one.value - other.value


def ratio(one: Measured, other: Measured) -> float:
    """one / other; `other` must not be zero."""
    _comparable(one, other)
    return one.value / other.value


def speedup(baseline: Measured, case: Measured) -> float:
    """How many times faster the case is, from unprofiled completions."""
    for measured in (baseline, case):
        if measured.method == "early-start-count":
            _refuse("early-start-is-no-speedup", f"{_name(measured)} counts starts.")
        if measured.method == "quantile-of-repeats":
            _refuse("quantiles-are-not-confidence", f"{_name(measured)} bounds no speed-up.")
        latency(measured)
    return ratio(baseline, case)


def profiler_cost(profiled: Measured, unprofiled: Measured) -> tuple[float, float]:
    """(extra ns, factor) of a profiler, the only use of a profiled completion."""
    latency(unprofiled)
    return difference(profiled, unprofiled), ratio(profiled, unprofiled)


def attribute(baseline: Measured, case: Measured) -> str:
    """What the difference between two completions is due to: the one trait in which their cases differ."""
    for measured in (baseline, case):
        latency(measured)
    changes = [name for name in baseline.traits if baseline.traits[name] != case.traits.get(name)]
    if len(changes) != 1:
        _refuse(
            "times-have-no-single-cause", f"The cases differ in {' and '.join(changes) or 'nothing known'}."
        )
    return changes[0]


def bandwidth(moved: Measured, time: Measured) -> float:
    """DRAM bytes per second of a warm loop."""
    if moved.method == "declared":
        _refuse("logical-is-not-dram", f"{_name(moved)} was declared, not measured.")
    if moved.caches == "flushed":
        _refuse("flushed-is-not-warm", f"{_name(moved)} was counted with flushed caches.")
    return moved.value / _device_seconds(time, moved)


def logical_rate(declared: Measured, time: Measured) -> float:
    """Declared bytes per second of device time: how fast a copy would have to be. No bandwidth of DRAM."""
    return declared.value / _device_seconds(time, declared)


def total_writes(measured: Measured) -> float:
    """All bytes that an invocation wrote to DRAM."""
    if measured.scope in ("kernel", "kernel-sum"):
        _refuse("writes-left-in-cache", f"{_name(measured)} was counted kernel by kernel.")
    return measured.value


def kernel_duration(measured: Measured) -> float:
    """Duration of a kernel, graph node or other device work in ns, as nsys timed it."""
    if measured.scope == "whole-graph":
        _refuse("no-node-times", f"{_name(measured)} covers a whole replay.")
    if measured.method == "cuda-events":
        _refuse("event-intervals-hold-gaps", f"{_name(measured)} lies between two events.")
    if measured.method == "ncu-device":
        _refuse("ncu-time-is-its-own", f"{_name(measured)} was had under ncu.")
    if measured.method.startswith("host-clock"):
        _refuse("completion-is-no-kernel-time", f"{_name(measured)} is host time.")
    return measured.value


def utilisation(measured: Measured) -> float:
    """Share of a capacity that was in use, from 0 to 1."""
    if measured.method == "occupancy-limit":
        _refuse("limits-are-not-utilisation", f"{_name(measured)} is what could be resident.")
    if measured.unit != "%":
        raise ValueError(f"{measured.unit} is no share of anything")
    return measured.value / 100


def _comparable(one: Measured, other: Measured) -> None:
    if one.unit != other.unit:
        raise ValueError(f"{one.unit} and {other.unit} are different units")
    if one.device_uuid and other.device_uuid and one.device_uuid != other.device_uuid:
        _refuse("other-device", f"{_name(one)} and {_name(other)} are of two devices.")
    if (one.method == "ncu-device") != (other.method == "ncu-device"):
        _refuse("ncu-time-is-its-own", f"{_name(one)} and {_name(other)} are of two clocks.")


def _device_seconds(time: Measured, moved: Measured) -> float:
    if time.device_uuid and moved.device_uuid and time.device_uuid != moved.device_uuid:
        _refuse("other-device", f"{_name(time)} and {_name(moved)} are of two devices.")
    return kernel_duration(time) / 1e9


def _name(measured: Measured) -> str:
    return f"{measured.value:g} {measured.unit}" + (f" of {measured.case_id}" if measured.case_id else "")


def _refuse(code: str, because: str) -> NoReturn:
    rule = RULES[code]
    raise ForbiddenInference(code, f"{rule.sentence} {because}", rule.way_out)
