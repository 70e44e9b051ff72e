"""What may not be concluded is refused, with the code of the rule and what to do instead.

The quantities are those of the run recorded on an H200, had by `run.measured` as any user has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from synthetic_run import make_run

import nsight_suite
from nsight_suite.errors import CannotAnswer, ForbiddenInference, UsageError
from nsight_suite.reconciliation import inference, reconcile_run
from nsight_suite.reconciliation.measuring import QUANTITIES
from nsight_suite.run import Run
from nsight_suite.runfolder import RunFolder

SHAPE = "4096x4096"
FUSED, STAGED, STREAM = (f"row:{name}:{SHAPE}" for name in ("fused:graph", "staged:graph", "staged:stream"))


@pytest.fixture(scope="module")
def run(recorded_run: RunFolder) -> Iterator[Run]:
    with nsight_suite.open_run(recorded_run.path) as opened:
        yield opened


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run on another GPU, with a trace."""

    def traced(rows: dict[str, list[dict[str, object]]]) -> None:
        task = {"pass": "trace", "case_id": FUSED, "invocation": 0, "worker": 0, "multiprocessor": 3, "job": 0}
        rows["task"] = [
            {**task, "stage": "A", "start_ns": 10, "end_ns": 20},
            {**task, "stage": "B", "start_ns": 15, "end_ns": 40},
        ]
        plan = {"pass": "trace", "case_id": FUSED, "job": 0, "tasks": 1, "tiled": False, "after": "nothing"}
        rows["task_plan"] = [{**plan, "stage": stage, "position": place} for place, stage in enumerate("AB")]

    with nsight_suite.open_run(make_run(tmp_path_factory.mktemp("runs") / "run", edit=traced).path) as opened:
        yield opened


REFUSED: dict[str, list[Callable[[Run, Run], object]]] = {
    "flushed-is-not-warm": [
        lambda run, _: inference.bandwidth(
            run.measured("dram_read_bytes", FUSED, caches="flushed"), run.measured("device_busy", FUSED)
        ),
    ],
    "writes-left-in-cache": [
        lambda run, _: inference.total_writes(run.measured("dram_write_bytes", STREAM, caches="flushed")),
        lambda run, _: inference.total_writes(run.measured("dram_write_bytes", STREAM, caches="warm")),
    ],
    "no-node-times": [
        lambda run, _: inference.kernel_duration(run.measured("ncu_duration", STAGED, caches="warm")),
    ],
    "event-intervals-hold-gaps": [
        lambda run, _: inference.kernel_duration(run.measured("event_interval", FUSED)),
        lambda run, _: inference.bandwidth(
            run.measured("dram_read_bytes", FUSED, caches="warm"), run.measured("event_interval", FUSED)
        ),
    ],
    "completion-is-no-kernel-time": [
        lambda run, _: inference.kernel_duration(run.measured("completion", FUSED)),
        lambda run, _: inference.kernel_duration(run.measured("profiled_completion", FUSED)),
    ],
    "times-have-no-single-cause": [
        lambda run, _: inference.attribute(
            run.measured("completion", STAGED), run.measured("completion", FUSED)
        ),
        lambda run, _: inference.attribute(
            run.measured("completion", FUSED), run.measured("completion", FUSED)
        ),
    ],
    "early-start-is-no-speedup": [
        lambda run, other: inference.speedup(
            run.measured("completion", FUSED), other.measured("early_starts", FUSED)
        ),
    ],
    "limits-are-not-utilisation": [
        lambda run, _: inference.utilisation(run.measured("occupancy_limit", FUSED)),
    ],
    "logical-is-not-dram": [
        lambda run, _: inference.bandwidth(
            run.measured("logical_bytes", FUSED), run.measured("device_busy", FUSED)
        ),
    ],
    "quantiles-are-not-confidence": [
        lambda run, _: inference.speedup(
            run.measured("completion_p10", STAGED), run.measured("completion_p90", FUSED)
        ),
    ],
    "other-device": [
        lambda run, other: inference.speedup(
            run.measured("completion", FUSED), other.measured("completion", FUSED)
        ),
        lambda run, other: inference.bandwidth(
            run.measured("dram_read_bytes", FUSED, caches="warm"), other.measured("device_busy", FUSED)
        ),
    ],
    "ncu-time-is-its-own": [
        lambda run, _: inference.difference(
            run.measured("completion", FUSED), run.measured("ncu_duration", FUSED, caches="flushed")
        ),
        lambda run, _: inference.ratio(
            run.measured("ncu_duration", FUSED, caches="flushed"), run.measured("kernel_duration", FUSED)
        ),
        lambda run, _: inference.kernel_duration(run.measured("ncu_duration", FUSED, caches="flushed")),
    ],
    "profiled-is-no-latency": [
        lambda run, _: inference.latency(run.measured("profiled_completion", FUSED)),
        lambda run, _: inference.speedup(
            run.measured("completion", STAGED), run.measured("profiled_completion", FUSED)
        ),
    ],
}


def test_every_rule_has_an_example_here() -> None:
    assert set(REFUSED) == set(inference.RULES)


@pytest.mark.parametrize("code", REFUSED)
def test_refused(run: Run, elsewhere: Run, code: str) -> None:
    for attempt in REFUSED[code]:
        with pytest.raises(ForbiddenInference) as caught:
            attempt(run, elsewhere)
        assert caught.value.code == code
        assert inference.RULES[code].sentence in caught.value.what
        assert caught.value.way_out


def test_allowed_neighbours(elsewhere: Run) -> None:
    """By hand, from the constants of the synthetic run."""
    measured = elsewhere.measured
    completion, busy = measured("completion", FUSED), measured("device_busy", FUSED)
    assert inference.latency(completion) == 77_800
    assert inference.profiler_cost(measured("profiled_completion", FUSED), completion)[0] == 1_900
    assert inference.kernel_duration(busy) == 70_000
    assert inference.kernel_duration(measured("kernel_duration", STAGED, kernel="row_exp")) == 43_000
    assert inference.total_writes(measured("dram_write_bytes", FUSED, caches="warm")) == 2**26
    warm = measured("dram_read_bytes", FUSED, caches="warm")
    assert inference.bandwidth(warm, busy) == pytest.approx((2**26 + 4096) / 70e-6)
    assert inference.logical_rate(measured("logical_bytes", FUSED), busy) == pytest.approx(2**27 / 70e-6)
    assert inference.ratio(warm, measured("logical_bytes", FUSED)) == pytest.approx(0.5, rel=1e-3)
    assert inference.attribute(measured("completion", STREAM), measured("completion", STAGED)) == "submission"
    assert inference.speedup(measured("completion", STAGED), completion) > 2


def test_residency_is_what_was_measured(run: Run) -> None:
    assert 0.5 < inference.utilisation(run.measured("warps_active", FUSED, caches="flushed")) < 1


def test_quantities_that_are_asked_for_wrongly(run: Run) -> None:
    with pytest.raises(UsageError, match="There is no quantity 'speed'"):
        run.measured("speed", FUSED)
    with pytest.raises(UsageError, match="The run has no case 'row:none'"):
        run.measured("completion", "row:none")
    with pytest.raises(UsageError, match="depends on the caches"):
        run.measured("dram_read_bytes", FUSED)
    with pytest.raises(UsageError, match="kernel_duration is of one kernel") as caught:
        run.measured("kernel_duration", STAGED)
    assert "row_max" in caught.value.way_out
    with pytest.raises(CannotAnswer, match="The run holds no early_starts of"):
        run.measured("early_starts", FUSED)


def test_units_are_checked(run: Run) -> None:
    with pytest.raises(ValueError, match="different units"):
        inference.difference(run.measured("completion", FUSED), run.measured("logical_bytes", FUSED))


def test_a_quantity_of_a_missing_table_is_refused(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    (folder.evidence / "kernel.parquet").unlink()
    with nsight_suite.open_run(folder.path) as run:
        assert list(run.missing) == ["kernel"]
        assert run.measured("completion", FUSED).value == 77_800
        with pytest.raises(CannotAnswer, match="the table 'kernel' is not empty but missing"):
            run.measured("device_busy", FUSED)


def test_registry_says_which_rules_concern_a_run(synthetic_run: RunFolder) -> None:
    rules = {rule.code: rule.applies for rule in reconcile_run(synthetic_run).rules}
    assert set(rules) == set(inference.RULES)
    assert [code for code, applies in rules.items() if not applies] == ["early-start-is-no-speedup"]  # no trace


def test_the_page_names_every_quantity_and_rule() -> None:
    page = (Path(__file__).parent.parent / "docs" / "inference.md").read_text(encoding="utf-8")
    assert [name for name in (*QUANTITIES, *inference.RULES) if f"`{name}`" not in page] == []


def test_the_refusal_that_the_page_shows() -> None:
    page = (Path(__file__).parent.parent / "docs" / "inference.md").read_text(encoding="utf-8")
    rule = inference.RULES["flushed-is-not-warm"]
    assert rule.sentence in page
    assert rule.way_out in page
