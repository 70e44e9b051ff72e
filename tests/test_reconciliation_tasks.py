"""A whole run (pilot, sessions, trace, memsets) reconciles; each planted fault is named by its code alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic_run import SECOND_UUID, TRACED_SHAPE, UUID, make_run
from test_reconciliation import change, codes, grave

from nsight_suite.reconciliation import reconcile_run
from nsight_suite.reconciliation.findings import DISAGREE
from nsight_suite.runfolder import RunFolder

STAGED, FUSED = (f"row:{variant}:graph:{TRACED_SHAPE}" for variant in ("staged", "fused"))
STREAM = f"row:staged:stream:{TRACED_SHAPE}"

Copy = Callable[[], RunFolder]


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return make_run(tmp_path_factory.mktemp("whole") / "run", whole=True)


@pytest.fixture
def copy(whole_run: RunFolder, tmp_path: Path) -> Copy:
    def made() -> RunFolder:
        shutil.copytree(whole_run.path, tmp_path / "run")
        return RunFolder(tmp_path / "run")

    return made


def test_a_whole_run_reconciles(whole_run: RunFolder) -> None:
    reconciliation = reconcile_run(whole_run)
    assert grave(reconciliation) == []
    assert reconciliation.exit_status == 0
    counts = next(one for one in reconciliation.findings if (one.code, one.case_id) == ("counts-agree", STAGED))
    assert counts.seen == "kernels per invocation: declared 4, nsys 4, ncu 4, graph nodes 4; memsets 1"


def test_early_starts_are_counted_and_called_no_speedup(whole_run: RunFolder) -> None:
    """B of row r begins at 1060 + 20 r, A ends at 1630; C begins at 1580 + 20 r + 10 t, B ends at 2180."""
    found = {one.case_id: one for one in reconcile_run(whole_run).findings if one.code == "task-order-agrees"}
    assert set(found) == {STAGED, FUSED, f"row:cudnn:graph:{TRACED_SHAPE}"}
    assert found[STAGED].numbers == {"tasks": 320, "early_starts": 0, "invocations": 2}
    assert found[FUSED].numbers == {"tasks": 320, "early_starts": 2 * (29 + 60), "invocations": 2}
    assert "320 tasks of 3 stages in 2 invocations ran once each" in found[FUSED].seen
    assert "29 of 32 B began before the last of the stage before had ended (invocation 0)" in found[FUSED].seen
    assert found[FUSED].means == "An earlier start is no speed-up: compare unprofiled completions."


def test_a_second_session_on_another_gpu_is_meant_to_be(whole_run: RunFolder) -> None:
    (found,) = [one for one in reconcile_run(whole_run).findings if one.code == "other-device"]
    assert (found.verdict, found.numbers) == ("explained", {"devices": 2})
    assert f"timing-2 on {SECOND_UUID}" in found.seen


def test_a_second_session_on_the_same_gpu_needs_no_word(copy: Copy) -> None:
    run = copy()
    change(run, "UPDATE @device SET uuid = (SELECT min(uuid) FROM @device) WHERE pass = 'timing-2'")
    reconciliation = reconcile_run(run)
    assert "other-device" not in {one.code for one in reconciliation.findings}
    assert reconciliation.exit_status == 0


OF_FUSED = f"case_id = '{FUSED}' AND invocation = 1"
FAULTS = {
    # fault: (planted by, code, case, something that its text says)
    "a kernel skips one tile": (
        f"DELETE FROM @task WHERE {OF_FUSED} AND stage = 'C' AND job = 5 AND tile = 1",
        "task-missing",
        FUSED,
        "stage C, invocation 1: 1 of 64 tasks left no record (first: job 5, tile 1)",
    ),
    "a whole invocation left no task": (
        f"DELETE FROM @task WHERE {OF_FUSED}",
        "task-missing",
        FUSED,
        "stage A, invocation 1: 64 of 64 tasks left no record (first: job 0, tile 0)",
    ),
    "a task ran twice": (
        "INSERT INTO @task SELECT * REPLACE (start_ns + 5000 AS start_ns, end_ns + 5000 AS end_ns) FROM @task "
        f"WHERE {OF_FUSED} AND stage = 'C' AND job = 3 AND tile = 0",
        "task-repeated",
        FUSED,
        "stage C, invocation 1: 1 of 64 tasks are recorded again (first: job 3, tile 0)",
    ),
    "a task was planned by nobody": (
        "INSERT INTO @task SELECT * REPLACE (32 AS job) FROM @task "
        f"WHERE {OF_FUSED} AND stage = 'C' AND job = 3 AND tile = 0",
        "task-unplanned",
        FUSED,
        "stage C, invocation 1: 1 of 65 tasks were planned by nobody (first: job 32, tile 0)",
    ),
    "a stage was planned by nobody": (
        "INSERT INTO @task SELECT * REPLACE ('3' AS stage) FROM @task "
        f"WHERE {OF_FUSED} AND stage = 'C' AND job = 3",
        "task-unplanned",
        FUSED,
        "stage 3, invocation 1: 2 of 2 tasks were planned by nobody (first: job 3, tile 0)",
    ),
    "a dependency is violated": (
        # B of row 7 begins at 1200; its A tile 1 ends at 1150. 200 ns earlier is 150 ns too early.
        f"UPDATE @task SET start_ns = start_ns - 200 WHERE {OF_FUSED} AND stage = 'B' AND job = 7",
        "task-too-early",
        FUSED,
        "stage B, job 7 in invocation 1 began 150 ns before stage A, job 7, tile 1 had ended",
    ),
    "a stage did not wait for the whole stage before": (
        # C of row 0 begins at 3000; the last B (row 31) ends at 2000 + 310 + 500 = 2810.
        f"UPDATE @task SET start_ns = start_ns - 200 WHERE case_id = '{STAGED}' AND invocation = 0 "
        "AND stage = 'C' AND job = 0 AND tile = 0",
        "task-too-early",
        STAGED,
        "stage C, job 0, tile 0 in invocation 0 began 10 ns before stage B, job 31 had ended",
    ),
    "the plan swaps two stages": (
        f"UPDATE @task_plan SET position = 3 - position WHERE case_id = '{FUSED}' AND position > 0",
        "task-too-early",
        FUSED,
        "before stage C",
    ),
    "a task ends before it starts": (
        f"UPDATE @task SET end_ns = start_ns - 1 WHERE {OF_FUSED} AND stage = 'C' AND job = 3 AND tile = 0",
        "task-backwards",
        FUSED,
        "stage C, invocation 1: 1 of 64 tasks end before they start",
    ),
    "no task of a case is recorded": (
        f"DELETE FROM @task WHERE case_id = '{FUSED}'",
        "missing-evidence",
        FUSED,
        "pass trace: task 0 of 1",
    ),
    "no plan of a case is recorded": (
        f"DELETE FROM @task_plan WHERE case_id = '{FUSED}'",
        "missing-evidence",
        FUSED,
        "pass trace: task_plan 0 of 1",
    ),
    "an invocation ran no memset": (
        "DELETE FROM @memory_operation WHERE kind = 'memset' AND range_id = (SELECT min(range_id) + 18 FROM "
        "@memory_operation WHERE kind = 'memset' AND graph_node_id IS NOT NULL)",
        "memset-count",
        STAGED,
        "memsets per invocation: 1 declared, 1 planned, 1 by the graph API, 0 or 1 by nsys; by nsys in "
        "invocation 1",
    ),
    "an invocation of ordinary launches ran no memset": (
        "DELETE FROM @memory_operation WHERE kind = 'memset' AND graph_node_id IS NULL AND bytes = 128",
        "memset-count",
        STREAM,
        "0 by nsys; by nsys in invocation 0, 1, 2, 3 and 1 more",
    ),
    "a memset too many": (
        "INSERT INTO @memory_operation SELECT * FROM @memory_operation WHERE kind = 'memset' AND "
        "graph_node_id IS NOT NULL AND bytes = 128",
        "memset-count",
        STAGED,
        "2 by nsys",
    ),
    "the graph API lists no memset": (
        f"DELETE FROM @graph_node WHERE kind = 'memset' AND case_id = '{STAGED}'",
        "memset-count",
        STAGED,
        "1 declared, 1 planned, 0 by the graph API, 1 by nsys",
    ),
    "the DOT dump tells no memset": (
        f"DELETE FROM @graph_dot WHERE kind = 'memset' AND case_id = '{STAGED}'",
        "dot-differs",
        STAGED,
        "the graph's DOT dump tells kernel 4, the graph API kernel 4, memset 1",
    ),
    "the DOT dump tells a kernel less": (
        f"UPDATE @graph_dot SET nodes = 3 WHERE kind = 'kernel' AND case_id = '{STAGED}'",
        "dot-differs",
        STAGED,
        "the graph's DOT dump tells kernel 3, memset 1, the graph API kernel 4, memset 1",
    ),
    "no DOT dump was read": (
        "DELETE FROM @graph_dot",
        "missing-evidence",
        STAGED,
        "pass validate: graph_dot 0 of 1",
    ),
    "the traced build has another number of workers": (
        f"UPDATE @planned_launch SET grid_x = 31 WHERE pass = 'trace' AND case_id = '{FUSED}'",
        "workers-differ",
        FUSED,
        "row_softmax in 31,1,1 blocks of 256,1,1 threads with 0 dynamic bytes in trace",
    ),
    "a pass leaves a memset out": (
        f"DELETE FROM @planned_launch WHERE pass = 'timing' AND kind = 'memset' AND case_id = '{STAGED}'",
        "workers-differ",
        STAGED,
        "memset of 128 bytes in ncu, ncu-warm, nsys, sanitize, timing-2, trace, validate; none in timing",
    ),
    "a pass does not tell its launches": (
        f"DELETE FROM @planned_launch WHERE pass = 'timing' AND case_id = '{STAGED}'",
        "missing-evidence",
        STAGED,
        "pass timing: planned_launch 0 of 1",
    ),
    "a kernel ran in another grid": (
        "UPDATE @kernel SET grid_x = 31 WHERE name = 'row_exp' AND range_id = (SELECT min(range_id) FROM "
        "@kernel WHERE name = 'row_exp' AND graph_node_id IS NOT NULL)",
        "launch-differs",
        STAGED,
        "row_exp ran as 31,1,1 blocks of 256,1,1 threads with 0 dynamic bytes by nsys (1 of 5 kernels) where "
        "32,1,1 blocks of 256,1,1 threads with 0 dynamic bytes was planned",
    ),
    "a kernel ran with other shared memory": (
        "UPDATE @counter SET value = 2048 WHERE metric = 'launch__shared_mem_per_block_dynamic' AND "
        f"pass = 'ncu' AND range_name = '{FUSED}'",
        "launch-differs",
        FUSED,
        "with 2048 dynamic bytes by ncu (2 of 2 kernels)",
    ),
    "nsys saw other registers": (
        "UPDATE @kernel SET registers_per_thread = 41 WHERE name = 'row_softmax'",
        "resources-differ",
        None,
        "row_softmax: 40 registers by the assembler, 41 registers by nsys, 40 registers by ncu",
    ),
    "ncu saw other registers": (
        "UPDATE @counter SET value = 41 WHERE metric = 'launch__registers_per_thread' AND name = 'row_softmax' "
        f"AND range_name = '{FUSED}'",
        "resources-differ",
        None,
        "40 registers by nsys, 41 registers by ncu",
    ),
    "nsys saw spills": (
        "UPDATE @kernel SET local_bytes_per_thread = 8 WHERE name = 'row_softmax'",
        "resources-differ",
        None,
        "row_softmax: 0 bytes of local memory by the assembler, 8 bytes of local memory by nsys",
    ),
    "the slower candidate is shown as chosen": (
        "UPDATE @choice SET chosen = NOT chosen WHERE shape = '4096x4096' AND submission = 'graph'",
        "choice-differs",
        None,
        "softmax of 4096x4096 by graph: fused is chosen with a median of",
    ),
    "two candidates are chosen": (
        "UPDATE @choice SET chosen = true WHERE shape = '4096x4096' AND submission = 'graph'",
        "choice-differs",
        None,
        "2 of 2 candidates are chosen",
    ),
    "a pilot's median is not that of its samples": (
        "UPDATE @choice SET median_ns = median_ns - 5 WHERE variant = 'cudnn' AND submission = 'graph' "
        "AND shape = '4096x4096'",
        "choice-differs",
        None,
        "cudnn is told with a median of",
    ),
    "the pilot ran after the sessions": (
        "UPDATE @pass SET started_utc = '2026-01-02T04:04:06Z' WHERE pass = 'pilot'",
        "choice-differs",
        None,
        "the pilot began after a session of timing",
    ),
    "a candidate of the pilot is missing": (
        "DELETE FROM @choice WHERE variant = 'fused' AND shape = '4096x4096' AND submission = 'graph'",
        "missing-evidence",
        "row:fused:graph:4096x4096",
        "pass pilot: choice softmax 0 of 1",
    ),
    "a round of the second session is missing": (
        f"DELETE FROM @sample WHERE pass = 'timing-2' AND case_id = '{FUSED}' AND quantity = 'completion' "
        "AND round = 3",
        "missing-evidence",
        FUSED,
        "pass timing-2: sample completion 20 of 21",
    ),
    "a trace ran on another GPU": (
        "UPDATE @device SET uuid = 'GPU-3' WHERE pass = 'trace'",
        "other-device",
        None,
        "the passes ran on 3 GPUs",
    ),
    "variants of one source were launched as different code": (
        "UPDATE @planned_launch SET source = 'staged.cu', name = 'row_exp' WHERE source = 'fused.cu'",
        "build-differs",
        None,
        "row_exp of staged.cu: fused, staged launch 2 machine codes of it",
    ),
    "an instrumented build differs from its source": (
        "UPDATE @build SET source_sha256 = '00' WHERE pass = 'trace' AND variant = 'fused'",
        "build-differs",
        None,
        "row_softmax (sm_90): 2 sources and 1 machine codes",
    ),
    "a pass does not tell what it built": (
        "DELETE FROM @build WHERE pass = 'trace' AND variant = 'fused'",
        "missing-evidence",
        None,
        "pass trace: build fused 0 of 1",
    ),
    "the instrumented build computes something else": (
        f"UPDATE @driven SET output_sha256 = '00' WHERE pass = 'trace' AND case_id = '{FUSED}'",
        "output-differs",
        FUSED,
        "pass trace computed another output than the pass that was validated and timed",
    ),
    "a task without its start": (
        f"UPDATE @task SET start_ns = NULL WHERE {OF_FUSED} AND stage = 'C' AND job = 5 AND tile = 1",
        "task-incomplete",
        FUSED,
        "no start in 1 row of invocation 1 (first: stage C, job 5, tile 1)",
    ),
    "tasks without worker and end": (
        f"UPDATE @task SET worker = NULL, end_ns = NULL WHERE {OF_FUSED} AND stage = 'C' AND job = 5",
        "task-incomplete",
        FUSED,
        "no end in 2 rows of invocation 1 (first: stage C, job 5, tile 0), no worker in 2 rows",
    ),
    "a task without its multiprocessor": (
        f"UPDATE @task SET multiprocessor = NULL WHERE {OF_FUSED} AND stage = 'B' AND job = 5",
        "task-incomplete",
        FUSED,
        "no multiprocessor in 1 row of invocation 1 (first: stage B, job 5)",
    ),
    "the plan needs something unheard of": (
        f"UPDATE @task_plan SET \"after\" = 'moon' WHERE case_id = '{FUSED}' AND stage = 'B'",
        "task-need-unknown",
        FUSED,
        "unknown need in 32 rows of the plan (first: stage B, job 0)",
    ),
    "the plan does not tell what it needs": (
        f"UPDATE @task_plan SET \"after\" = NULL WHERE case_id = '{FUSED}' AND stage = 'B' AND job = 3",
        "task-need-unknown",
        FUSED,
        "unknown need in 1 row of the plan (first: stage B, job 3)",
    ),
    "an invocation that the driver did not make": (
        f"INSERT INTO @task SELECT * REPLACE (2 AS invocation) FROM @task WHERE {OF_FUSED}",
        "task-unplanned",
        FUSED,
        "stage A, invocation 2: 64 of 64 tasks were planned by nobody (first: job 0, tile 0)",
    ),
    "a negative invocation": (
        f"UPDATE @task SET invocation = -1 WHERE {OF_FUSED} AND stage = 'B' AND job = 3",
        {"task-unplanned", "task-missing"},
        FUSED,
        "stage B, invocation -1: 1 of 1 task were planned by nobody (first: job 3)",
    ),
    "a multiprocessor that the device lacks": (
        f"UPDATE @task SET multiprocessor = 132 WHERE {OF_FUSED} AND job = 5",
        "task-impossible",
        FUSED,
        "no such multiprocessor in 5 rows of invocation 1 (first: stage A, job 5, tile 0)",
    ),
    "a worker moves": (
        f"UPDATE @task SET multiprocessor = 9 WHERE {OF_FUSED} AND stage = 'B' AND job = 5",
        "task-impossible",
        FUSED,
        "worker moved in 3 rows of invocation 1 (first: stage A, job 5, tile 0)",
    ),
    "a worker runs two tasks at once": (
        # A tile 1 of row 5 runs from 110 to 1110, tile 0 from 100 to 1100.
        f"UPDATE @task SET worker = 10 WHERE {OF_FUSED} AND stage = 'A' AND job = 5",
        "task-impossible",
        FUSED,
        "tasks overlap in 1 row of invocation 1 (first: stage A, job 5, tile 1)",
    ),
    "a report tells another GPU than the driver": (
        # The only kernels are those of device 0.
        "INSERT INTO @gpu (pass, device, uuid) VALUES ('nsys', 0, 'GPU-00000000-0000-0000-0000-000000000000')",
        "other-device",
        None,
        f"on GPU-00000000-0000-0000-0000-000000000000 by its report, and on {UUID} by its driver",
    ),
    "the second session is a copy of the first": (
        "UPDATE @sample SET duration_ns = duration_ns - 200 WHERE pass = 'timing-2' AND "
        "quantity = 'completion'",
        "same-samples",
        None,
        "are those of timing",
    ),
    "an intermediate is wrong": (
        "UPDATE @validation SET \"array\" = 'row_sum', passed = pass <> 'validate', worst = CASE pass WHEN "
        f"'validate' THEN 2 ELSE worst END WHERE case_id = '{FUSED}' AND \"check\" = 'error'",
        "failed-validation",
        FUSED,
        "error of row_sum in pass validate (4 fixtures, worst 2.0, limit 1.0)",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_named_exactly(copy: Copy, fault: str) -> None:
    statement, code, case_id, text = FAULTS[fault]
    run = copy()
    change(run, statement)
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == ({code} if isinstance(code, str) else code)
    told = [one for one in grave(reconciliation) if one.case_id == case_id]
    assert any(text in one.seen for one in told), [one.seen for one in told]
    assert all(one.next_step for one in told)
    assert reconciliation.exit_status == (1 if any(one.verdict == DISAGREE for one in told) else 2)


def test_a_gpu_of_the_report_without_kernels_or_uuid_needs_no_word(copy: Copy) -> None:
    run = copy()
    change(
        run,
        f"INSERT INTO @gpu (pass, device, uuid) VALUES ('nsys', 0, NULL), ('nsys', 0, '{UUID.upper()}'), "
        "('nsys', 1, 'GPU-1')",
    )
    assert reconcile_run(run).exit_status == 0


def test_blocks_of_several_kernels_may_share_a_number_and_run_warps_side_by_side(copy: Copy) -> None:
    """`staged` plans four kernels: a worker of stage B is another block than that of stage A."""
    run = copy()
    change(
        run, f"UPDATE @task SET worker = 0, multiprocessor = position('B' IN stage) WHERE case_id = '{STAGED}'"
    )
    assert reconcile_run(run).exit_status == 0


def test_a_dot_dump_of_cut_records_is_not_held_against_them(copy: Copy) -> None:
    run = copy()
    change(run, f"UPDATE @graph_dot SET nodes = 3 WHERE kind = 'kernel' AND case_id = '{STAGED}'")
    change(
        run,
        "INSERT INTO @finding (code, pass, subject, reason) VALUES "
        "('truncated-records', 'validate', 'validate.jsonl', 'It stops early.')",
    )
    assert codes(reconcile_run(run)) == {"truncated-records"}


def test_a_clock_that_was_set_back_is_told_and_accuses_no_pilot(copy: Copy) -> None:
    """By its times the pilot ran after the sessions; but the clock is known not to tell."""
    run = copy()
    change(run, FAULTS["the pilot ran after the sessions"][0])
    change(
        run,
        "INSERT INTO @finding (code, pass, subject, reason) VALUES "
        "('clock-set-back', 'timing', 'timing', 'It began before the pilot had ended.')",
    )
    reconciliation = reconcile_run(run)
    assert reconciliation.exit_status == 0
    (found,) = [one for one in reconciliation.findings if one.code == "clock-set-back"]
    assert found.verdict == "explained"
