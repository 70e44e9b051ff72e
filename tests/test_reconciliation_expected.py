"""What expected.sql declares wrongly is refused by its name; what it leaves out is not declared."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from test_reconciliation import LARGE, change, codes, grave, verdict

from nsight_suite.errors import UsageError
from nsight_suite.evidence.store import open_store, write_duckdb
from nsight_suite.reconciliation import reconcile_run
from nsight_suite.runfolder import RunFolder


@pytest.fixture
def run(synthetic_run: RunFolder, tmp_path: Path) -> RunFolder:
    shutil.copytree(synthetic_run.path, tmp_path / "run")
    return RunFolder(tmp_path / "run")


def declare(run: RunFolder, select: str) -> None:
    """Another expected.sql over the right one, which stands in `given`."""
    text = run.expected.read_text(encoding="utf-8").strip().rstrip(";")
    run.expected.write_text(f"WITH given AS (\n{text}\n) {select}", encoding="utf-8")


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ("SELECT * FROM given UNION ALL SELECT * FROM given", "has more than one row for row:"),
        ("SELECT *, NULL::BIGINT AS memset_nodes FROM given", "declares no memset_nodes for row:"),
        ("SELECT *, -1 AS memset_nodes FROM given", "declares -1 memset_nodes for row:"),
        ("SELECT *, 'one' AS memset_nodes FROM given", "declares what is no whole number"),
        ("SELECT *, NULL::BIGINT AS reread_bytes FROM given", "declares no reread_bytes for row:"),
        ("SELECT *, -4096 AS reread_bytes FROM given", "declares -4096 reread_bytes for row:"),
        ("SELECT *, 1e30 AS reread_bytes FROM given", "declares what is no whole number"),
        ("SELECT * REPLACE (-kernels AS kernels) FROM given", "kernels for row:"),
    ],
)
def test_a_wrong_declaration_is_refused_by_the_files_name(run: RunFolder, select: str, message: str) -> None:
    declare(run, select)
    for refused in (write_duckdb, reconcile_run):
        with pytest.raises(UsageError, match=message) as caught:
            refused(run)
        assert "expected.sql" in caught.value.what
        assert "Rebuild" not in str(caught.value)


def test_a_case_without_a_row_is_not_declared(run: RunFolder) -> None:
    declare(run, f"SELECT * FROM given WHERE case_id <> '{LARGE}'")
    reconciliation = reconcile_run(run)
    assert verdict(reconciliation, LARGE, "counts") == "not-declared"
    assert [verdict(reconciliation, case.case_id, "counts") for case in reconciliation.cases].count(
        "agree"
    ) == 17
    told = next(one for one in reconciliation.findings if (one.family, one.case_id) == ("counts", LARGE))
    assert told.code == "no-expectation"
    assert told.seen.startswith("expected.sql has no row for it")


@pytest.mark.parametrize("what", ["read", "write"])
def test_nothing_to_move_divides_nothing(run: RunFolder, what: str) -> None:
    declare(run, f"SELECT * REPLACE (0::BIGINT AS logical_{what}_bytes) FROM given")
    assert "dram-over-logical" in codes(reconcile_run(run))
    declare(
        run, "SELECT * REPLACE (0::BIGINT AS logical_read_bytes, 0::BIGINT AS logical_write_bytes) FROM given"
    )
    reconcile_run(run)


def test_what_is_declared_to_be_read_again_is_allowed_once(run: RunFolder) -> None:
    """Twice what a kernel must read is fine where a second reading is declared, three times is not."""
    double = "UPDATE @counter SET value = {n} * value, original = CAST(CAST({n} * value AS BIGINT) AS VARCHAR) "
    double += f"WHERE metric = 'dram__bytes_read.sum' AND range_name LIKE '{LARGE.replace('graph', '%')}'"
    declare(run, "SELECT *, logical_read_bytes AS reread_bytes FROM given")
    assert grave(reconcile_run(run)) == []
    change(run, double.format(n=2))
    assert grave(reconcile_run(run)) == []
    change(run, double.format(n=1.5))
    assert codes(reconcile_run(run)) == {"dram-over-logical"}


def test_a_missing_table_is_not_the_fault_of_what_reads_it(run: RunFolder) -> None:
    (run.evidence / "variant_case.parquet").unlink()
    assert set(open_store(run).missing) == {"variant_case"}
