"""What the queries about tasks, sessions, pilots and launches must say: golden values worked by hand, in ns."""

from __future__ import annotations

from typing import Any

import pytest
from evidence_rows import Row, ask, columns, copy, counter, kernel, launch, nvtx, store_of

from nsight_suite.evidence.store import open_store
from nsight_suite.querying import find_queries, find_query
from nsight_suite.runfolder import RunFolder

CASE = "x:queue:graph:8"


def case(case_id: str, order: int = 0) -> Row:
    experiment, variant, submission, shape = case_id.split(":")
    named = {"case_id": case_id, "experiment": experiment, "variant": variant, "submission": submission}
    return {**named, "shape": shape, "case_order": order, "parameters": "{}", "timed": True}


def plan(stage: str, position: int, job: int, tasks: int | None, after: str = "nothing") -> Row:
    """`tasks` is the number of tiles; None for one task without a tile."""
    made = {"pass": "trace", "case_id": CASE, "stage": stage, "position": position, "job": job, "after": after}
    return {**made, "tasks": 1 if tasks is None else tasks, "tiled": tasks is not None}


def task(stage: str, job: int, tile: int | None, start_ns: int, end_ns: int, **more: Any) -> Row:
    made = {"pass": "trace", "case_id": CASE, "invocation": 0, "worker": job, "multiprocessor": job}
    times = {"start_ns": 1_000 + start_ns, "end_ns": 1_000 + end_ns}
    return {**made, "stage": stage, "job": job, "tile": tile, **times, **more}


# Two jobs. A has two tiles of job 0 and one of job 1, B combines a job, C follows on the whole of B.
PLAN = [
    plan("A", 0, 0, 2),
    plan("A", 0, 1, 1),
    *(plan("B", 1, job, None, "job") for job in (0, 1)),
    *(plan("C", 2, job, None, "stage") for job in (0, 1)),
]
# B of job 1 begins (60) before A of job 0 has ended (100), which it does not need.
TASKS = [
    task("A", 0, 0, 0, 40),
    task("A", 0, 1, 10, 100, worker=2),
    task("A", 1, 0, 5, 50),
    task("B", 1, None, 60, 80),
    task("B", 0, None, 100, 130),
    task("C", 0, None, 130, 140),
    task("C", 1, None, 135, 160),
]
DRIVEN = [{"pass": "trace", "case_id": CASE, "invocations": 1}]


def asked(query: str, tasks: list[Row] = TASKS, **more: list[Row]) -> list[Row]:
    return ask(query, task=tasks, task_plan=PLAN, driven=DRIVEN, variant_case=[case(CASE)], **more)


def without(stage: str, job: int) -> list[Row]:
    return [row for row in TASKS if (row["stage"], row["job"]) != (stage, job)]


@pytest.mark.parametrize(
    "name",
    [
        *("tasks", "task_coverage", "task_violations", "early_starts", "task_tail", "multiprocessor_load"),
        *("task_doubts", "advice"),
        *("session_completion", "pilot_choices", "occupancy", "planned_launches", "launches_as_planned"),
        *("same_binary", "validation_counts", "kernel_build_agreement", "graph_nodes", "invocations"),
        *("kernel_counts", "builds", "validation", "evidence_rows", "resources", "outputs"),
    ],
)
def test_the_header_tells_every_column(name: str) -> None:
    with store_of({}) as store:
        query = find_query(name)
        found = [row[0] for row in store.connection.execute(query.sql).description]
    assert list(query.columns) == found
    assert query.about.startswith("One row per ")


def test_tasks_count_from_the_first_start_and_follow_the_plan() -> None:
    found = asked("tasks")
    assert columns(found, "stage position job tile start_ns end_ns duration_ns worker") == [
        ("A", 0, 0, 0, 0, 40, 40, 0),
        ("A", 0, 0, 1, 10, 100, 90, 2),
        ("A", 0, 1, 0, 5, 50, 45, 1),
        ("B", 1, 0, None, 100, 130, 30, 0),
        ("B", 1, 1, None, 60, 80, 20, 1),
        ("C", 2, 0, None, 130, 140, 10, 0),
        ("C", 2, 1, None, 135, 160, 25, 1),
    ]


COVERAGE = "stage planned recorded missing repeated unplanned backwards"


def test_a_whole_trace_is_covered() -> None:
    found = asked("task_coverage")
    assert columns(found, COVERAGE) == [
        ("A", 3, 3, 0, 0, 0, 0),
        ("B", 2, 2, 0, 0, 0, 0),
        ("C", 2, 2, 0, 0, 0, 0),
    ]
    assert {columns([row], "first_missing first_repeated first_unplanned")[0] for row in found} == {
        (None, None, None)
    }


def test_what_is_missing_repeated_unplanned_or_backwards_is_counted_and_named() -> None:
    tasks = [
        *(row for row in TASKS if (row["stage"], row["tile"]) != ("A", 1)),
        task("B", 1, None, 61, 81),
        task("C", 7, None, 170, 165),
        task("D", 0, None, 180, 190),
    ]
    found = asked("task_coverage", tasks)
    assert columns(found, COVERAGE) == [
        ("A", 3, 2, 1, 0, 0, 0),
        ("B", 2, 3, 0, 1, 0, 0),
        ("C", 2, 3, 0, 0, 1, 1),
        ("D", 0, 1, 0, 0, 1, 0),
    ]
    assert found[0]["first_missing"] == "job 0, tile 1"
    assert found[1]["first_repeated"] == "job 1"
    assert [row["first_unplanned"] for row in found[2:]] == ["job 7", "job 0"]
    assert [row["position"] for row in found] == [0, 1, 2, None]


def test_a_tile_of_an_untiled_task_and_a_task_without_its_tile_were_not_planned() -> None:
    found = asked("task_coverage", [task("B", 0, 0, 100, 130), task("A", 1, None, 5, 50)])
    assert columns(found, "stage missing unplanned first_missing first_unplanned") == [
        ("A", 3, 1, "job 0, tile 0", "job 1"),
        ("B", 2, 1, "job 0", "job 0, tile 0"),
        ("C", 2, 0, "job 0", None),
    ]


def test_an_invocation_that_left_nothing_is_missing_as_a_whole() -> None:
    two = [{"pass": "trace", "case_id": CASE, "invocations": 2}]
    found = ask("task_coverage", task=TASKS, task_plan=PLAN, driven=two, variant_case=[case(CASE)])
    assert columns(found, "invocation stage missing") == [
        *((0, stage, 0) for stage in "ABC"),
        *((1, "A", 3), (1, "B", 2), (1, "C", 2)),
    ]


def test_an_invocation_that_the_driver_did_not_make_was_not_planned() -> None:
    found = asked("task_coverage", [*TASKS, task("A", 0, 0, 200, 240, invocation=1)])
    assert columns(found, f"invocation {COVERAGE} first_unplanned") == [
        *((0, stage, count, count, 0, 0, 0, 0, None) for stage, count in (("A", 3), ("B", 2), ("C", 2))),
        (1, "A", 0, 1, 0, 0, 1, 0, "job 0, tile 0"),
    ]
    untold = ask("task_coverage", task=TASKS, task_plan=PLAN, variant_case=[case(CASE)])
    assert columns(untold, "invocation stage missing unplanned") == [(0, stage, 0, 0) for stage in "ABC"]


ONE_KERNEL = [{"pass": "trace", "case_id": CASE, "ordinal": 0, "kind": "kernel", "name": "k"}]
TWO_KERNELS = [*ONE_KERNEL, {**ONE_KERNEL[0], "ordinal": 1}]
DOUBT = "doubt records first"


def test_a_trace_without_doubts() -> None:
    for launches in (ONE_KERNEL, TWO_KERNELS, []):
        assert (
            asked("task_doubts", planned_launch=launches, device=[{"pass": "trace", "multiprocessors": 2}])
            == []
        )


def test_values_that_a_task_lacks_are_named() -> None:
    lacking = ["worker", "multiprocessor", "start_ns", "end_ns"]
    tasks = [*TASKS[:3], *({**row, key: None} for row, key in zip(TASKS[3:], lacking, strict=True))]
    assert columns(asked("task_doubts", tasks), DOUBT) == [
        ("no end", 1, "stage C, job 1"),
        ("no multiprocessor", 1, "stage B, job 0"),
        ("no start", 1, "stage C, job 0"),
        ("no worker", 1, "stage B, job 1"),
    ]


def test_what_no_device_can_run_is_named() -> None:
    sized = [{"pass": "trace", "multiprocessors": 2}]
    beyond = [*TASKS[:6], {**TASKS[6], "multiprocessor": 2, "worker": 9}]
    assert columns(asked("task_doubts", beyond, device=sized), DOUBT) == [
        ("no such multiprocessor", 1, "stage C, job 1")
    ]
    # Worker 2 ran A of job 0 on multiprocessor 0; now C of job 1 on 1.
    moved = [*TASKS[:6], {**TASKS[6], "worker": 2}]
    assert columns(asked("task_doubts", moved, planned_launch=ONE_KERNEL), DOUBT) == [
        ("worker moved", 2, "stage A, job 0, tile 1")
    ]
    assert asked("task_doubts", moved, planned_launch=TWO_KERNELS) == []
    # B of job 0 runs from 100 to 130; a second task of its worker from 129 on.
    overlapping = [*TASKS, task("A", 5, None, 129, 130, worker=0, multiprocessor=0)]
    assert columns(asked("task_doubts", overlapping, planned_launch=ONE_KERNEL), DOUBT) == [
        ("tasks overlap", 1, "stage A, job 5")
    ]
    assert asked("task_doubts", overlapping, planned_launch=TWO_KERNELS) == []


def test_a_need_that_is_none_is_named() -> None:
    plans = [{**PLAN[0], "after": "moon"}, {**PLAN[3], "after": None}, *PLAN[4:]]
    found = ask("task_doubts", task_plan=plans)
    assert columns(found, f"invocation {DOUBT}") == [(None, "unknown need", 2, "stage A, job 0")]


def test_every_query_opens_with_the_tables_that_it_reads(synthetic_run: RunFolder) -> None:
    """Also one that names a WITH table or a column as a shared view is named."""
    for query in find_queries():
        with open_store(synthetic_run, sql=query.sql).connection as connection:
            connection.execute(query.sql).fetchall()


def test_without_a_plan_nothing_is_missing_or_unplanned() -> None:
    (row,) = ask("task_coverage", task=[task("A", 0, 0, 0, 9), task("A", 0, 0, 9, 12)])
    assert columns([row], COVERAGE) == [("A", None, 2, None, 1, None, 0)]


VIOLATION = "stage job tile after needs_stage needs_job needs_tile early_ns"


def test_no_task_of_a_right_trace_is_too_early() -> None:
    assert asked("task_violations") == []


def test_a_task_before_its_own_job_is_named_with_what_it_needed() -> None:
    # B of job 0 began at 70; its A tile 1 ended at 100, its A tile 0 at 40.
    found = asked("task_violations", [*without("B", 0), task("B", 0, None, 70, 130)])
    assert columns(found, VIOLATION) == [("B", 0, None, "job", "A", 0, 1, 30)]
    assert found[0]["needs_worker"] == 2


def test_a_task_before_the_whole_stage_is_named_with_the_last_of_it() -> None:
    # C of job 1 began at 120, after its own B (80) and before that of job 0 (130).
    found = asked("task_violations", [*without("C", 1), task("C", 1, None, 120, 160)])
    assert columns(found, VIOLATION) == [("C", 1, None, "stage", "B", 0, None, 10)]


def test_beginning_in_the_moment_of_the_end_is_in_time() -> None:
    assert asked("task_violations", [*without("B", 0), task("B", 0, None, 100, 130)]) == []


def test_early_starts_count_against_the_last_of_the_stage_before() -> None:
    # A ends at 100: B of job 1 (60) is early, B of job 0 (100) not. B ends at 130: no C is early.
    found = asked("early_starts")
    assert columns(found, "stage tasks early first_start_ns last_end_ns before_ended_ns") == [
        ("A", 3, None, 0, 100, None),
        ("B", 2, 1, 60, 130, 100),
        ("C", 2, 0, 130, 160, 130),
    ]


def test_tail_and_load() -> None:
    # Job 0 (multiprocessor 0) works 40 + 90 + 30 + 10 = 170 until 140, job 1 works 45 + 20 + 25 = 90 until 160.
    (tail,) = asked("task_tail")
    assert columns([tail], "tasks workers multiprocessors span_ns busy_ns tail_ns tail_share") == [
        (7, 3, 2, 160, 260, 20, 0.125)
    ]
    assert columns(
        asked("multiprocessor_load"), "multiprocessor tasks workers busy_ns first_start_ns last_end_ns"
    ) == [(0, 4, 2, 170, 0, 140), (1, 3, 1, 90, 5, 160)]


def sample(pass_name: str, case_id: str, number: int, duration_ns: int) -> Row:
    made = {"pass": pass_name, "case_id": case_id, "quantity": "completion", "round": number}
    return {**made, "position": 0, "invocations": 1, "duration_ns": duration_ns}


def test_sessions_stand_apart_and_their_medians_are_averaged() -> None:
    # Medians 20 and 40: their mean is 30, whatever the number of samples. The pilot is no session.
    found = ask(
        "session_completion",
        variant_case=[case(CASE)],
        device=[{"pass": "timing", "uuid": "GPU-1"}, {"pass": "timing-2", "uuid": "GPU-2"}],
        sample=[
            *(sample("timing", CASE, turn, value) for turn, value in enumerate((10, 20, 30))),
            *(sample("timing-2", CASE, turn, 40) for turn in range(5)),
            sample("pilot", CASE, 0, 999),
        ],
    )
    assert columns(found, "pass uuid samples median_ns p10_ns p90_ns sessions mean_of_medians_ns") == [
        ("timing", "GPU-1", 3, 20, 12, 28, 2, 30),
        ("timing-2", "GPU-2", 5, 40, 40, 40, 2, 30),
    ]


GRID, ROW = "x:grid:graph:8", "x:row:graph:8"


def choice(variant: str, median_ns: float, chosen: bool, rounds: int = 3) -> Row:
    made = {"pass": "pilot", "group_name": "mega", "shape": "8", "submission": "graph", "variant": variant}
    return {**made, "rounds": rounds, "median_ns": median_ns, "chosen": chosen}


def piloted(*choices: Row, started: str = "2026-01-01T00:00:00Z") -> list[Row]:
    samples = {GRID: (10, 20, 90), ROW: (30, 40, 50)}
    return ask(
        "pilot_choices",
        variant_case=[case(GRID, 0), case(ROW, 1)],
        choice=choices,
        sample=[
            sample("pilot", case_id, turn, value)
            for case_id, values in samples.items()
            for turn, value in enumerate(values)
        ],
        **{
            "pass": [
                {"pass": "pilot", "started_utc": started},
                {"pass": "timing", "started_utc": "2026-01-01T00:01:00Z"},
                {"pass": "timing-2", "started_utc": "2026-01-01T00:02:00Z"},
            ]
        },
    )


def test_a_pilots_choice_is_held_against_its_samples() -> None:
    found = piloted(choice("grid", 20.0, True), choice("row", 40.0, False))
    wanted = "variant case_id samples median_ns sample_median_ns chosen fastest before_sessions"
    assert columns(found, wanted) == [
        ("grid", GRID, 3, 20.0, 20.0, True, True, True),
        ("row", ROW, 3, 40.0, 40.0, False, False, True),
    ]


def test_a_pilot_after_a_session_is_told() -> None:
    found = piloted(choice("grid", 20.0, True), started="2026-01-01T00:01:30Z")
    assert [row["before_sessions"] for row in found] == [False]


def test_occupancy_tells_builds_and_shapes_apart() -> None:
    limit = {"kernel": "k", "block_threads": 256, "dynamic_shared_bytes": 0, "multiprocessors": 132}
    found = ask(
        "occupancy",
        occupancy=[
            {**limit, "pass": "timing", "cubin_sha256": "a", "active_blocks": 6},
            {**limit, "pass": "nsys", "cubin_sha256": "a", "active_blocks": 6},
            {**limit, "pass": "trace", "cubin_sha256": "t", "active_blocks": 5},
        ],
    )
    assert columns(found, "active_blocks resident_blocks cubin_sha256 passes") == [
        (5, 660, "t", "trace"),
        (6, 792, "a", "nsys, timing"),
    ]


def planned(pass_name: str, ordinal: int, name: str, blocks: int = 8, **more: Any) -> Row:
    made = {"pass": pass_name, "case_id": CASE, "ordinal": ordinal, "kind": "kernel", "name": name}
    shape = {"grid_x": blocks, "grid_y": 1, "grid_z": 1, "block_x": 64, "block_y": 1, "block_z": 1}
    code = {"source": "q.cu", "cubin_sha256": "t" if pass_name == "trace" else "a", "cooperative": True}
    return {**made, **shape, **code, "dynamic_shared_bytes": 0, **more}


def test_launches_that_passes_planned_alike_are_one_row() -> None:
    fill = {"case_id": CASE, "ordinal": 0, "kind": "memset", "name": "memset", "bytes": 4}
    found = ask(
        "planned_launches",
        variant_case=[case(CASE)],
        device=[{"pass": name, "multiprocessors": 132} for name in ("timing", "trace")],
        planned_launch=[
            *({**fill, "pass": name} for name in ("timing", "trace")),
            planned("timing", 1, "work"),
            planned("trace", 1, "work"),
            planned("timing", 2, "end"),
            planned("trace", 2, "end", 7),
        ],
    )
    wanted = "ordinal kind name grid block blocks threads_per_block bytes multiprocessors passes"
    assert columns(found, wanted) == [
        (0, "memset", "memset", None, None, None, None, 4, 132, "timing, trace"),
        (1, "kernel", "work", "8,1,1", "64,1,1", 8, 64, None, 132, "timing, trace"),
        (2, "kernel", "end", "8,1,1", "64,1,1", 8, 64, None, 132, "timing"),
        (2, "kernel", "end", "7,1,1", "64,1,1", 7, 64, None, 132, "trace"),
    ]


def profiled() -> dict[str, list[Row]]:
    """Two invocations under nsys that launch `work` twice, the second launch of the second in another grid."""
    shape = {"block_x": 64, "block_y": 1, "block_z": 1, "grid_y": 1, "grid_z": 1, "dynamic_shared_bytes": 0}
    told = {"registers_per_thread": 32, "static_shared_bytes": 16, "local_bytes_per_thread": 0}
    ranges, kernels = [], []
    for number in (0, 1):
        begin = 1_000 * number
        ranges.append(nvtx(number, CASE, begin, begin + 900, payload=number, domain="nsight_suite"))
        for turn, blocks in enumerate((8, 8 + number)):
            start = begin + 100 * (turn + 1)
            made = {"kernel_id": 10 * number + turn, "range_id": number, "grid_x": blocks, **shape, **told}
            kernels.append(kernel("work", start, start + 50, **made))
    return {"ranges": ranges, "kernel": kernels}


def test_launch_shapes_are_held_against_the_plan_one_by_one() -> None:
    found = ask(
        "launches_as_planned",
        variant_case=[case(CASE)],
        planned_launch=[planned("r", 0, "work"), planned("r", 1, "work"), planned("trace", 0, "work")],
        **profiled(),
    )
    assert columns(found, "pass kernel turn planned_grid kernels differing seen_grid seen_block") == [
        ("r", "work", 0, "8,1,1", 2, 0, "8,1,1", "64,1,1"),
        ("r", "work", 1, "8,1,1", 2, 1, "9,1,1", "64,1,1"),
    ]


def test_launch_shapes_by_ncu() -> None:
    where = {"name": "work", "range_name": CASE, "invocation": 0, "ordinal": 0}
    found = ask(
        "launches_as_planned",
        variant_case=[case(CASE)],
        planned_launch=[planned("r", 0, "work")],
        counter=[counter(1, "launch__shared_mem_per_block_dynamic", 1024.0, "byte/block", **where)],
    )
    assert columns(found, "kernels differing seen_grid seen_dynamic_shared_bytes") == [(1, 1, "8,1,1", 1024)]


def test_variants_of_one_binary_are_found() -> None:
    grid, reload_, row = ("x:grid:graph:8", "x:reload:graph:8", "x:row:graph:8")
    launched = [
        planned("timing", 0, "mega", case_id=grid, source="mega.cu", cubin_sha256="a"),
        planned("timing", 0, "mega", case_id=reload_, source="mega.cu", cubin_sha256="a"),
        planned("trace", 0, "mega", case_id=grid, source="mega.cu", cubin_sha256="t"),
        planned("timing", 0, "rows", case_id=row, source="mega.cu", cubin_sha256="a"),
    ]
    cases = [case(grid, 0), case(reload_, 1), case(row, 2)]
    found = ask("same_binary", variant_case=cases, planned_launch=launched)
    wanted = "source kernel variants cases cubins traced_cubins same_binary cubin_sha256"
    assert columns(found, wanted) == [
        ("mega.cu", "mega", "grid, reload", 2, 1, 1, True, "a"),
        ("mega.cu", "rows", "row", 1, 1, 0, None, "a"),
    ]
    launched[1]["cubin_sha256"] = "b"
    found = ask("same_binary", variant_case=cases, planned_launch=launched)
    assert columns(found[:1], "cubins same_binary cubin_sha256") == [(2, False, None)]


def test_checked_arrays_are_counted_by_variant_and_together() -> None:
    # queue: 2 arrays on 2 inputs with 2 checks each, one of which fails; grid: one array on one input.
    checks: list[Row] = [
        {"pass": "validate", "case_id": CASE, "fixture": fixture, "held_out": fixture == "last", "array": array}
        | {"check": check, "passed": (fixture, array, check) != ("last", "y", "exact")}
        for fixture in ("first", "last")
        for array in ("a", "y")
        for check in ("finite", "exact")
    ]
    checks.append(
        {"pass": "validate", "case_id": GRID, "fixture": "first", "held_out": False, "array": "y"}
        | {"check": "finite", "passed": True}
    )
    found = ask("validation_counts", variant_case=[case(CASE), case(GRID, 1)], validation=checks)
    assert columns(found, "pass variant cases fixtures arrays arrays_checked checks held_out failed") == [
        ("validate", "queue", 1, 2, 2, 4, 8, 4, 1),
        ("validate", "grid", 1, 1, 1, 1, 1, 0, 0),
        ("validate", "all variants", 2, 2, 2, 5, 9, 4, 1),
    ]
    named = ask("validation", variant_case=[case(CASE), case(GRID, 1)], validation=checks)
    assert columns(named[:4], "case_id array check fixtures failed") == [
        (CASE, "a", "exact", 2, 0),
        (CASE, "a", "finite", 2, 0),
        (CASE, "y", "exact", 2, 1),
        (CASE, "y", "finite", 2, 0),
    ]


def test_outputs_are_held_against_what_was_timed() -> None:
    told = {"validate": "b", "timing": "a", "trace": "c", "timing-2": "a", "nsys": None}
    found = ask(
        "outputs",
        variant_case=[case(CASE)],
        driven=[{"pass": name, "case_id": CASE, "output_sha256": sha} for name, sha in told.items()],
    )
    assert columns(found, "pass output_sha256 reference_sha256 same_output") == [
        ("nsys", None, "a", None),
        ("timing", "a", "a", True),
        ("timing-2", "a", "a", True),
        ("trace", "c", "a", False),
        ("validate", "b", "a", False),
    ]


def built(pass_name: str, cubin: str = "a", **more: Any) -> Row:
    made = {"pass": pass_name, "variant": "q", "kernel": "work", "architecture": "sm_90", "source_sha256": "s"}
    told = {"registers_per_thread": 32, "static_shared_bytes": 16, "local_bytes_per_thread": 0}
    return {**made, **told, "cubin_sha256": cubin, **more}


def agreeing(registers: float, **more: list[Row]) -> Row:
    where = {"name": "work", "range_name": CASE, "invocation": 0, "ordinal": 0, "pass": "n"}
    (row,) = ask(
        "kernel_build_agreement",
        variant_case=[case(CASE)],
        build=[built("r"), built("n"), built("trace", "t", registers_per_thread=40)],
        counter=[
            counter(1, "launch__registers_per_thread", registers, "register/thread", **where),
            counter(1, "launch__shared_mem_per_block_static", 16.0, "byte/block", **where),
        ],
        **profiled(),
        **more,
    )
    return row


@pytest.mark.parametrize(
    "launched", [[], [planned("r", 0, "work"), planned("n", 0, "work")]], ids=["", "planned"]
)
def test_registers_and_memory_by_three_tools(launched: list[Row]) -> None:
    row = agreeing(32.0, planned_launch=launched)
    assert columns([row], "kernel passes build_registers nsys_registers ncu_registers") == [
        ("work", "n, r", 32, 32, 32)
    ]
    assert columns([row], "build_static_bytes nsys_static_bytes ncu_static_bytes") == [(16, 16, 16)]
    assert columns([row], "build_local_bytes nsys_local_bytes agree") == [(0, 0, True)]
    row = agreeing(40.0, planned_launch=launched)
    assert columns([row], "ncu_registers agree") == [(40, False)]


@pytest.mark.parametrize(("given", "agree"), [(16.0, True), (12.0, False), (17.0, False)])
def test_a_launch_is_given_sixteen_registers_at_least(given: float, agree: bool) -> None:
    """As seen on an H200: the assembler says 12, nsys and ncu say 16."""
    (row,) = ask(
        "kernel_build_agreement",
        variant_case=[case(CASE)],
        build=[built("n", registers_per_thread=12)],
        counter=[
            counter(
                1,
                "launch__registers_per_thread",
                given,
                "register/thread",
                name="work",
                range_name=CASE,
                invocation=0,
                ordinal=0,
                **{"pass": "n"},
            )
        ],
    )
    assert columns([row], "build_registers ncu_registers agree") == [(12, int(given), agree)]


def test_a_kernel_that_nobody_profiled_has_no_verdict() -> None:
    (row,) = ask("kernel_build_agreement", build=[built("timing")])
    assert columns([row], "build_registers nsys_registers ncu_registers agree") == [(32, None, None, None)]


def test_instrumented_builds_are_compared_among_themselves() -> None:
    found = ask("builds", build=[built("r"), built("n"), built("trace", "t")])
    assert columns(found, "kernel traced passes sources cubins odd_passes") == [
        ("work", False, 2, 1, 1, None),
        ("work", True, 1, 1, 1, None),
    ]
    found = ask("builds", build=[built("r"), built("n"), built("trace", "t", source_sha256="other")])
    assert [row["sources"] for row in found] == [2, 2]


def node(ordinal: int, kind: str, pass_name: str = "validate") -> Row:
    made = {"pass": pass_name, "case_id": CASE, "ordinal": ordinal, "kind": kind}
    return {**made, "name": "work" if kind == "kernel" else None}


def replayed(fills: tuple[int, ...] = (1, 1)) -> dict[str, list[Row]]:
    """Replays of a memset node and a kernel node; `fills` are the memsets that nsys recorded of each."""
    made: dict[str, list[Row]] = {"ranges": [], "launch": [], "kernel": [], "memory_operation": []}
    for number, count in enumerate(fills):
        begin = 1_000 * number
        made["ranges"].append(nvtx(number, CASE, begin, begin + 900, payload=number, domain="nsight_suite"))
        made["launch"].append(launch(number, begin + 10, begin + 20, "graph", range_id=number))
        at = {"launch_id": number, "range_id": number}
        made["memory_operation"] += [
            copy(None, 4, begin + 30 + turn, begin + 31 + turn, graph_node_id=9, **at) for turn in range(count)
        ]
        node_of = {"kernel_id": number, "graph_node_id": 10}
        made["kernel"].append(kernel("work", begin + 40, begin + 90, **node_of, **at))
    return made


def test_memset_nodes_are_no_kernels_and_stand_beside_them() -> None:
    (row,) = ask(
        "graph_nodes",
        variant_case=[case(CASE)],
        graph_node=[node(0, "memset"), node(1, "kernel")],
        graph_dot=[
            {"pass": "validate", "case_id": CASE, "kind": kind, "nodes": 1} for kind in ("kernel", "memset")
        ],
        **replayed(),
    )
    assert columns([row], "api_nodes dot_nodes nsys_nodes_per_replay nodes") == [(1, 1, 1, 1)]
    assert columns([row], "api_memsets dot_memsets nsys_memsets_per_replay") == [(1, 1, 1)]
    assert columns([row], "dot_agrees api_kinds dot_kinds") == [
        (True, "kernel 1, memset 1", "kernel 1, memset 1")
    ]
    assert columns([row], "other_nodes other_kinds expected_memsets") == [(1, "memset", None)]


def test_a_dot_dump_that_tells_other_nodes_is_seen() -> None:
    (row,) = ask(
        "graph_nodes",
        variant_case=[case(CASE)],
        graph_node=[node(0, "kernel"), node(1, "kernel"), node(0, "kernel", "nsys")],
        graph_dot=[{"pass": "validate", "case_id": CASE, "kind": "kernel", "nodes": 1}],
    )
    assert columns([row], "api_nodes api_min api_max dot_nodes nodes") == [(None, 1, 2, 1, None)]
    assert columns([row], "dot_agrees api_kinds dot_kinds") == [(False, "kernel 1 or kernel 2", "kernel 1")]


def test_memsets_of_invocations_are_counted() -> None:
    traced = replayed((1, 2))
    found = ask("invocations", variant_case=[case(CASE)], **traced)
    assert columns(found, "invocation launches kernels memory_operations memsets") == [
        (0, 1, 1, 1, 1),
        (1, 1, 1, 2, 2),
    ]
    (row,) = ask("kernel_counts", variant_case=[case(CASE)], **traced)
    assert columns([row], "kernels_per_invocation nsys_memsets_min nsys_memsets_max") == [(1, 1, 2)]
    (row,) = ask("graph_nodes", variant_case=[case(CASE)], **traced)
    assert row["nsys_memsets_per_replay"] is None


def test_resources_of_variants_that_share_a_source() -> None:
    # The build is called `q` after its source; what launches it is the variant `queue`.
    (row,) = ask(
        "resources",
        variant_case=[case(CASE)],
        build=[built("r")],
        planned_launch=[planned("r", 0, "work")],
        **profiled(),
    )
    assert columns([row], "variant kernel build_registers nsys_registers") == [("queue", "work", 32, 32)]
