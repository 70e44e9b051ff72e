"""Checks that are missing where they were made elsewhere, checks by other limits, and builds that are gone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic_run import Rows, make_run
from test_reconciliation import change, codes, grave

from nsight_suite.reconciliation import reconcile_run
from nsight_suite.runfolder import RunFolder, read_json, sha256, write_json

FUSED, CUDNN = "row:fused:graph:4096x4096", "row:cudnn:graph:4096x4096"
EQUAL = ("staged", "fused", "cudnn")

Copy = Callable[[], RunFolder]


def equal_variants(rows: Rows) -> None:
    """All variants must be equal: the first that a pass runs is held against none, the others against it."""
    for row in list(rows["validation"]):
        variant = row["case_id"].split(":")[1]
        first = "fused" if row["pass"] == "pilot" else EQUAL[0]
        if row["check"] == "finite" and variant != first:
            rows["validation"].append({**row, "check": f"same_as:{first}"})


@pytest.fixture(scope="module")
def equal_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return make_run(tmp_path_factory.mktemp("equal") / "run", whole=True, edit=equal_variants)


@pytest.fixture
def copy(equal_run: RunFolder, tmp_path: Path) -> Copy:
    def made() -> RunFolder:
        shutil.copytree(equal_run.path, tmp_path / "run")
        return RunFolder(tmp_path / "run")

    return made


def test_the_first_of_equal_variants_depends_on_what_a_pass_runs(equal_run: RunFolder) -> None:
    assert grave(reconcile_run(equal_run)) == []


OF_FUSED, OF_CUDNN = f"case_id = '{FUSED}'", f"case_id = '{CUDNN}'"
LACKING = {
    # what is gone: (planted by, case, something that its text says)
    "a check of one pass": (
        f"DELETE FROM @validation WHERE pass = 'validate' AND \"check\" = 'error' AND {OF_FUSED}",
        FUSED,
        "pass validate: validation normal",
    ),
    "a check of one input, with another in its place": (
        "UPDATE @validation SET \"check\" = 'finite', worst = 0, \"limit\" = 0 WHERE pass = 'validate' AND "
        f"fixture = 'ties' AND \"check\" = 'row_sum' AND {OF_FUSED}",
        FUSED,
        "pass validate: row_sum of y on ties 0 of 1",
    ),
    "an array of every input of one pass, with another in its place": (
        f"UPDATE @validation SET \"array\" = 'z' WHERE pass = 'nsys' AND \"check\" = 'error' AND {OF_FUSED}",
        FUSED,
        "pass ncu: error of z on normal 0 of 1",
    ),
    "a variant's comparison in every pass that checks all inputs": (
        "DELETE FROM @validation WHERE pass IN ('validate', 'sanitize') AND \"check\" LIKE 'same_as:%' AND "
        f"{OF_CUDNN}",
        CUDNN,
        "pass validate: validation normal against variants 0 of 1",
    ),
    "every comparison with another variant in one pass": (
        "DELETE FROM @validation WHERE pass = 'validate' AND \"check\" LIKE 'same_as:%'",
        FUSED,
        "pass validate: same_as:staged of y on normal 0 of 1",
    ),
    "every comparison of a case with another variant": (
        f"DELETE FROM @validation WHERE \"check\" LIKE 'same_as:%' AND {OF_FUSED}",
        FUSED,
        "pass validate: validation normal against variants 0 of 1",
    ),
    "a comparison, with one with another variant in its place": (
        "UPDATE @validation SET \"check\" = 'same_as:fused' WHERE \"check\" = 'same_as:staged' AND "
        f"pass = 'nsys' AND {OF_CUDNN}",
        CUDNN,
        "pass nsys: same_as:staged of y on normal 0 of 1",
    ),
}


@pytest.mark.parametrize("what", LACKING)
def test_a_check_that_is_gone_is_missed(copy: Copy, what: str) -> None:
    statement, case_id, text = LACKING[what]
    run = copy()
    change(run, statement)
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {"missing-evidence"}
    told = [one.seen for one in grave(reconciliation) if one.case_id == case_id]
    assert any(text in seen for seen in told), told


LIMITS = {
    "row_sum": (1.0, "row_sum of y in pass validate by 1 where 2e-05 is set"),
    "error": (5.0, "error of y in pass validate by 5 where 1 is set"),
    "finite": (7.0, "finite of y in pass validate by 7 where 0 is set"),
    "nonnegative": ("NULL", "nonnegative of y in pass validate by no limit where 0 is set"),
    "same_as:staged": (0.5, "same_as:staged of y in pass validate by 0.5 where 0 is set"),
    "same_as_stream": (0.5, "same_as_stream of y in pass validate by 0.5 where 0 is set"),
}


@pytest.mark.parametrize("check", LIMITS)
def test_a_limit_that_is_not_the_protocols_is_named(copy: Copy, check: str) -> None:
    limit, text = LIMITS[check]
    run = copy()
    change(
        run,
        f"UPDATE @validation SET \"limit\" = {limit} WHERE \"check\" = '{check}' AND pass = 'validate' AND "
        f"fixture = 'ties' AND {OF_FUSED}",
    )
    reconciliation = reconcile_run(run)
    assert codes(reconciliation) == {"limit-differs"}
    (told,) = grave(reconciliation)
    assert (told.case_id, text in told.seen) == (FUSED, True), told.seen


@pytest.mark.parametrize("noted", [True, False])
def test_a_protocol_that_was_loosened_after_the_run_is_seen(copy: Copy, noted: bool) -> None:
    run = copy()
    text = run.protocol.read_text()
    assert text.count("row_sum = 2e-5") == 1
    run.protocol.write_text(text.replace("row_sum = 2e-5", "row_sum = 2e-1"))
    if noted:
        write_json(run.run_json, {**read_json(run.run_json), "protocol_sha256": sha256(run.protocol)})
    assert codes(reconcile_run(run)) == {"limit-differs"} | ({"changed-protocol"} if not noted else set())


def test_a_build_that_is_gone_is_missed_unless_all_reports_are(copy: Copy) -> None:
    run = copy()
    entry = {"path": "reports/builds/validate/fused.cubin", "bytes": 3, "sha256": "00", "private": True}
    record = read_json(run.passes / "validate.json")
    write_json(run.passes / "validate.json", {**record, "artifacts": [*record["artifacts"], entry]})
    (told,) = grave(reconcile_run(run))
    assert (told.code, told.seen) == ("missing-report", f"{entry['path']} is missing, which its pass left")
    shutil.rmtree(run.reports)
    assert grave(reconcile_run(run)) == []
