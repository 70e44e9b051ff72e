"""The runs recorded on an H200, asked as a reader would ask them: the counts that each experiment must show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nsight_suite
from nsight_suite.scanning import scan
from nsight_suite.sources import data_root

EXPERIMENTS = ("jobs", "pointwise", "rms", "row", "tiled")
RUNS = {name: data_root() / "examples" / f"{name}-h200" for name in EXPERIMENTS}

# Kernels of an invocation by variant; of the megakernel at 64 rows there are two launches.
KERNELS = {
    "pointwise": {"separate": 3, "fused": 1},
    "jobs": {"separate": 2, "fused": 1, "queue": 1},
    "row": {"staged": 4, "fused": 1, "tuned": 1, "cudnn": 1},
    "tiled": {"separate": 3, "phased": 1, "queue": 2, "dataflow": 1},
    "rms": {"baseline": 9, "local": 3, "mega": 1},
}


@pytest.fixture(scope="module", params=EXPERIMENTS)
def recorded(request: pytest.FixtureRequest) -> Iterator[tuple[str, nsight_suite.Run]]:
    with nsight_suite.open_run(RUNS[request.param]) as run:
        yield request.param, run


def rows(run: nsight_suite.Run, query: str) -> list[dict[str, Any]]:
    return run.query(query, as_="rows")


def test_every_case_reconciles(recorded: tuple[str, nsight_suite.Run]) -> None:
    _, run = recorded
    reconciliation = run.reconcile()
    assert reconciliation.exit_status == 0
    assert {finding.verdict for finding in reconciliation.findings} <= {"agree", "explained", "not-declared"}


def test_kernels_and_nodes_are_as_the_experiment_says(recorded: tuple[str, nsight_suite.Run]) -> None:
    name, run = recorded
    counted = rows(run, "kernel_counts")
    assert counted
    for row in counted:
        variant = "mega" if row["variant"].startswith("mega") else row["variant"]
        wanted = KERNELS[name][variant] * (2 if variant == "mega" and row["shape"].startswith("64x") else 1)
        seen = row["expected_kernels"], row["kernels_per_invocation"], row["ncu_min"], row["ncu_max"]
        # Of a graph that was profiled as a whole, ncu tells no kernels.
        assert {value for value in seen if value is not None} == {wanted}, row["case_id"]
        assert row["kernels_per_invocation"] == wanted, row["case_id"]
    for row in rows(run, "graph_nodes"):
        case = next(one for one in counted if one["case_id"] == row["case_id"])
        assert row["nodes"] == row["api_nodes"] == row["expected_nodes"] == case["expected_kernels"], row[
            "case_id"
        ]


def test_no_check_of_an_output_failed(recorded: tuple[str, nsight_suite.Run]) -> None:
    _, run = recorded
    checked = rows(run, "validation")
    assert checked
    assert {row["failed"] for row in checked} == {0}
    assert sum(row["failed"] for row in rows(run, "validation_counts")) == 0


def test_nothing_private_is_in_a_recorded_run(recorded: tuple[str, nsight_suite.Run]) -> None:
    name, _ = recorded
    found = scan([RUNS[name]])
    assert (found.leaks, found.unreadable) == ((), ())


def test_jobs_fill_one_counter_per_invocation_and_start_early() -> None:
    with nsight_suite.open_run(RUNS["jobs"]) as run:
        memsets = {row["variant"]: row["nsys_memsets_per_replay"] for row in rows(run, "graph_nodes")}
        assert memsets == {"separate": 0, "fused": 0, "queue": 1}
        early = {row["case_id"]: row["early"] for row in rows(run, "early_starts") if row["stage"] == "B"}
        covered = rows(run, "task_coverage")
    assert {(row["planned"], row["recorded"]) for row in covered} == {(597, 597)}  # 4 · 132 + 66 + 3
    assert {case.split(":")[1]: count for case, count in early.items() if case.endswith("ragged")} == {
        "separate": 0,
        "fused": 596,
        "queue": 596,
    }


def test_tiles_are_all_visited_and_no_stage_of_separate_kernels_overlaps() -> None:
    with nsight_suite.open_run(RUNS["tiled"]) as run:
        covered, violated = rows(run, "task_coverage"), rows(run, "task_violations")
        early = rows(run, "early_starts")
        workers = {row["case_id"].split(":")[1]: row["blocks"] for row in rows(run, "planned_launches")}
    assert violated == []
    assert {(row["stage"], row["planned"]) for row in covered} == {("A", 1024), ("B", 128), ("C", 1024)}
    assert all(row["recorded"] == row["planned"] and not row["repeated"] for row in covered)
    ordered = [row for row in early if row["case_id"].split(":")[1] in ("separate", "phased")]
    assert {row["early"] for row in ordered if row["stage"] != "A"} == {0}
    queued = [row for row in early if ":queue:" in row["case_id"] and row["stage"] != "A"]
    assert all(row["early"] > row["tasks"] / 2 for row in queued)
    assert workers["phased"] == workers["queue"] == 6 * 132


def test_rms_was_timed_in_two_sessions_on_two_gpus_after_a_pilot_chose() -> None:
    with nsight_suite.open_run(RUNS["rms"]) as run:
        sessions = rows(run, "session_completion")
        chosen = [row for row in rows(run, "pilot_choices") if row["chosen"]]
        headline = rows(run, "headline")
    assert {row["pass"] for row in sessions} == {"timing", "timing-2"}
    assert len({row["uuid"] for row in sessions}) == 2
    assert len(chosen) == 4 * 2  # per row count and submission
    assert [row["row_count"] for row in headline] == [1, 1, 8, 8, 32, 32, 64, 64]
    assert all(row["sessions"] == 2 and row["ratio"] > 0 for row in headline)
