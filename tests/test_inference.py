"""What may not be concluded is refused, with the code of the rule and what to do instead."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nsight_suite.errors import ForbiddenInference
from nsight_suite.reconciliation import inference, reconcile_run
from nsight_suite.reconciliation.inference import Measured
from nsight_suite.runfolder import RunFolder

FLUSHED = Measured(268e6, "byte", "dram-counter", "flushed", "kernel-sum")
WARM = Measured(134e6, "byte", "dram-counter", "warm", "whole-graph")
LOGICAL = Measured(134e6, "byte", "declared")
BUSY = Measured(70_000, "ns", "nsys-device", scope="kernel")
UNDER_NCU = Measured(71_000, "ns", "ncu-device", "flushed", "kernel")
EVENTS = Measured(75_000, "ns", "cuda-events", scope="batch")
REPLAY = Measured(150_000, "ns", "nsys-device", scope="whole-graph")
HOST = inference.completion(77_800)
PROFILED = inference.completion(79_700, under="nsys")
LIMIT = Measured(8, "block", "occupancy-limit")
P10 = Measured(77_720, "ns", "quantile-of-repeats")
EARLY = Measured(126, "1", "early-start-count")
HERE = inference.completion(77_800, device_uuid="GPU-1")
THERE = inference.completion(60_000, device_uuid="GPU-2")

REFUSED: dict[str, list[Callable[[], object]]] = {
    "flushed-is-not-warm": [lambda: inference.bandwidth(FLUSHED, BUSY)],
    "writes-left-in-cache": [lambda: inference.total_writes([FLUSHED])],
    "no-node-times": [lambda: inference.node_duration(REPLAY)],
    "event-intervals-hold-gaps": [
        lambda: inference.kernel_duration(EVENTS),
        lambda: inference.bandwidth(WARM, EVENTS),
    ],
    "completion-is-no-kernel-time": [lambda: inference.kernel_duration(HOST)],
    "times-have-no-single-cause": [lambda: inference.cause_of_speedup({"kernels", "storage"})],
    "early-start-is-no-speedup": [lambda: inference.speedup(HOST, EARLY)],
    "limits-are-not-utilisation": [lambda: inference.utilisation(LIMIT, 32)],
    "logical-is-not-dram": [lambda: inference.bandwidth(LOGICAL, BUSY)],
    "quantiles-are-not-confidence": [lambda: inference.confidence_interval([P10])],
    "other-device": [lambda: inference.difference(HERE, THERE), lambda: inference.speedup(HERE, THERE)],
    "ncu-time-is-its-own": [
        lambda: inference.difference(HOST, UNDER_NCU),
        lambda: inference.ratio(UNDER_NCU, BUSY),
        lambda: inference.kernel_duration(UNDER_NCU),
    ],
    "profiled-is-no-latency": [lambda: inference.latency(PROFILED), lambda: inference.speedup(HOST, PROFILED)],
}


def test_every_rule_has_an_example_here() -> None:
    assert set(REFUSED) == set(inference.RULES)


@pytest.mark.parametrize("code", REFUSED)
def test_refused(code: str) -> None:
    for attempt in REFUSED[code]:
        with pytest.raises(ForbiddenInference) as caught:
            attempt()
        assert caught.value.code == code
        assert inference.RULES[code].sentence in caught.value.what
        assert caught.value.way_out


def test_allowed_neighbours() -> None:
    assert inference.bandwidth(WARM, BUSY) == pytest.approx(134e6 / 70e-6)
    assert inference.logical_rate(LOGICAL, BUSY) == pytest.approx(134e6 / 70e-6)
    assert inference.ratio(WARM, LOGICAL) == 1.0
    assert inference.total_writes([WARM]) == 134e6
    assert inference.node_duration(BUSY) == 70_000
    assert inference.profiler_cost(PROFILED, HOST) == (1_900, 79_700 / 77_800)
    assert inference.speedup(HOST, inference.completion(38_900)) == 2.0
    assert inference.cause_of_speedup({"submission"}) == "submission"
    assert inference.latency(HERE) == 77_800


def test_units_are_checked() -> None:
    with pytest.raises(ValueError, match="different units"):
        inference.difference(HOST, WARM)


def test_registry_says_which_rules_concern_a_run(synthetic_run: RunFolder) -> None:
    rules = {rule.code: rule.applies for rule in reconcile_run(synthetic_run).rules}
    assert set(rules) == set(inference.RULES)
    assert [code for code, applies in rules.items() if not applies] == ["early-start-is-no-speedup"]  # no trace
