"""`python -m nsight_suite.compare`: planted changes are found, and nothing else is."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import random
import shutil
import statistics
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from synthetic_run import Rows, make_run
from tiny_export import Call, Kernel, Range, Table, make_export

from nsight_suite.compare import main
from nsight_suite.comparing import Comparison, Options, Row, showing, sides
from nsight_suite.comparing.deciding import Job, decide
from nsight_suite.comparing.drift import between_halves, moved, noise_of, pooled
from nsight_suite.comparing.intervals import apart, median_law, paired, sign_rank
from nsight_suite.comparing.judging import compare_sides
from nsight_suite.comparing.loose import Loose, compare_loose, read_loose
from nsight_suite.comparing.series import Series
from nsight_suite.comparing.sides import Side, read_side
from nsight_suite.errors import CannotAnswer, UsageError
from nsight_suite.ingesting.making import ingest
from nsight_suite.querying import run_named
from nsight_suite.runfolder import RunFolder, read_json, write_json
from nsight_suite.sources import data_root
from nsight_suite.writing import replacing_folder

DATA = Path(__file__).parent / "data"
LARGE = "row:fused:graph:4096x4096"
STAGED, CUDNN = "row:staged:graph:4096x4096", "row:cudnn:graph:4096x4096"
SMALL = "row:fused:graph:32x1024"

Edit = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def side(synthetic_run: RunFolder) -> Side:
    """What a comparison reads of the synthetic run."""
    return read_side(synthetic_run)


@pytest.fixture(scope="module")
def two_sessions(tmp_path_factory: pytest.TempPathFactory) -> Side:
    """The same of a run that was timed in two sessions."""
    return read_side(make_run(tmp_path_factory.mktemp("whole") / "run", whole=True), with_verdicts=False)


def edited(side: Side, query: str, edit: Edit, **info: object) -> Side:
    """The side as if its query had answered otherwise: `edit` changes a copy of each row in place."""
    rows = [dict(row) for row in side.rows[query]]
    for row in rows:
        edit(row)
    return replace(side, rows={**side.rows, query: rows}, info={**side.info, "run_id": "row-after", **info})


def without(side: Side, query: str, drop: Callable[[dict[str, Any]], bool]) -> Side:
    rows = [row for row in side.rows[query] if not drop(dict(row))]
    return replace(side, rows={**side.rows, query: rows}, info={**side.info, "run_id": "row-after"})


def slower(factor: float, *case_ids: str, passes: tuple[str, ...] = ("timing", "timing-2")) -> Edit:
    """Every completion of some cases takes `factor` times as long; of all cases when none is named."""

    def edit(row: dict[str, Any]) -> None:
        mine = row["case_id"] in case_ids or (not case_ids and row["case_id"])
        if mine and row["quantity"] == "completion" and row["pass"] in passes:
            row["duration_ns"] = round(row["duration_ns"] * factor)

    return edit


def at_shape(factor: float, shape: str) -> Edit:
    """Every completion at a shape takes `factor` times as long."""

    def edit(row: dict[str, Any]) -> None:
        if row["quantity"] == "completion" and str(row["case_id"]).endswith(f":{shape}"):
            row["duration_ns"] = round(row["duration_ns"] * factor)

    return edit


def compared(a: Side, b: Side, *repeats: Side, **options: Any) -> Comparison:
    return compare_sides(a, b, Options(**options), repeats)


def found(comparison: Comparison, *verdicts: str) -> list[tuple[str, str]]:
    """Quantity and case of the rows with these verdicts."""
    return [(row.quantity, row.case_id) for row in comparison.rows if row.verdict in verdicts]


def row_of(comparison: Comparison, quantity: str, case_id: str) -> Row:
    (row,) = [row for row in comparison.rows if (row.quantity, row.case_id) == (quantity, case_id)]
    return row


def codes(comparison: Comparison, *, blocking: bool) -> set[str]:
    return {doubt.code for doubt in comparison.doubts if doubt.blocks == blocking}


# -- intervals: by hand, by counting every draw, and by simulation ----------------------------------


@pytest.mark.parametrize("count", range(1, 7))
def test_how_often_a_value_is_the_median_of_a_draw_is_what_counting_all_draws_gives(count: int) -> None:
    values = [float(number**2) for number in range(1, count + 1)]
    wanted: dict[float, float] = {}
    for draw in itertools.product(values, repeat=count):
        wanted[statistics.median(draw)] = wanted.get(statistics.median(draw), 0.0) + count**-count
    points, weights = median_law(_array(values))
    got: dict[float, float] = {}
    for point, weight in zip(points.tolist(), weights.tolist(), strict=True):
        got[point] = got.get(point, 0.0) + weight
    assert {point: weight for point, weight in got.items() if weight > 1e-9} == pytest.approx(wanted)


def test_the_bootstrap_interval_is_that_of_all_draws_of_both_samples() -> None:
    before, after = [100.0, 110.0, 130.0], [105.0, 140.0, 160.0]
    factors = sorted(
        statistics.median(two) / statistics.median(one)
        for one in itertools.product(before, repeat=3)
        for two in itertools.product(after, repeat=3)
    )
    interval = apart(before, after, 0.2)
    assert interval.factor == pytest.approx(140 / 110)
    # 27 times 27 draws: a tenth of them lies below the 73rd.
    assert interval.low == pytest.approx(factors[72])
    assert interval.high == pytest.approx(factors[-73])


def test_a_paired_interval_leaves_out_as_many_ratios_as_the_sign_test_allows() -> None:
    # Of 21 coins at most five show one side in 1.33 % of all throws, at most six in 3.92 %.
    assert sign_rank(21, 0.05) == (5, pytest.approx(0.0266, abs=1e-4))
    before = [1_000.0] * 21
    interval = paired(before, [1_000.0 + number for number in range(21)], 0.05)
    assert (interval.factor, interval.low, interval.high) == pytest.approx((1.010, 1.005, 1.015))


def test_pairs_that_share_their_noise_are_told_apart_and_strangers_are_not() -> None:
    source = random.Random(1)
    before = [1_000 * source.lognormvariate(0, 0.2) for _ in range(21)]
    after = [value * 1.03 for value in before]
    assert paired(before, after, 0.001).low == pytest.approx(1.03)
    assert apart(before, after, 0.001).low < 1 < apart(before, after, 0.001).high


@pytest.mark.parametrize("count", [59, 60, 61, 62])
def test_large_samples_are_treated_like_those_at_the_limit(count: int) -> None:
    source = random.Random(2)
    before, after = ([source.lognormvariate(0, 0.1) for _ in range(count)] for _ in range(2))
    interval = apart(before, after, 0.01)
    # The median of n normal values strays by 1.25 of their spread over the root of n.
    half = 2.58 * math.sqrt(2) * 1.25 * 0.1 / math.sqrt(count)
    assert math.log(interval.high / interval.low) == pytest.approx(2 * half, rel=0.35)
    assert sign_rank(401, 0.01)[0] == pytest.approx(sign_rank(399, 0.01)[0], abs=2)


def test_few_samples_say_how_often_they_err() -> None:
    one, other = [100.0, 101, 102, 103, 104], [120.0, 121, 122, 123, 124]
    # All five beyond all five: two of the 252 ways to choose five of ten.
    assert apart(one, other, 0.001).chance == pytest.approx(2 / 252)
    assert paired(one, other, 0.001).chance == pytest.approx(2 / 32)


@pytest.mark.parametrize("rounds", [7, 21])
@pytest.mark.parametrize("same_order", [True, False])
def test_unchanged_runs_raise_no_more_false_alarms_than_is_said(rounds: int, same_order: bool) -> None:
    """300 pairs of runs of six cases, with heavy tails: at 95 % not many more than 15 may err anywhere."""
    source = random.Random(rounds)
    alarms = expected = 0.0
    for _ in range(300):
        jobs = []
        for case in range(6):
            pair = [
                Series(
                    tuple(range(rounds)),
                    tuple(1_000 + source.lognormvariate(3, 1) for _ in range(rounds)),
                    ((0, 0, "case"),) if same_order else ((0, run, "case"),),
                )
                for run in range(2)
            ]
            jobs.append(Job("completion", "ns", (), str(case), "shape", ((pair[0], pair[1]),)))
        rows = decide(jobs, Options(threshold=0.0))
        expected += min(1.0, sum(row.chance or 0.0 for row in rows))
        alarms += any(row.verdict != "within-noise" for row in rows)
    # Three standard deviations of such a count on top.
    assert alarms <= expected + 3 * math.sqrt(expected)
    assert expected == pytest.approx(15 if rounds == 21 or not same_order else 28, rel=0.5)


def _array(values: list[float]) -> Any:
    import numpy as np

    return np.asarray(values)


# -- noise -------------------------------------------------------------------------------------------


def test_drift_is_pooled_over_cases_and_the_largest_counts() -> None:
    halves = [*between_halves([100.0, 100, 100, 104, 104, 104]), *between_halves([100.0, 100, 96, 96])]
    assert [one.log_factor for one in halves] == [pytest.approx(math.log(1.04)), pytest.approx(math.log(0.96))]
    drift = pooled([*halves, moved("repeats", [100.0], [100.5])])
    assert drift is not None
    squares = (math.log(1.04) ** 2 + math.log(0.96) ** 2) / 2
    assert drift.size == pytest.approx(math.expm1(1.96 * math.sqrt(squares)))
    assert drift.measured_by == "halves"
    assert between_halves([100.0, 101, 102]) == ()
    assert pooled([]) is None


def test_noise_is_the_threshold_or_the_drift_and_what_the_host_moved() -> None:
    drift = pooled([moved("sessions", [100.0], [105.0])])
    assert noise_of(0.02, None).measured_by == "threshold"
    assert noise_of(0.5, drift).size == 0.5
    assert noise_of(0.02, drift).measured_by == "sessions"
    assert noise_of(0.02, None, 0.01) == noise_of(0.03, None).__class__(0.03, "threshold+host")


# -- two runs ----------------------------------------------------------------------------------------


def test_a_run_is_within_the_noise_of_itself(side: Side) -> None:
    comparison = compared(side, side)
    assert {row.verdict for row in comparison.rows} == {"within-noise", "unchanged"}
    # Twelve timed cases, and the time on the device of all eighteen.
    assert len(comparison.judged) == 12 + 18
    assert comparison.exit_status() == 0
    assert codes(comparison, blocking=False) == {"same-run", "unknown-making"}


@pytest.mark.parametrize("factor", [1.1, 0.9])
def test_a_planted_change_of_one_case_is_found_and_nothing_else(side: Side, factor: float) -> None:
    comparison = compared(side, edited(side, "samples", slower(factor, LARGE)))
    verdict = "regressed" if factor > 1 else "improved"
    assert found(comparison, "regressed", "improved", "incomparable", "changed") == [("completion", LARGE)]
    row = row_of(comparison, "completion", LARGE)
    assert (row.verdict, row.how, row.queries) == (verdict, "21 paired", ("samples",))
    assert row.factor == pytest.approx(factor, rel=1e-4)
    assert (row.before, row.after) == (77_800, pytest.approx(77_800 * factor, abs=1))
    assert comparison.exit_status() == (1 if factor > 1 else 0)
    assert comparison.exit_status(["improved"]) == (0 if factor > 1 else 1)


def test_a_change_below_the_threshold_is_noise(side: Side) -> None:
    after = edited(side, "samples", slower(1.03, LARGE))
    assert found(compared(side, after), "regressed") == [("completion", LARGE)]
    assert found(compared(side, after, threshold=0.05), "regressed") == []


def test_rounds_of_another_order_do_not_pair(side: Side) -> None:
    def reorder(row: dict[str, Any]) -> None:
        slower(1.1, LARGE)(row)
        row["position"] = (row["position"] + 1) % 6

    after = edited(side, "samples", reorder)
    row = row_of(compared(side, after), "completion", LARGE)
    assert (row.verdict, row.how) == ("regressed", "bootstrap of 21 and 21")
    assert row_of(compared(side, after, pairing="rounds"), "completion", LARGE).how == "21 paired"
    assert row_of(compared(side, side, pairing="none"), "completion", LARGE).how == "bootstrap of 21 and 21"


def test_disturbed_samples_are_noise_not_a_change(side: Side) -> None:
    """In the second half of the session all of a shape took 30 % longer: nobody knows which half is right."""

    def disturb(row: dict[str, Any]) -> None:
        if row["round"] >= 10:
            at_shape(1.3, "4096x4096")(row)

    comparison = compared(side, edited(side, "samples", disturb))
    assert found(comparison, "regressed", "improved") == []
    row = row_of(comparison, "completion", LARGE)
    assert row.noise_from == "halves"
    assert row.noise == pytest.approx(1.3 ** (1.96 / math.sqrt(2)) - 1, rel=0.05)
    # Other shapes keep their own noise.
    assert (row_of(comparison, "completion", SMALL).noise or 0) < 0.05


def test_what_the_host_moved_is_not_blamed_on_kernels(side: Side) -> None:
    def slower_host(row: dict[str, Any]) -> None:
        slower(1.03, LARGE)(row)
        if row["quantity"] == "empty_sync" and row["case_id"] == LARGE:
            row["duration_ns"] += 1_556  # 2 % of 77,800

    row = row_of(compared(side, edited(side, "samples", slower_host)), "completion", LARGE)
    assert (row.verdict, row.noise_from) == ("within-noise", "threshold+host")
    assert row.noise == pytest.approx(0.04)


def test_a_host_that_nobody_timed_is_told(side: Side) -> None:
    after = without(side, "samples", lambda row: row["quantity"] == "empty_sync")
    comparison = compared(side, after)
    assert "unknown-host" in codes(comparison, blocking=False)
    assert row_of(comparison, "completion", LARGE).noise_from == "threshold"


def test_two_sessions_must_both_say_so(two_sessions: Side) -> None:
    both = compared(two_sessions, edited(two_sessions, "samples", slower(1.2, LARGE)))
    assert found(both, "regressed") == [("completion", LARGE)]
    one = compared(two_sessions, edited(two_sessions, "samples", slower(1.2, LARGE, passes=("timing",))))
    assert found(one, "regressed") == []
    row = row_of(one, "completion", LARGE)
    assert (row.low, row.high) == (1, pytest.approx(1.2, rel=1e-4))
    # The second session takes 200 ns longer: of the small cases that is most of their noise.
    assert row_of(one, "completion", SMALL).noise_from == "sessions"


def test_a_repeat_of_a_measures_noise(side: Side) -> None:
    after = edited(side, "samples", at_shape(1.06, "4096x4096"))
    assert len(found(compared(side, after), "regressed")) == 6
    repeat = edited(side, "samples", at_shape(0.96, "4096x4096"))
    with_repeat = compared(side, after, repeat)
    assert found(with_repeat, "regressed") == []
    assert row_of(with_repeat, "completion", LARGE).noise_from == "repeats"
    assert with_repeat.repeats == ("row-after",)
    strange = edited(side, "device", lambda row: row.update(name="NVIDIA H100"))
    assert "doubtful-repeat" in codes(compared(side, after, strange), blocking=False)


def test_a_baseline_cancels_what_moves_all_of_a_shape(side: Side) -> None:
    def disturb(row: dict[str, Any]) -> None:
        at_shape(1.15, "4096x4096")(row)
        slower(1.1, LARGE)(row)

    after = edited(side, "samples", disturb)
    raw = compared(side, after)
    assert len(found(raw, "regressed")) == 6
    assert [doubt.code for doubt in raw.doubts if "4096x4096" in doubt.told] == ["moved-together"]
    over = compared(side, after, baseline="cudnn")
    assert sorted(found(over, "regressed")) == sorted(
        [
            ("completion/cudnn", LARGE),
            *(("completion", f"row:cudnn:{how}:4096x4096") for how in ("stream", "graph")),
        ]
    )
    row = row_of(over, "completion/cudnn", LARGE)
    assert row.factor == pytest.approx(1.1, rel=1e-3)
    assert row.before == pytest.approx(77_800 / 47_800, rel=1e-3)
    assert "baseline-moved" in codes(over, blocking=False)
    assert compared(side, side, baseline="cudnn").exit_status() == 0


def test_a_case_without_a_round_of_its_baseline_is_not_compared(side: Side) -> None:
    def later(row: dict[str, Any]) -> None:
        if row["case_id"] == CUDNN and row["quantity"] == "completion":
            row["round"] += 100

    def stopped(row: dict[str, Any]) -> None:
        if row["case_id"] == CUDNN and row["quantity"] == "completion":
            row["duration_ns"] = 0

    for edit in (later, stopped):
        for pair in ((side, after := edited(side, "samples", edit)), (after, after)):
            row = row_of(compared(*pair, baseline="cudnn"), "completion/cudnn", LARGE)
            assert (row.verdict, row.reasons, row.after) == ("incomparable", "no-round-with-baseline", None)


def test_a_baseline_of_other_machine_code_is_told(side: Side) -> None:
    def rebuild(row: dict[str, Any]) -> None:
        if row["source"] == "staged.cu" and row["cubin_sha256"]:
            row["cubin_sha256"] = "0" * 64

    after = edited(side, "same_binary", rebuild)
    assert "baseline-changed" in codes(compared(side, after, baseline="staged"), blocking=False)
    assert "baseline-changed" not in codes(compared(side, after, baseline="fused"), blocking=False)
    assert {quantity for quantity, _ in found(compared(side, after), "changed")} == {"machine_code"}


# -- what must not be compared -----------------------------------------------------------------------


def on(column: str, value: object, *passes: str) -> Edit:
    def edit(row: dict[str, Any]) -> None:
        if not passes or row["pass"] in passes:
            row[column] = value

    return edit


@pytest.mark.parametrize(
    ("code", "query", "edit", "info"),
    [
        ("device", "device", on("name", "NVIDIA H100"), {}),
        ("device", "device", on("name", None), {}),
        ("driver", "device", on("driver_version", "590.1"), {}),
        ("clocks", "device", on("throttle_reasons", "sw_power_cap"), {}),
        ("clocks", "device", on("sm_clock_mhz", 1_500), {}),
        ("failed-pass", "passes", on("state", "failed"), {}),
        ("tools", "tools", lambda row: row.update(version=row["version"] + ".1"), {}),
        ("protocol", "tools", lambda row: None, {"protocol_sha256": "0" * 64}),
        ("quick", "tools", lambda row: None, {"quick": True}),
        ("incomplete", "tools", lambda row: None, {"state": "incomplete"}),
    ],
)
def test_each_reason_blocks_every_time_and_can_be_allowed(
    side: Side, code: str, query: str, edit: Edit, info: dict[str, object]
) -> None:
    after = edited(edited(side, "samples", slower(1.1, LARGE)), query, edit, **info)
    for pair in ((side, after), (after, side)):
        comparison = compared(*pair)
        assert codes(comparison, blocking=True) == {code}
        times = [row for row in comparison.rows if row.is_time]
        assert {(row.verdict, row.reasons) for row in times} == {("incomparable", code)}
        assert comparison.exit_status() == 2
        assert comparison.exit_status(["incomparable"]) == 1
    allowed = compared(side, after, allow=frozenset({code}))
    assert codes(allowed, blocking=True) == set()
    assert [doubt.code for doubt in allowed.doubts if doubt.allowed]
    assert found(allowed, "regressed") == [("completion", LARGE)]
    assert f"! compared all the same, {code}: " in showing.as_table(allowed, ["regressed"])


def test_what_blocks_one_pass_leaves_the_others(side: Side) -> None:
    after = edited(side, "device", on("driver_version", "590.1", "nsys"))
    comparison = compared(side, after)
    assert {row.verdict for row in comparison.rows if row.quantity == "device_busy"} == {"incomparable"}
    assert {row.verdict for row in comparison.rows if row.quantity == "completion"} == {"within-noise"}
    assert {row.verdict for row in comparison.rows if row.quantity == "kernels"} == {"incomparable"}
    assert {row.verdict for row in comparison.rows if row.quantity == "dram_read_bytes:ncu"} == {"unchanged"}


def test_another_unit_of_the_same_model_is_told(side: Side) -> None:
    comparison = compared(side, edited(side, "device", on("uuid", "GPU-other")))
    assert codes(comparison, blocking=True) == set()
    (doubt,) = [doubt for doubt in comparison.doubts if doubt.code == "other-unit"]
    assert doubt.passes == {"validate", "timing", "nsys", "ncu", "ncu-warm", "sanitize"}


def test_clocks_of_which_nobody_told_whether_they_were_held_are_unknown_not_free(side: Side) -> None:
    after = edited(side, "device", on("throttle_reasons", None, "timing"))
    comparison = compared(side, after)
    (doubt,) = [doubt for doubt in comparison.doubts if doubt.code == "unknown-clocks"]
    assert (doubt.passes, doubt.blocks) == ({"timing"}, False)
    assert doubt.told == "whether the clocks were held is not told by run B"


def test_a_case_whose_results_are_wrong_is_not_timed(side: Side) -> None:
    def break_one(row: dict[str, Any]) -> None:
        if row["case_id"] == LARGE and (row["pass"], row["check"]) == ("validate", "error"):
            row["failed"] = 2

    comparison = compared(side, edited(side, "validation", break_one))
    assert row_of(comparison, "completion", LARGE).reasons == "failed-checks"
    assert row_of(comparison, "completion", SMALL).verdict == "within-noise"
    assert found(comparison, "regressed") == [("failed_checks:validate", LARGE)]
    assert comparison.exit_status() == 1
    fixed = compare_sides(edited(side, "validation", break_one), side, Options())
    assert found(fixed, "improved") == [("failed_checks:validate", LARGE)]


def test_a_run_whose_report_was_changed_is_not_compared(
    side: Side, synthetic_run: RunFolder, tmp_path: Path
) -> None:
    """Samples were edited after the pass: what they say now is nobody's measurement."""
    shutil.copytree(synthetic_run.path, tmp_path / "run")
    edited_run = RunFolder(tmp_path / "run")
    records = edited_run.reports / "timing.jsonl"
    records.write_bytes(records.read_bytes() + b"\n")
    comparison = compared(side, read_side(edited_run))
    assert codes(comparison, blocking=True) == {"contradicted"}
    assert comparison.exit_status() == 2
    assert not found(comparison, "within-noise")
    allowed = compare_sides(side, read_side(edited_run), Options(allow=frozenset({"contradicted"})))
    assert row_of(allowed, "completion", LARGE).verdict == "within-noise"


def test_code_that_measured_is_told(side: Side) -> None:
    made = {"nsight_suite": "0.1.0", "toolkit": "a", "driver": "b", "kernels": "c"}
    before = edited(side, "tools", lambda row: None, made_with=made)
    after = edited(side, "tools", lambda row: None, made_with={**made, "toolkit": "z"})
    assert codes(compared(before, after), blocking=False) == {"same-run", "other-code", "same-kernels"}


def test_missing_and_new_cases_are_named(side: Side) -> None:
    fewer = without(side, "samples", lambda row: row["case_id"] == LARGE)
    assert found(compared(side, fewer), "missing") == [("completion", LARGE)]
    assert found(compared(fewer, side), "new") == [("completion", LARGE)]
    assert compared(side, fewer).exit_status() == 0
    assert showing.as_table(compared(side, fewer), ["regressed"]).endswith("Not judged: 1 missing.\n")
    assert compared(side, fewer).exit_status(["regressed", "missing"]) == 1
    # Its neighbours no longer had the same order.
    assert row_of(compared(side, fewer), "completion", STAGED).how == "bootstrap of 21 and 21"
    assert row_of(compared(side, fewer), "completion", SMALL).how == "21 paired"


def test_a_case_that_one_run_never_had_is_one_row(side: Side) -> None:
    cases = {case_id: case for case_id, case in side.cases.items() if case["variant"] != "fused"}
    fewer = replace(side, cases=cases, info={**side.info, "run_id": "row-after"})
    comparison = compared(side, fewer)
    assert sorted(found(comparison, "missing")) == sorted(
        ("case", case_id) for case_id in side.cases if case_id not in cases
    )
    assert not [
        row for row in comparison.rows if "fused" in row.case_id and row.verdict not in ("missing", "unchanged")
    ]
    assert len(found(compared(fewer, side), "new")) == 6
    strangers = replace(side, cases={f"{case_id}-2": case for case_id, case in side.cases.items()})
    assert compared(side, strangers).exit_status() == 2


def test_too_few_samples_are_no_verdict(side: Side) -> None:
    after = without(slow := edited(side, "samples", slower(2, LARGE)), "samples", lambda row: row["round"] > 1)
    row = row_of(compared(side, after), "completion", LARGE)
    assert row_of(compared(side, slow), "completion", LARGE).verdict == "regressed"
    assert (row.verdict, row.how) == ("regressed", "bootstrap of 21 and 2")
    assert row.chance == pytest.approx(2 / 253)
    both = [without(one, "samples", lambda row: row["round"] > 1) for one in (side, slow)]
    row = row_of(compared(*both), "completion", LARGE)
    assert (row.verdict, row.reasons, row.chance) == ("incomparable", "too-few-samples", None)


def test_durations_that_are_none_are_not_compared(side: Side) -> None:
    def stop_the_clock(row: dict[str, Any]) -> None:
        if row["case_id"] == LARGE and row["quantity"] == "completion" and row["round"] == 3:
            row["duration_ns"] = 0

    row = row_of(compared(side, edited(side, "samples", stop_the_clock)), "completion", LARGE)
    assert (row.verdict, row.reasons) == ("incomparable", "durations-not-above-zero")


# -- counts ------------------------------------------------------------------------------------------


def test_counts_that_changed_are_named_with_both_values(side: Side) -> None:
    def more_registers(row: dict[str, Any]) -> None:
        if (row["variant"], row["shape"]) == ("fused", "4096x4096"):
            row["nsys_registers"] += 8

    comparison = compared(side, edited(side, "resources", more_registers))
    row = row_of(comparison, "registers", "fused:4096x4096:row_softmax")
    assert (row.verdict, row.before, row.after, row.unit) == ("changed", 40, 48, "register/thread")
    assert found(comparison, "changed") == [("registers", "fused:4096x4096:row_softmax")]
    assert comparison.exit_status() == 0
    assert comparison.exit_status(["changed"]) == 1


@pytest.mark.parametrize(("more", "changed"), [(1.01, False), (1.1, True)])
def test_bytes_change_when_they_lie_apart_by_more_than_the_threshold(
    side: Side, more: float, changed: bool
) -> None:
    def read_more(row: dict[str, Any]) -> None:
        if (row["case_id"], row["pass"]) == (LARGE, "ncu"):
            for column in ("dram_read_bytes", "dram_read_min_bytes", "dram_read_max_bytes"):
                row[column] = round(row[column] * more)

    comparison = compared(side, edited(side, "dram_bytes", read_more))
    assert found(comparison, "changed") == ([("dram_read_bytes:ncu", LARGE)] if changed else [])


def test_a_count_that_one_run_lacks_is_missing_not_zero(side: Side) -> None:
    def forget(row: dict[str, Any]) -> None:
        if row["case_id"] == LARGE:
            row["kernels_per_invocation"] = None

    comparison = compared(side, edited(side, "kernel_counts", forget))
    row = row_of(comparison, "kernels", LARGE)
    assert (row.verdict, row.before, row.after) == ("missing", 1, None)


def test_sanitizer_errors_and_verdicts_are_compared(side: Side) -> None:
    broken = edited(side, "sanitizer", lambda row: row.update(errors=3))
    assert found(compared(side, broken), "regressed") == [
        ("sanitizer_errors", "memcheck"),
        ("sanitizer_errors", "synccheck"),
    ]
    explained = replace(side, verdicts={**side.verdicts, (LARGE, "counts"): "explained"})
    assert found(compared(side, explained), "changed") == []
    judged = replace(side, verdicts={**side.verdicts, (LARGE, "time"): "disagree"})
    row = row_of(compared(side, judged), "verdict:time", LARGE)
    assert (row.verdict, row.before, row.after) == ("changed", "agree or explained", "disagree")


# -- the command -------------------------------------------------------------------------------------


def test_the_command_writes_json_and_its_status_is_that_of_a_gate(
    synthetic_run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def edit(rows: Rows) -> None:
        for row in rows["sample"]:
            slower(1.1, LARGE)(row)

    slow = make_run(tmp_path / "run", edit=edit)
    write_json(slow.run_json, {**read_json(slow.run_json), "run_id": "row-slow"})
    out = tmp_path / "rows.json"
    assert (
        main([str(synthetic_run.path), str(slow.path), "--fail-on", "regressed,missing", "--out", str(out)])
        == 1
    )
    assert capsys.readouterr() == ("", "")
    data = json.loads(out.read_text(encoding="utf-8"))
    assert (data["exit_status"], data["fail_on"]) == (1, ["regressed", "missing"])
    assert (data["a"]["run_id"], data["b"]["run_id"]) == ("row-synthetic", "row-slow")
    assert 0 < data["expected_false_alarms"] < 0.5
    (row,) = [row for row in data["rows"] if row["verdict"] == "regressed"]
    assert (row["before"], row["after"], row["unit"], row["queries"]) == (77_800, 85_580, "ns", ["samples"])


def test_the_table_names_what_regressed_and_where_it_is_from(side: Side) -> None:
    comparison = compared(side, edited(side, "samples", slower(1.1, LARGE)))
    text = showing.as_table(comparison, ["regressed"])
    (line,) = [line for line in text.splitlines() if line.startswith("✗ regressed")]
    assert line.split()[2:9] == ["completion", LARGE, "77,800", "ns", "85,580", "ns", "+10.0%"]
    assert "✓ unchanged" not in text
    assert text.endswith("Failed: 1 regressed.\n")
    assert "From: samples, launch_split_invocations, " in text
    assert "| ✓ unchanged" in showing.as_table(comparison, ["regressed"], "md", whole=True)
    assert showing.as_table(compared(side, side), ["regressed"]).endswith("Nothing regressed.\n")
    lines = list(csv.DictReader(io.StringIO(showing.as_csv(comparison))))
    assert len(lines) == len(comparison.rows)
    assert (lines[0]["verdict"], lines[0]["case_id"], lines[0]["before"]) == ("regressed", LARGE, "77800.0")
    assert lines[0]["queries"] == "samples"
    assert showing.as_csv(replace(comparison, rows=())).startswith("quantity,case_id,verdict,before,after,")


def test_some_cases_alone(side: Side) -> None:
    after = edited(side, "samples", slower(1.1, LARGE))
    assert found(compared(side, after, cases=(SMALL,)), "regressed") == []
    only = compared(side, after, cases=(LARGE,))
    assert found(only, "regressed") == [("completion", LARGE)]
    assert {row.case_id for row in only.rows if row.is_time} == {LARGE}
    assert {row.case_id for row in only.rows if row.quantity == "blocks"} == {"fused:4096x4096:row_softmax"}
    # What it is divided by need not be among them, nor what ran around it.
    over = compared(side, after, cases=(LARGE,), baseline="cudnn")
    assert row_of(over, "completion/cudnn", LARGE).how == "21 paired"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--allow", "luck"], "There is no reason 'luck'"),
        (["--fail-on", "worse"], "There is no verdict 'worse'"),
        (["--fail-on", ","], "--fail-on names no verdict"),
        (["--baseline", "none"], "Run A has no variant 'none'"),
        (["--case", "row:none"], "Neither run has a case 'row:none'"),
        (["--confidence", "100"], "100 % is no confidence"),
        (["--threshold", "-1"], "A threshold of -1 % makes no sense"),
        (["--out", "rows.parquet"], "A comparison is no table of Parquet"),
    ],
)
def test_a_wrong_call_is_told_with_the_way_out(
    synthetic_run: RunFolder, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(synthetic_run.path), str(synthetic_run.path), *arguments]) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""


class Closed(io.StringIO):
    """A pipe whose reader went away (`| head`): noticed at once, or only when the rest is written out."""

    def __init__(self, *, at_once: bool) -> None:
        super().__init__()
        self.at_once = at_once

    def write(self, text: str) -> int:
        if self.at_once:
            raise BrokenPipeError
        return len(text)

    def flush(self) -> None:
        raise BrokenPipeError


def test_a_gate_does_not_open_for_a_reader_that_went_away(
    side: Side, synthetic_run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = [str(synthetic_run.path), str(synthetic_run.path)]
    monkeypatch.setattr("nsight_suite.comparing.compare_runs", lambda *_: compared(side, side))
    for fail_on, at_once, status in (
        ("regressed", False, 0),
        ("within-noise", False, 1),
        ("regressed", True, 2),
    ):
        monkeypatch.setattr("sys.stdout", Closed(at_once=at_once))
        assert main([*again, "--fail-on", fail_on]) == status


def test_runs_of_two_experiments_are_refused(
    synthetic_run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(synthetic_run.path), "jobs-h200"]) == 2
    assert "is a run of 'row', " in capsys.readouterr().err


def test_a_run_without_a_table_is_no_answer(synthetic_run: RunFolder, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    shutil.copytree(synthetic_run.path, run.path)
    (run.evidence / "sample.parquet").unlink()
    with pytest.raises(CannotAnswer, match="sample"):
        read_side(run)


def test_evidence_that_is_replaced_while_it_is_read_is_read_again(
    synthetic_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunFolder(Path(shutil.copytree(synthetic_run.path, tmp_path / "run")))
    answers = []

    def replaced(store: Any, name: str, experiment: str) -> Any:
        if not answers:
            with replacing_folder(run.evidence):
                pass  # what the new folder lacks is taken over
        answers.append(name)
        return run_named(store, name, experiment)

    monkeypatch.setattr(sides, "run_named", replaced)
    assert read_side(run, with_verdicts=False).rows["samples"]
    assert len(answers) > len(sides.QUERIES)


def test_a_recorded_run_is_compared_with_itself_and_with_a_slower_copy() -> None:
    recorded = read_side(RunFolder(data_root() / "examples" / "jobs-h200"), with_verdicts=False)
    same = compared(recorded, recorded)
    assert {row.verdict for row in same.rows} == {"within-noise", "unchanged"}
    case_id = next(iter(recorded.cases))
    doubled = compared(recorded, edited(recorded, "samples", slower(2, case_id)))
    assert found(doubled, "regressed", "improved", "incomparable") == [("completion", case_id)]


# -- runs of loose reports ---------------------------------------------------------------------------


def capture(
    path: Path,
    seed: int,
    *,
    slow: float = 1.0,
    swap: bool = False,
    only: str = "",
    lost: bool = False,
    gpu: str = "NVIDIA H200",
) -> Path:
    """An nsys export of forty steps of two kernels, `gemm` of 10 µs and `norm` of 3 µs, scattering by 1 %.

    `slow` makes gemm longer, `swap` the second; `only` one kernel is run, or both and norm's record is `lost`.
    """
    source, now = random.Random(seed), 1_000
    api, kernels, ranges = [], [], []
    for _ in range(40):
        begun = now
        for name, duration in sorted({"gemm": 10_000 * slow, "norm": 3_000.0}.items(), reverse=swap):
            if only in ("", name):
                length = round(duration * source.gauss(1, 0.01))
                api.append(Call("cudaLaunchKernel_v7000", now, now + 100, len(api) + 1))
                if not lost or name == "gemm":
                    kernels.append(Kernel(name, now + 200, now + 200 + length, len(api)))
                now += length + 400
        ranges.append(Range("step", begun - 50, now))
    gpus = {"TARGET_INFO_GPU": Table([{"id": 0, "name": gpu, "uuid": gpu, "cuDevice": 0}])}
    return make_export(path, api=api, kernels=kernels, nvtx=ranges, more=gpus)


@pytest.fixture(scope="module")
def loose(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Loose]:
    """What a comparison reads of ingested runs of such captures, each made once."""

    @cache
    def run(seed: int, **options: Any) -> Loose:
        folder = tmp_path_factory.mktemp("loose")
        return read_loose(ingest([capture(folder / "app.sqlite", seed, **options)], folder / "run").run)

    return run


def test_kernels_and_ranges_of_loose_reports_are_compared(loose: Callable[..., Loose]) -> None:
    a, b, slow = loose(1), loose(2), loose(3, slow=1.1)
    same = compare_loose(a, b, Options())
    assert {row.verdict for row in same.rows} == {"within-noise", "unchanged"}
    assert same.exit_status() == 0
    changed = compare_loose(a, slow, Options())
    assert found(changed, "regressed") == [("kernel", "gemm"), ("range", "step")]
    row = row_of(changed, "kernel", "gemm")
    assert (row.how, row.queries) == ("40 paired", ("kernel_summary",))
    assert row.factor == pytest.approx(1.1, rel=0.01)
    assert changed.exit_status() == 1
    assert row_of(compare_loose(a, b, Options(), [slow]), "kernel", "gemm").noise_from == "repeats"


def test_reports_that_ran_kernels_in_another_order_do_not_pair(loose: Callable[..., Loose]) -> None:
    row = row_of(compare_loose(loose(1), loose(2, slow=1.1, swap=True), Options()), "kernel", "gemm")
    assert (row.verdict, row.how) == ("regressed", "bootstrap of 40 and 40")


def test_loose_reports_of_two_models_are_not_compared(loose: Callable[..., Loose]) -> None:
    a, b = loose(1), loose(2, gpu="NVIDIA H100")
    comparison = compare_loose(a, b, Options())
    assert {row.reasons for row in comparison.rows} == {"device"}
    assert comparison.exit_status() == 2
    assert compare_loose(a, b, Options(allow=frozenset({"device"}))).exit_status() == 0


def test_a_kernel_that_left_no_record_is_not_missing(loose: Callable[..., Loose]) -> None:
    a, silent, one = loose(1), loose(2, lost=True), loose(3, only="gemm")
    row = row_of(compare_loose(a, silent, Options()), "kernel", "norm")
    assert (row.verdict, row.reasons) == ("incomparable", "launches-without-records")
    assert row_of(compare_loose(a, one, Options()), "kernel", "norm").verdict == "missing"
    assert row_of(compare_loose(one, a, Options()), "kernel", "norm").verdict == "new"


def test_what_a_comparison_of_loose_reports_leaves_out_is_told(
    loose: Callable[..., Loose], tmp_path: Path
) -> None:
    reports = [capture(tmp_path / "app.sqlite", 2), DATA / "ncu_kernel_raw.csv"]
    both = read_loose(ingest(reports, tmp_path / "run").run)
    comparison = compare_loose(loose(1), both, Options(), [loose(2, gpu="NVIDIA H100")])
    told = {doubt.code: doubt.told for doubt in comparison.doubts}
    assert told["not-compared"] == "Only reports of nsys tell times; left out: ncu_kernel_raw."
    assert told["doubtful-repeat"].startswith("a repeat of A has another model of GPU")


def test_loose_reports_have_no_cases(loose: Callable[..., Loose]) -> None:
    with pytest.raises(UsageError, match="no variants and no cases"):
        compare_loose(loose(1), loose(1), Options(baseline="fused"))


def test_the_command_takes_ingested_runs_but_not_beside_captured_ones(
    synthetic_run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ingest([capture(tmp_path / "app.sqlite", 1)], tmp_path / "run").run
    assert main([str(run.path), str(run.path)]) == 0
    assert "· undeclared: Nothing declares that both reports are of the same program" in capsys.readouterr().out
    assert main([str(run.path), str(synthetic_run.path)]) == 2
    assert "is a run of loose reports" in capsys.readouterr().err
