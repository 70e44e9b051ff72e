"""Time, traffic, limits: what cannot be is named, what has a name is explained, what bounds a case is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic_run import Rows, make_run

from nsight_suite.reconciliation import Finding, Reconciliation, reconcile_run, table, time
from nsight_suite.reconciliation.bounds import BOUNDS
from nsight_suite.reconciliation.findings import CANNOT_ANSWER, DISAGREE, EXPLAINED
from nsight_suite.runfolder import RunFolder

LARGE = "row:fused:graph:4096x4096"
Edit = Callable[[Rows], None]


def samples(rows: Rows, quantity: str, pass_name: str = "timing", case_id: str = LARGE) -> list[dict[str, int]]:
    wanted = (pass_name, quantity, case_id)
    return [row for row in rows["sample"] if (row["pass"], row["quantity"], row["case_id"]) == wanted]


def judged(tmp_path: Path, edit: Edit) -> Reconciliation:
    return reconcile_run(make_run(tmp_path / "run", edit=edit))


def told(reconciliation: Reconciliation, *verdicts: str) -> list[Finding]:
    return [one for one in reconciliation.findings if one.verdict in verdicts]


def in_nsys_process(rows: Rows, extra_ns: int, ordinals: range) -> None:
    """The host does something else for a while inside the stopwatch, before the first call."""
    for one in rows["range"]:
        if one["name"] == LARGE and one["payload"] in ordinals:
            one["start_ns"] -= extra_ns
    for row in samples(rows, "completion", "nsys"):
        if row["round"] in ordinals:
            row["duration_ns"] += extra_ns


def scaled(quantity: str, factor: float) -> Edit:
    def edit(rows: Rows) -> None:
        for row in samples(rows, quantity):
            row["duration_ns"] = int(row["duration_ns"] * factor)

    return edit


def without_writes(rows: Rows) -> None:
    for row in rows["counter"]:
        if (row["pass"], row["range_name"], row["metric"]) == ("ncu", LARGE, "dram__bytes_write.sum"):
            row["value"], row["original"] = 0.0, "0"


FAULTS: dict[str, tuple[Edit, str, str]] = {
    "a batch of a nanosecond": (
        lambda rows: samples(rows, "batch_completion")[1].update(duration_ns=1),
        "batch-too-short",
        "1 of 21 batches shorter than the device's work",
    ),
    "events half as far apart": (scaled("batch_event_interval", 0.5), "batch-too-short", "took 35.0 µs"),
    "unprofiled times 1.4 times as long": (
        scaled("completion", 1.4),
        "profiled-faster",
        "79.7 µs under nsys, 108.9 µs without",
    ),
    "the stopwatch of one invocation stops early": (
        lambda rows: samples(rows, "completion", "nsys")[3].update(duration_ns=75_000),
        "clock-differs",
        "in invocation 3 under nsys the driver's clock shows 75.0 µs",
    ),
    "the stopwatch of one invocation outlasts its range": (
        lambda rows: samples(rows, "completion", "nsys")[3].update(duration_ns=95_000),
        "clock-differs",
        "and the range 80.5 µs",
    ),
    "something runs in every invocation": (
        lambda rows: in_nsys_process(rows, 20_000, range(5)),
        "unexplained-time",
        "21.2 µs of a profiled completion of 99.7 µs",
    ),
    # One array of 67.1 MB in one kernel; no more than the 62.9 MB of L2 can have stayed behind.
    "a kernel wrote nothing": (without_writes, "dram-below-logical", "wrote 0 B of DRAM"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_is_named(tmp_path: Path, fault: str) -> None:
    edit, code, text = FAULTS[fault]
    found = told(judged(tmp_path, edit), DISAGREE, CANNOT_ANSWER)
    assert {(one.code, one.case_id) for one in found} == {(code, LARGE)}
    assert any(text in one.seen for one in found), [one.seen for one in found]


def slow_once(ordinal: int) -> Edit:
    return lambda rows: in_nsys_process(rows, 40_000, range(ordinal, ordinal + 1))


def throttled(rows: Rows) -> None:
    for row in rows["device_state"]:
        if (row["pass"], row["moment"]) == ("timing", "after"):
            row.update(throttle_reasons="hw_slowdown+hw_thermal_slowdown", sm_clock_mhz=300, temperature_c=92)


def other_clock(rows: Rows) -> None:
    for row in rows["device_state"]:
        if row["pass"] == "nsys":
            row["sm_clock_mhz"] = 1_200


def warmer_once(rows: Rows) -> None:
    """The second invocation found all of its input in L2."""
    for row in rows["counter"]:
        wanted = ("ncu-warm", LARGE, 1, "dram__bytes_read.sum")
        if (row["pass"], row["range_name"], row["invocation"], row["metric"]) == wanted:
            row["value"], row["original"] = 20e6, "20000000"


EFFECTS: dict[str, tuple[Edit, str, str | None, str]] = {
    "the first is slow": (slow_once(0), "first-invocation", LARGE, "41.2 µs of its 119.7 µs are neither"),
    "another one is slow": (slow_once(2), "slow-invocation", LARGE, "invocation 2, one of 5"),
    "a library works before it launches": (
        lambda rows: in_nsys_process(rows, 6_000, range(5)),
        "host-code",
        LARGE,
        "7.2 µs of a profiled completion of 85.7 µs (8%)",
    ),
    "the device was hot": (
        throttled,
        "throttled",
        None,
        "timing, after: hw_slowdown+hw_thermal_slowdown at 300 MHz, 92 °C",
    ),
    "the clock was another": (other_clock, "clocks-differ", None, "nsys before 1200 MHz"),
    "warm invocations differ": (warmer_once, "warm-repeats-differ", LARGE, "read 20.0 MB to 67.1 MB"),
}


@pytest.mark.parametrize("effect", EFFECTS)
def test_what_has_a_name_is_explained_with_its_numbers(
    synthetic_run: RunFolder, tmp_path: Path, effect: str
) -> None:
    edit, code, case_id, text = EFFECTS[effect]
    usual = {one.code for one in told(reconcile_run(synthetic_run), EXPLAINED)}
    reconciliation = judged(tmp_path, edit)
    assert reconciliation.exit_status == 0
    new = [one for one in told(reconciliation, EXPLAINED) if one.code not in usual]
    assert [(one.code, one.case_id) for one in new] == [(code, case_id)]
    assert text in new[0].seen
    assert new[0].numbers


def test_profiled_faster_than_unprofiled_is_explained_by_a_hot_device(tmp_path: Path) -> None:
    def edit(rows: Rows) -> None:
        throttled(rows)
        scaled("completion", 1.4)(rows)

    assert "profiled-faster" in {one.code for one in told(judged(tmp_path, edit), EXPLAINED)}


def test_profiled_faster_is_explained_where_an_undisturbed_sample_is_as_fast(tmp_path: Path) -> None:
    def edit(rows: Rows) -> None:
        scaled("completion", 1.4)(rows)
        samples(rows, "completion")[5].update(duration_ns=78_000)

    (found,) = [one for one in told(judged(tmp_path, edit), EXPLAINED) if one.code == "profiled-faster"]
    assert "the fastest without is 78.0 µs" in found.seen


def test_an_invocation_that_the_stopwatch_did_not_see_is_not_split(tmp_path: Path) -> None:
    def edit(rows: Rows) -> None:
        rows["sample"].remove(samples(rows, "completion", "nsys")[1])

    found = [one for one in told(judged(tmp_path, edit), CANNOT_ANSWER) if one.family == "time"]
    assert [(one.code, one.case_id) for one in found] == [("missing-evidence", LARGE)]


def test_no_share_is_told_where_invocations_differ_or_nothing_much_is_declared(recorded_run: RunFolder) -> None:
    limits = {one.case_id: one for one in reconcile_run(recorded_run).findings if one.family == "limits"}
    assert not any("share" in name for name in limits["row:fused:graph:4096x1024"].numbers)
    assert not any("share" in name for name in limits["row:cudnn:stream:1x128"].numbers)
    assert limits[LARGE].numbers["read_share"] == pytest.approx(1, abs=0.01)
    shares = [value for one in limits.values() for name, value in one.numbers.items() if "share" in name]
    assert max(value for value in shares if value is not None) <= 1.1


def test_what_bounds_a_case_stands_in_the_table(recorded_run: RunFolder) -> None:
    reconciliation = reconcile_run(recorded_run)
    cells = table.cells(reconciliation)
    assert cells[LARGE]["limits"] == "✓ agree: memory-bound"
    assert cells["row:fused:graph:1x128"]["limits"] == "✓ agree: launch-bound"
    assert cells["row:staged:graph:4096x1024"]["limits"] == "≈ explained: l2-resident"
    assert "agree: memory-bound" in table.render(reconciliation, width=110)
    assert "✓ agree: memory-bound |" in table.markdown_table(reconciliation)


def test_a_single_invocation_is_a_first_one_and_tells_nothing_of_what_is_usual() -> None:
    """Seen on an H200: one cold invocation with 21.6 of its 98.4 µs in no part."""
    cold = {"invocation": 0, "completion_ns": 98_400, "completion_remainder_ns": 21_600, "remainder_ns": 22_000}
    warm = [{**cold, "invocation": number} for number in (1, 2)]
    codes = [finding.code for finding in time._remainder("case", [cold], BOUNDS)]
    assert codes == ["host-code", "first-invocation"]
    codes = [finding.code for finding in time._remainder("case", [cold, *warm], BOUNDS)]
    assert codes == ["unexplained-time"]


@pytest.mark.parametrize(("completion_ns", "codes"), [(14_000_000, []), (1_000_000, ["unexplained-time"])])
def test_what_lies_around_the_stopwatch_may_be_a_share_of_a_long_wait(
    completion_ns: int, codes: list[str]
) -> None:
    splits = [
        {"invocation": turn, "completion_ns": completion_ns, "completion_remainder_ns": 1_000}
        | {"remainder_ns": 11_000}
        for turn in range(3)
    ]
    found = list(time._remainder(LARGE, splits, BOUNDS))
    assert [one.code for one in found] == codes
    assert all(one.numbers["outside_ns"] == 10_000 for one in found)
