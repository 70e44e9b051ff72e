"""The run that was recorded on an H200 reconciles, and faults planted in copies of it are named exactly."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from nsight_suite.evidence import store
from nsight_suite.evidence.build import build
from nsight_suite.reconcile import main
from nsight_suite.reconciliation import reconcile_run
from nsight_suite.reconciliation.findings import CANNOT_ANSWER, DISAGREE, Reconciliation
from nsight_suite.runfolder import RunFolder

LARGE = "row:fused:graph:4096x4096"


def codes(reconciliation: Reconciliation) -> set[str]:
    return {one.code for one in reconciliation.findings if one.verdict in (DISAGREE, CANNOT_ANSWER)}


@pytest.fixture
def run(recorded_run: RunFolder, tmp_path: Path) -> RunFolder:
    shutil.copytree(recorded_run.path, tmp_path / "run")
    return RunFolder(tmp_path / "run")


def change(run: RunFolder, table: str, statement: str) -> None:
    file = run.evidence / f"{table}.parquet"
    with store.empty_store() as connection:
        connection.execute(f"INSERT INTO \"{table}\" SELECT * FROM read_parquet('{file}')")
        (count,) = connection.execute(statement).fetchall()[0]
        assert count > 0, "the fault was not planted"
        connection.execute(f"COPY \"{table}\" TO '{file}' (FORMAT parquet)")


def test_it_reconciles_within_two_seconds(recorded_run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.process_time()
    assert main([str(recorded_run.path)]) == 0
    assert time.process_time() - began < 2
    assert "Reconciled" in capsys.readouterr().out


def test_all_of_it_is_judged(recorded_run: RunFolder) -> None:
    reconciliation = reconcile_run(recorded_run)
    assert len(reconciliation.cases) == 7 * 4 * 2
    timed = [case for case in reconciliation.cases if not case.case_id.endswith(":7x781")]
    assert all(verdict in ("agree", "explained") for case in timed for verdict in case.verdicts.values())


FAULTS = {
    "unknown-range": (
        "range",
        f"UPDATE \"range\" SET name = 'row:fussed:graph:4096x4096' WHERE name = '{LARGE}' AND payload = 2",
        1,
    ),
    "altered-counter": (
        "counter",
        "UPDATE counter SET value = 2 * value WHERE metric = 'dram__bytes_read.sum' AND pass = 'ncu' "
        f"AND range_name = '{LARGE}'",
        1,
    ),
    "dram-over-logical": (
        "counter",
        "UPDATE counter SET value = 2 * value, original = CAST(CAST(2 * value AS BIGINT) AS VARCHAR) "
        f"WHERE metric = 'dram__bytes_read.sum' AND range_name = '{LARGE}'",
        1,
    ),
    "completion-too-short": (
        "sample",
        "UPDATE sample SET duration_ns = duration_ns // 2 WHERE quantity = 'completion' AND pass = 'timing' "
        f"AND case_id = '{LARGE}' AND round = 5",
        1,
    ),
    "graph-level-trace": ("kernel", "DELETE FROM kernel WHERE graph_node_id IS NOT NULL", 2),
    "node-count": ("graph_node", f"DELETE FROM graph_node WHERE case_id = '{LARGE}' AND pass = 'nsys'", 1),
    "kernel-order": (
        "kernel",
        "UPDATE kernel SET name = CASE name WHEN 'row_exp' THEN 'row_sum' ELSE 'row_exp' END WHERE "
        "name IN ('row_exp', 'row_sum') AND graph_node_id IS NOT NULL",
        1,
    ),
    "missing-evidence": ("sync", "DELETE FROM sync", 2),
    "build-differs": ("build", "UPDATE build SET cubin_sha256 = '00' WHERE pass = 'ncu'", 1),
    "tool-differs": ("tool", "UPDATE tool SET version = '1' WHERE pass = 'ncu' AND name = 'cupy'", 1),
    "unknown-invocation": ("counter", "UPDATE counter SET invocation = NULL", 2),
    "failed-validation": (
        "validation",
        f"UPDATE validation SET passed = false WHERE case_id = '{LARGE}' AND held_out",
        1,
    ),
}


@pytest.mark.parametrize("code", FAULTS)
def test_planted_fault_is_named_exactly(run: RunFolder, code: str) -> None:
    table, statement, status = FAULTS[code]
    change(run, table, statement)
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {code}
    assert reconciliation.exit_status == status


@pytest.mark.parametrize("seed", range(5))
def test_whichever_kernel_row_is_deleted_is_named(run: RunFolder, seed: int) -> None:
    """Most kernels of the recorded run are warm-ups and checks, outside of every measured invocation."""
    victim = f"SELECT kernel_id FROM kernel ORDER BY hash(kernel_id + {seed}) LIMIT 1"
    change(run, "kernel", f"DELETE FROM kernel WHERE kernel_id = ({victim})")
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {"lost-kernel"}
    assert reconciliation.exit_status == 1


@pytest.mark.parametrize("how", ["inside a line", "at the end of a line"])
@pytest.mark.parametrize("rebuilt", [False, True], ids=["evidence as it was", "evidence built again"])
def test_cut_ncu_report_is_named(run: RunFolder, how: str, rebuilt: bool) -> None:
    file = run.reports / "ncu.csv"
    lines = file.read_bytes().splitlines(keepends=True)
    half = b"".join(lines[: len(lines) // 2])
    file.write_bytes(half[:-20] if how == "inside a line" else half)
    if rebuilt:
        build(run)
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {"truncated-report"}
    assert reconciliation.exit_status == 2


GONE = "DELETE FROM counter WHERE pass = 'ncu-warm'"
EMPTY = "UPDATE counter SET value = NULL WHERE pass = 'ncu-warm' AND metric LIKE 'dram%'"


@pytest.mark.parametrize(
    ("counters", "shorter", "code"),
    [(GONE, 1, "lost-invocation"), (EMPTY, 1, "no-warm-counters"), (EMPTY, 4, "faster-than-memory")],
)
def test_without_warm_counters_l2_may_have_served_what_it_holds_and_no_more(
    run: RunFolder, counters: str, shorter: int, code: str
) -> None:
    """100.7 MB in 22.8 µs, where a copy takes 24.2: L2 holds 62.9 MB of them, so 37.8 may be all that moved."""
    case_id = "row:staged:graph:4096x1024"
    change(run, "counter", counters)
    change(
        run,
        "kernel",
        f"UPDATE kernel SET end_ns = start_ns + (end_ns - start_ns) // {shorter} "
        "WHERE name IN ('row_max', 'row_exp', 'row_sum', 'row_divide') AND graph_node_id IS NOT NULL",
    )
    [found] = [one for one in reconcile_run(run).findings if one.family == "limits" and one.case_id == case_id]
    assert (found.code, found.verdict) == (code, "cannot-answer" if shorter == 1 else "disagree")


def test_missing_table_is_named(run: RunFolder) -> None:
    (run.evidence / "counter.parquet").unlink()
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {"missing-table"}
    assert reconciliation.exit_status == 2
