"""A clean run reconciles; each planted fault is named exactly, by its code and by no other."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic_run import make_run

from nsight_suite.errors import CannotAnswer
from nsight_suite.evidence import store
from nsight_suite.evidence.tables import tables
from nsight_suite.reconciliation import Finding, Reconciliation, reconcile_run
from nsight_suite.reconciliation.findings import CANNOT_ANSWER, DISAGREE
from nsight_suite.runfolder import RunFolder, sha256, write_json

LARGE = "row:fused:graph:4096x4096"
STAGED = "row:staged:graph:4096x4096"
STREAM = "row:staged:stream:4096x4096"
SMALL = "row:fused:graph:7x781"

Copy = Callable[[], RunFolder]


@pytest.fixture
def copy(synthetic_run: RunFolder, tmp_path: Path) -> Copy:
    def made() -> RunFolder:
        shutil.copytree(synthetic_run.path, tmp_path / "run")
        return RunFolder(tmp_path / "run")

    return made


def change(run: RunFolder, statement: str) -> None:
    """Run one UPDATE, DELETE or INSERT on the table that it names."""
    table = next(name for name in sorted(tables(), key=len, reverse=True) if f"@{name}" in statement)
    file = run.evidence / f"{table}.parquet"
    with store.empty_store() as connection:
        connection.execute(f"INSERT INTO \"{table}\" SELECT * FROM read_parquet('{file}')")
        (count,) = connection.execute(statement.replace(f"@{table}", f'"{table}"')).fetchall()[0]
        assert count > 0, "the fault was not planted"
        connection.execute(f"COPY \"{table}\" TO '{file}' (FORMAT parquet)")


def grave(reconciliation: Reconciliation) -> list[Finding]:
    return [one for one in reconciliation.findings if one.verdict in (DISAGREE, CANNOT_ANSWER)]


def codes(reconciliation: Reconciliation) -> set[str]:
    return {one.code for one in grave(reconciliation)}


def verdict(reconciliation: Reconciliation, case_id: str, family: str) -> str:
    return next(case.verdicts[family] for case in reconciliation.cases if case.case_id == case_id)


def test_clean_run_reconciles(synthetic_run: RunFolder) -> None:
    reconciliation = reconcile_run(synthetic_run)
    assert grave(reconciliation) == []
    assert reconciliation.exit_status == 0
    assert len(reconciliation.cases) == 18
    assert {
        verdict(reconciliation, LARGE, family) for family in ("counts", "completeness", "order", "limits")
    } == {"agree"}
    # The profiler's cost and the writes that stay in the cache are named effects with numbers.
    explained = {one.code for one in reconciliation.findings if one.verdict == "explained"}
    assert explained == {"profiler-overhead", "write-back", "stays-in-l2"}
    cost = next(
        one for one in reconciliation.findings if one.code == "profiler-overhead" and one.case_id == LARGE
    )
    assert cost.numbers == {"unprofiled_ns": 77_800, "profiled_ns": 79_700, "extra_ns": 1_900, "factor": 1.024}


def test_untimed_cases_are_not_judged_on_time(synthetic_run: RunFolder) -> None:
    reconciliation = reconcile_run(synthetic_run)
    assert [verdict(reconciliation, SMALL, family) for family in ("time", "limits", "counts")] == [
        "not-declared",
        "not-declared",
        "agree",
    ]


READS = "dram__bytes_read.sum"
# Doubles what the report printed too, so that only physics can tell.
DOUBLED = "UPDATE @counter SET value = value * 2, original = CAST(CAST(value * 2 AS BIGINT) AS VARCHAR) WHERE "

FAULTS = {
    # fault: (planted by, code, case, something that its text says)
    "a kernel row is deleted": (
        "DELETE FROM @kernel WHERE kernel_id = (SELECT min(kernel_id) FROM @kernel WHERE range_id = 8)",
        "lost-kernel",
        STREAM,
        "3 of 4 kernels by nsys; cuLaunchKernel (launch",
    ),
    "a kernel row of a replay is deleted": (
        "DELETE FROM @kernel WHERE range_id = 9 AND name = 'row_sum'",
        "lost-kernel",
        STAGED,
        "left 3 of 4 kernel records",
    ),
    "a kernel row of a warm-up is deleted": (
        "DELETE FROM @kernel WHERE kernel_id = 1",
        "lost-kernel",
        None,
        "1 launch outside of the measured invocations lost kernels: cuLaunchKernel (launch 1, in setup)",
    ),
    "every replay of a case lost the same node": (
        # Ranges 9, 27, 45 … are those of the case.
        "DELETE FROM @kernel WHERE name = 'row_sum' AND range_id % 18 = 9",
        "lost-kernel",
        STAGED,
        "every invocation ran 3 of 4 kernels by nsys; the graph has 4 kernel nodes",
    ),
    "a kernel ran twice": (
        "INSERT INTO @kernel SELECT * REPLACE (end_ns + 100 AS start_ns, end_ns + 900 AS end_ns) FROM @kernel "
        "WHERE range_id = 11",
        "kernel-count",
        LARGE,
        "2 of 1 kernel by nsys",
    ),
    "a range is renamed": (
        f"UPDATE @range SET name = 'row:fussed:graph:4096x4096' WHERE name = '{LARGE}' AND payload = 3",
        "unknown-range",
        LARGE,
        "'row:fussed:graph:4096x4096' (1 instance) is no case of this run, and this case has 4 of 5",
    ),
    "all ranges of a case are renamed": (
        f"UPDATE @range SET name = 'row:fussed:graph:4096x4096' WHERE name = '{LARGE}'",
        "unknown-range",
        LARGE,
        "0 of 5",
    ),
    "a range is deleted": (
        f"DELETE FROM @range WHERE name = '{LARGE}' AND payload = 3",
        "lost-range",
        LARGE,
        "nsys shows 4 of 5 ranges",
    ),
    "DRAM bytes of a case are doubled in the evidence": (
        f"UPDATE @counter SET value = value * 2 WHERE metric = '{READS}' AND range_name = '{LARGE}'",
        "altered-counter",
        LARGE,
        "is 134.2 MB in the evidence, 67112960 byte in its report",
    ),
    "one DRAM value of a small case is doubled in the evidence": (
        f"UPDATE @counter SET value = value * 2 WHERE metric = '{READS}' AND pass = 'ncu' "
        f"AND range_name = '{SMALL}' AND invocation = 0",
        "altered-counter",
        SMALL,
        "51.9 kB in the evidence, 25964 byte in its report",
    ),
    "DRAM reads of a case are doubled": (
        f"{DOUBLED} metric = '{READS}' AND range_name = '{LARGE}'",
        "dram-over-logical",
        LARGE,
        "read 134.2 MB of DRAM, and its kernels must read 67.1 MB",
    ),
    "DRAM reads of one kernel are doubled": (
        f"{DOUBLED} metric = '{READS}' AND range_name = '{STAGED}' AND pass = 'ncu' AND invocation = 1 "
        "AND ordinal = 2",
        "dram-repeats-differ",
        STAGED,
        "one invocation read 268.5 MB and another 335.6 MB",
    ),
    "DRAM writes of a whole graph are doubled": (
        f"{DOUBLED} metric = 'dram__bytes_write.sum' AND range_name = '{STAGED}' AND pass = 'ncu-warm'",
        "dram-over-logical",
        STAGED,
        "wrote 268.5 MB of DRAM, and its kernels must write 134.3 MB (warm caches, whole graph)",
    ),
    "DRAM bytes of every case are doubled": (
        f"{DOUBLED} metric LIKE 'dram__bytes_%'",
        "dram-over-logical",
        LARGE,
        "134.2 MB",
    ),
    "DRAM reads of a small case are doubled in one invocation": (
        f"{DOUBLED} metric = '{READS}' AND range_name = '{SMALL}' AND pass = 'ncu' AND invocation = 1",
        "dram-repeats-differ",
        SMALL,
        "one invocation read 26.0 kB and another 51.9 kB",
    ),
    "DRAM reads of a small case are doubled": (
        f"{DOUBLED} metric = '{READS}' AND range_name = '{SMALL}' AND pass = 'ncu'",
        "dram-twins-differ",
        SMALL,
        "reads 51.9 kB and its twin row:fused:stream:7x781 26.0 kB",
    ),
    "DRAM reads are halved": (
        "UPDATE @counter SET value = value / 2, original = CAST(CAST(value / 2 AS BIGINT) AS VARCHAR) WHERE "
        f"metric = '{READS}' AND range_name = '{LARGE}' AND pass = 'ncu'",
        "dram-below-logical",
        LARGE,
        "33.6 MB",
    ),
    "DRAM bytes are missing for one kernel": (
        "UPDATE @counter SET value = NULL, reason = 'n/a' WHERE metric = 'dram__bytes_write.sum' "
        f"AND pass = 'ncu' AND range_name = '{STAGED}' AND invocation = 0 AND ordinal = 0",
        "no-dram-bytes",
        STAGED,
        "DRAM write bytes are unknown for some workload",
    ),
    "a completion is shorter than the device's work": (
        "UPDATE @sample SET duration_ns = 35000 WHERE quantity = 'completion' AND pass = 'timing' "
        f"AND round = 4 AND case_id = '{LARGE}'",
        "completion-too-short",
        LARGE,
        "35.0 µs in round 4, and the device is busy for 70.0 µs or more",
    ),
    "a profiled run is much faster": (
        f"UPDATE @sample SET duration_ns = 500000 WHERE quantity = 'completion' AND pass = 'timing' "
        f"AND case_id = '{LARGE}'",
        "profiled-faster",
        LARGE,
        "79.7 µs under nsys, 500.0 µs without",
    ),
    "the driver's clock stops early under nsys": (
        "UPDATE @sample SET duration_ns = 75000 WHERE quantity = 'completion' AND pass = 'nsys' "
        f"AND case_id = '{LARGE}'",
        "clock-differs",
        LARGE,
        "shows 75.0 µs; launch, device work, gaps and wait make 78.5 µs",
    ),
    "something else runs in the ranges of a case": (
        f"UPDATE @range SET start_ns = start_ns - 50000 WHERE name = '{LARGE}'",
        "unexplained-time",
        LARGE,
        "50.8 µs of a profiled range outside of the stopwatch are neither launch, device work, gap nor wait",
    ),
    "graphs were traced as a whole": (
        "DELETE FROM @kernel WHERE graph_node_id IS NOT NULL",
        "graph-level-trace",
        None,
        "none shows a kernel of a graph node",
    ),
    "nsys recorded no kernel": (
        "DELETE FROM @kernel",
        "no-kernels",
        None,
        "none of 90 invocations has a kernel",
    ),
    "a launch row is deleted": (
        "DELETE FROM @launch WHERE launch_id = (SELECT min(launch_id) FROM @launch WHERE range_id = 8)",
        "lost-launch",
        STREAM,
        "1 of 20 kernels lack their launching call",
    ),
    "a node is missing in one pass": (
        f"DELETE FROM @graph_node WHERE case_id = '{STAGED}' AND ordinal = 3 AND pass = 'timing'",
        "node-count",
        STAGED,
        "the graph API gives 3 or 4 kernel nodes, 4 are declared",
    ),
    "a node is too many": (
        f"INSERT INTO @graph_node SELECT * REPLACE (1 AS ordinal) FROM @graph_node WHERE case_id = '{LARGE}'",
        "node-count",
        LARGE,
        "the graph API gives 2 kernel nodes, 1 are declared and nsys saw 1 run",
    ),
    "two kernels are swapped": (
        "UPDATE @kernel SET name = CASE name WHEN 'row_exp' THEN 'row_sum' ELSE 'row_exp' END "
        "WHERE name IN ('row_exp', 'row_sum') AND range_id = 9",
        "kernel-order",
        STAGED,
        "ran row_max → row_sum → row_exp → row_divide (1 times by nsys)",
    ),
    "kernels of one stream overlap": (
        "UPDATE @kernel SET start_ns = start_ns - 5000 WHERE name = 'row_exp' AND range_id = 9",
        "kernels-overlap",
        STAGED,
        "started 4900 ns before",
    ),
    "a profiled workload is deleted": (
        f"DELETE FROM @counter WHERE pass = 'ncu' AND range_name = '{STAGED}' AND invocation = 1 "
        "AND ordinal = 3",
        "workload-count",
        STAGED,
        "ncu profiled 3 to 4 of 4 kernels",
    ),
    "a warm workload is deleted": (
        f"DELETE FROM @counter WHERE pass = 'ncu-warm' AND range_name = '{STREAM}' AND invocation = 1 "
        "AND ordinal = 3",
        "workload-count",
        STREAM,
        "ncu-warm profiled 11 of 12 workloads",
    ),
    "an invocation is missing under ncu": (
        f"DELETE FROM @counter WHERE pass = 'ncu' AND range_name = '{LARGE}' AND invocation = 1",
        "lost-invocation",
        LARGE,
        "ncu shows 1 of 2 invocations",
    ),
    "the driver did not tell": (
        "DELETE FROM @driven WHERE pass = 'nsys'",
        "driver-silent",
        LARGE,
        "nsys shows 5 ranges",
    ),
    "a check fails": (
        f"UPDATE @validation SET passed = false, worst = 3.5 WHERE case_id = '{LARGE}' AND fixture = 'wide' "
        "AND \"check\" = 'error'",
        "failed-validation",
        LARGE,
        "error of y in pass validate (1 fixture, worst 3.5, limit 1.0)",
    ),
    "a check above its limit is recorded as passed": (
        f"UPDATE @validation SET worst = 3.5 WHERE case_id = '{LARGE}' AND fixture = 'wide' AND "
        "pass = 'validate' AND \"check\" = 'error'",
        "failed-validation",
        LARGE,
        "error of y in pass validate (1 fixture, worst 3.5, limit 1.0)",
    ),
    "a profiled process computed something else": (
        f"UPDATE @driven SET output_sha256 = '00' WHERE pass = 'ncu' AND case_id = '{LARGE}'",
        "output-differs",
        LARGE,
        "pass ncu computed another output",
    ),
    "the sanitizer found errors": (
        "UPDATE @sanitizer SET errors = 2 WHERE tool = 'memcheck'",
        "sanitizer-errors",
        None,
        "memcheck found 2 errors",
    ),
    "the sanitizer gave no summary": (
        "UPDATE @sanitizer SET errors = NULL WHERE tool = 'memcheck'",
        "sanitizer-unclear",
        None,
        "memcheck gave no summary",
    ),
    "a pass ran on another GPU": (
        "UPDATE @device SET uuid = 'GPU-2' WHERE pass = 'ncu'",
        "other-device",
        None,
        "2 GPUs",
    ),
    "nsys ran on another GPU": (
        "UPDATE @device SET uuid = 'GPU-2' WHERE pass = 'nsys'",
        "other-device",
        LARGE,
        "One device's result is not another's.",
    ),
    "a pass failed": (
        "UPDATE @pass SET state = 'failed', reason = 'no permission to read counters' WHERE pass = 'ncu'",
        "failed-pass",
        None,
        "pass ncu failed: no permission to read counters",
    ),
    "a pass never finished": (
        "UPDATE @pass SET state = 'absent', reason = NULL WHERE pass = 'nsys'",
        "absent-pass",
        None,
        "pass nsys never finished",
    ),
    "an ncu report is cut off": (
        "INSERT INTO @finding VALUES "
        "('truncated-report', 'ncu', NULL, 'ncu.csv', 'ncu.csv is cut off at line 9.')",
        "truncated-report",
        None,
        "ncu.csv is cut off at line 9",
    ),
    "a report cannot be read": (
        "INSERT INTO @finding VALUES "
        "('unreadable-report', 'nsys', NULL, 'nsys.sqlite', 'It is no SQLite database.')",
        "unreadable-report",
        None,
        "It is no SQLite database",
    ),
    "no completion was timed": (
        "DELETE FROM @sample WHERE quantity = 'completion' AND pass = 'timing'",
        "missing-evidence",
        LARGE,
        "pass timing: sample completion 0 of 21",
    ),
    "every check is deleted": (
        "DELETE FROM @validation",
        "missing-evidence",
        LARGE,
        "pass validate: validation normal 0 of 1",
    ),
    "the held-out checks are deleted": (
        "DELETE FROM @validation WHERE held_out",
        "missing-evidence",
        LARGE,
        "pass validate: validation shifted 0 of 5, pass timing: validation shifted 0 of 5",
    ),
    "one check is deleted": (
        f"DELETE FROM @validation WHERE case_id = '{LARGE}' AND pass = 'ncu' AND \"check\" = 'error'",
        "missing-evidence",
        LARGE,
        "pass ncu: validation normal 4 of 5",
    ),
    "the sanitizer's rows are deleted": (
        "DELETE FROM @sanitizer",
        "missing-evidence",
        None,
        "sanitizer memcheck 0 of 1, pass sanitize: sanitizer synccheck 0 of 1",
    ),
    "one tool of the sanitizer is deleted": (
        "DELETE FROM @sanitizer WHERE tool = 'synccheck'",
        "missing-evidence",
        None,
        "sanitizer synccheck 0 of 1",
    ),
    "no graph node is listed": (
        "DELETE FROM @graph_node",
        "missing-evidence",
        LARGE,
        "pass validate: graph_node 0 of 1",
    ),
    "one pass lists no graph node": (
        "DELETE FROM @graph_node WHERE pass = 'ncu'",
        "missing-evidence",
        STAGED,
        "pass ncu: graph_node 0 of 1",
    ),
    "every wait is deleted": (
        "DELETE FROM @sync",
        "missing-evidence",
        None,
        "none of 90 invocations waits for the device",
    ),
    "the waits of a case are deleted": (
        "DELETE FROM @sync WHERE range_id % 18 = 11",
        "missing-evidence",
        LARGE,
        "pass nsys: sync waits 0 of 5",
    ),
    "graph setup is deleted": (
        "DELETE FROM @graph_setup",
        "missing-evidence",
        LARGE,
        "pass timing: graph_setup capture 0 of 5",
    ),
    "no output was hashed": (
        "UPDATE @driven SET output_sha256 = NULL",
        "missing-evidence",
        LARGE,
        "pass nsys: driven output hash 0 of 1",
    ),
    "the profiled completions are deleted": (
        "DELETE FROM @sample WHERE pass = 'nsys'",
        "missing-evidence",
        LARGE,
        "pass nsys: sample completion 0 of 5",
    ),
    "most timing rounds are deleted": (
        "DELETE FROM @sample WHERE pass = 'timing' AND round >= 3",
        "missing-evidence",
        LARGE,
        "pass timing: sample completion 3 of 21",
    ),
    "the driver ran less than it was asked for": (
        f"UPDATE @driven SET invocations = 3 WHERE pass = 'timing' AND case_id = '{LARGE}'",
        "missing-evidence",
        LARGE,
        "pass timing: driven invocations 3 of 21",
    ),
    "the driver does not tell of a case": (
        f"DELETE FROM @driven WHERE pass = 'timing' AND case_id = '{LARGE}'",
        "missing-evidence",
        LARGE,
        "pass timing: driven 0 of 1",
    ),
    "a sample is there twice": (
        f"INSERT INTO @sample SELECT * FROM @sample WHERE pass = 'timing' AND case_id = '{LARGE}' "
        "AND round = 0 AND quantity = 'completion'",
        "extra-evidence",
        LARGE,
        "pass timing: sample completion 22 of 21",
    ),
    "a pass is not in the table of passes": (
        "DELETE FROM @pass WHERE pass = 'sanitize'",
        "missing-evidence",
        None,
        "pass sanitize: pass 0 of 1",
    ),
    "a case is not in the table of cases": (
        f"DELETE FROM @variant_case WHERE case_id = '{LARGE}'",
        "missing-evidence",
        None,
        f"{LARGE}: variant_case 0 of 1",
    ),
    "a pass does not tell its GPU": (
        "DELETE FROM @device WHERE pass = 'nsys'",
        "missing-evidence",
        None,
        "pass nsys: device 0 of 1",
    ),
    "a pass does not tell its builds": (
        "DELETE FROM @build WHERE pass = 'ncu'",
        "missing-evidence",
        None,
        "pass ncu: build staged 0 of 4",
    ),
    "a pass measured other machine code": (
        "UPDATE @build SET cubin_sha256 = '00' WHERE pass = 'ncu' AND variant = 'fused'",
        "build-differs",
        None,
        "row_softmax (sm_90): 1 sources and 2 machine codes in 6 passes, another in ncu",
    ),
    "a pass was built from another source": (
        "UPDATE @build SET source_sha256 = '00' WHERE pass = 'ncu' AND variant = 'fused'",
        "build-differs",
        None,
        "row_softmax (sm_90): 2 sources and 1 machine codes in 6 passes",
    ),
    "a library changed between passes": (
        "UPDATE @tool SET version = '13.0.0' WHERE pass = 'ncu' AND name = 'cupy'",
        "tool-differs",
        None,
        "cupy is 13.0.0 in ncu; 14.2.0 in ncu-warm",
    ),
    "the driver changed between passes": (
        "UPDATE @device SET driver_version = '570.1' WHERE pass = 'ncu'",
        "tool-differs",
        None,
        "driver is 570.1 in ncu; 580.159.03 in ncu-warm",
    ),
    "workloads have no invocation": (
        "UPDATE @counter SET invocation = NULL WHERE pass = 'ncu'",
        "unknown-invocation",
        None,
        "ncu does not tell to which invocation workloads of 18 cases belong",
    ),
    "no copy was timed": (
        "DELETE FROM @sample WHERE quantity = 'device_copy'",
        "no-copy-bandwidth",
        LARGE,
        "without a timed device-to-device copy",
    ),
}
UNANSWERED = {
    "absent-pass",
    "driver-silent",
    "failed-pass",
    "graph-level-trace",
    "missing-evidence",
    "no-copy-bandwidth",
    "no-dram-bytes",
    "no-kernels",
    "sanitizer-unclear",
    "truncated-report",
    "unknown-invocation",
    "unreadable-report",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_named_exactly(copy: Copy, fault: str) -> None:
    statement, code, case_id, text = FAULTS[fault]
    run = copy()
    change(run, statement)
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {code}
    assert reconciliation.exit_status == (2 if code in UNANSWERED else 1)
    told = [one for one in grave(reconciliation) if one.case_id == case_id]
    assert any(text in one.seen for one in told), [one.seen for one in told]
    assert all(one.next_step for one in told)


@pytest.mark.parametrize("table", tables())
def test_missing_table_is_named(copy: Copy, table: str) -> None:
    run = copy()
    (run.evidence / f"{table}.parquet").unlink()
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {"missing-table"}
    assert reconciliation.exit_status == 2
    assert grave(reconciliation)[0].seen == f"evidence/{table}.parquet is missing"


def test_missing_kernels_keep_only_their_families_from_answering(copy: Copy) -> None:
    run = copy()
    (run.evidence / "kernel.parquet").unlink()
    reconciliation = reconcile_run(run)
    assert verdict(reconciliation, LARGE, "counts") == "cannot-answer"
    assert verdict(reconciliation, LARGE, "traffic") == "explained"


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: data[: len(data) // 2], id="cut"),
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: b"not Parquet at all", id="foreign"),
        pytest.param(lambda data: data[:40] + bytes(400) + data[440:], id="zeros inside"),
    ],
)
def test_damaged_table_is_named(copy: Copy, damage: Callable[[bytes], bytes]) -> None:
    run = copy()
    file = run.evidence / "kernel.parquet"
    file.write_bytes(damage(file.read_bytes()))
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {"damaged-table"}
    assert reconciliation.exit_status == 2
    assert str(run.path) not in "".join(one.seen for one in reconciliation.findings)


def test_cut_report_is_named_where_the_evidence_is_older(copy: Copy) -> None:
    """The evidence was built from the whole file, so it still answers; the file no longer bears it out."""
    run = copy()
    file = run.reports / "ncu.csv"
    file.write_bytes(file.read_bytes()[:-10])
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {"truncated-report"}
    assert reconciliation.exit_status == 2
    assert "reports/ncu.csv holds 43 of the 53 bytes" in grave(reconciliation)[0].seen
    assert verdict(reconciliation, LARGE, "traffic") == "explained"


def test_cut_report_that_the_evidence_was_built_from_is_not_believed(copy: Copy) -> None:
    run = copy()
    file = run.reports / "ncu.csv"
    file.write_bytes(file.read_bytes()[:-10])
    change(run, f"UPDATE @report SET sha256 = '{sha256(file)}' WHERE file = 'ncu.csv'")
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {"truncated-report"}
    assert verdict(reconciliation, LARGE, "traffic") == "cannot-answer"
    assert verdict(reconciliation, LARGE, "counts") == "agree"  # by nsys and the graph API


def test_changed_report_is_named(copy: Copy) -> None:
    run = copy()
    file = run.reports / "ncu.csv"
    file.write_bytes(file.read_bytes().replace(b"row_exp", b"row_sum"))
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {"changed-report"}
    assert reconciliation.exit_status == 1


def test_a_tolerance_that_was_changed_afterwards_is_named(copy: Copy) -> None:
    run = copy()
    text = run.protocol.read_text(encoding="utf-8")
    assert text.count("relative = 2e-5") == 1
    run.protocol.write_text(text.replace("relative = 2e-5", "relative = 2e-4"), encoding="utf-8")
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {"changed-protocol"}
    assert reconciliation.exit_status == 1


def test_reports_that_stayed_behind_are_no_fault(copy: Copy) -> None:
    run = copy()
    shutil.rmtree(run.reports)
    assert reconcile_run(run).exit_status == 0


def test_passes_that_were_not_asked_for_are_not_judged(copy: Copy) -> None:
    run = copy()
    for table in ("pass", "counter", "driven", "sample", "validation"):
        change(
            run, f"DELETE FROM @{table} WHERE pass <> 'nsys'" if table != "counter" else "DELETE FROM @counter"
        )
    write_json(run.run_json, {**run.read_run(), "passes": ["nsys"]})
    reconciliation = reconcile_run(run)
    assert reconciliation.exit_status == 0
    found = {
        family: verdict(reconciliation, LARGE, family) for family in ("counts", "time", "traffic", "limits")
    }
    assert found == {
        "counts": "agree",
        "time": "not-declared",
        "traffic": "not-declared",
        "limits": "not-declared",
    }


def test_two_faults_are_both_told_and_the_graver_sets_the_status(copy: Copy) -> None:
    run = copy()
    change(run, FAULTS["an ncu report is cut off"][0])
    change(run, FAULTS["a completion is shorter than the device's work"][0])
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {"truncated-report", "completion-too-short"}
    assert reconciliation.exit_status == 1


def test_without_declarations_witnesses_are_compared_with_one_another(copy: Copy) -> None:
    run = copy()
    run.expected.unlink()
    reconciliation = reconcile_run(run)
    assert reconciliation.exit_status == 0
    assert "nothing-declared" in {one.code for one in reconciliation.findings}
    assert verdict(reconciliation, LARGE, "counts") == "agree"
    change(run, "DELETE FROM @kernel WHERE kernel_id = (SELECT min(kernel_id) FROM @kernel WHERE range_id = 8)")
    assert codes(reconcile_run(run)) == {"lost-kernel"}


def test_untimed_kernels_count_but_have_no_order(copy: Copy) -> None:
    """nsys gives 0/0 for a kernel that it did not time; the reader makes that NULL."""
    run = copy()
    change(run, "UPDATE @kernel SET start_ns = NULL, end_ns = NULL WHERE range_id = 9 AND name = 'row_sum'")
    assert reconcile_run(run).exit_status == 0


def test_a_folder_without_evidence_is_an_error(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    for path in run.evidence.iterdir():
        path.unlink()
    with pytest.raises(CannotAnswer, match="holds no evidence"):
        reconcile_run(run)
