"""The Python API, as its users meet it."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import nsight_suite
from nsight_suite import drawing
from nsight_suite import list as list_command
from nsight_suite.errors import CannotAnswer, SuiteError, UsageError
from nsight_suite.run import Run
from nsight_suite.runfolder import RunFolder


def copy_of(run: RunFolder, folder: Path) -> RunFolder:
    """A copy that a test may spoil."""
    shutil.copytree(run.path, folder / "run")
    return RunFolder(folder / "run")


@pytest.fixture(scope="module")
def run(synthetic_run: RunFolder) -> Run:
    return nsight_suite.open_run(synthetic_run.path)


def test_a_named_query_gives_a_frame(run: Run) -> None:
    counts = run.query("kernel_counts").set_index("case_id")["kernels_per_invocation"]
    assert counts["row:staged:graph:4096x4096"] == 4
    assert counts["row:cudnn:stream:4096x4096"] == 1


def test_the_same_as_plain_rows(run: Run) -> None:
    rows = run.query("kernel_counts", as_="rows")
    assert [row["case_id"] for row in rows] == list(run.query("kernel_counts")["case_id"])


def test_sql_text(run: Run) -> None:
    assert run.sql("SELECT count(*) AS n FROM variant_case", as_="rows") == [{"n": 18}]


def test_missing_stays_missing_and_integers_stay_exact(run: Run) -> None:
    frame = run.sql("SELECT unnest([9007199254740993, NULL]) AS n")
    assert frame["n"].dtype == "Int64"
    assert frame["n"][0] == 9007199254740993
    assert frame["n"][1] is pd.NA


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_arrow(run: Run) -> None:
    assert run.query("kernel_counts", as_="arrow").num_rows == len(run.query("kernel_counts"))


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_arrow_says_what_to_install(run: Run) -> None:
    with pytest.raises(UsageError, match="pip install pyarrow"):
        run.query("kernel_counts", as_="arrow")


def test_an_unknown_form_names_the_known(run: Run) -> None:
    with pytest.raises(UsageError, match="frame, rows or arrow"):
        run.query("kernel_counts", as_="polars")  # type: ignore[call-overload]


def test_queries_are_documented(run: Run) -> None:
    documented = {query.name: query for query in run.queries()}
    assert documented["host_completion"].columns["median_ns"] == "median in ns"


def test_findings_are_frozen(run: Run) -> None:
    finding = run.findings[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        finding.verdict = "agree"  # type: ignore[misc]


def test_reconciliation_has_the_commands_exit_status(run: Run) -> None:
    assert run.reconcile().exit_status == 0


def test_figures_and_report_go_where_they_are_told(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {path.parent for path in run.figures(["row-completion"], tmp_path / "figures")} == {
        tmp_path / "figures"
    }
    # One figure of the report is enough to see where it goes.
    monkeypatch.setattr(drawing, "draw", partial(drawing.draw, names=["row-completion"]))
    assert run.report(tmp_path) == (tmp_path / "report.html", tmp_path / "report.md")


def test_a_run_says_what_it_is(run: Run, synthetic_run: RunFolder) -> None:
    assert run.path == synthetic_run.path
    assert run.info["experiment"] == "row"
    assert repr(run) == f"Run({str(synthetic_run.path)!r})"


def test_a_closed_run_opens_again_when_asked(synthetic_run: RunFolder) -> None:
    with nsight_suite.open_run(synthetic_run.path) as run:
        first = run.query("passes", as_="rows")
    assert run.query("passes", as_="rows") == first


def test_a_recorded_run_is_found_by_its_name_and_written_elsewhere(recorded_run: RunFolder) -> None:
    run = nsight_suite.open_run("row-h200")
    assert run.path.samefile(recorded_run.path)
    assert run.output_path == Path("runs") / "row-h200"


def test_no_such_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no run"):
        nsight_suite.open_run(tmp_path / "nothing")


def test_a_run_without_evidence_says_so_when_asked(synthetic_run: RunFolder, tmp_path: Path) -> None:
    run = copy_of(synthetic_run, tmp_path)
    for path in run.evidence.iterdir():
        path.unlink()
    with pytest.raises(CannotAnswer, match="holds no evidence"):
        nsight_suite.open_run(run.path).query("kernel_counts")


def test_a_damaged_run_json_is_an_error_of_the_suite(synthetic_run: RunFolder, tmp_path: Path) -> None:
    run = copy_of(synthetic_run, tmp_path)
    run.run_json.write_text("{")
    with pytest.raises(SuiteError, match=r"run\.json cannot be read"):
        nsight_suite.open_run(run.path)


def test_opening_a_run_imports_nothing_heavy(synthetic_run: RunFolder) -> None:
    text = (
        f"import sys, nsight_suite; nsight_suite.open_run({str(synthetic_run.path)!r}); "
        "print({'duckdb', 'pandas', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_list_as_json_and_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert list_command.main(["queries", "figures", "--json"]) == 0
    listing = json.loads(capsys.readouterr().out)
    assert set(listing) == {"queries", "figures"}
    assert listing["queries"]["kernel_counts"].startswith("One row per case")
    assert list_command.main(["experiments"]) == 0
    assert "  row  " in capsys.readouterr().out


def test_list_refuses_an_unknown_kind() -> None:
    with pytest.raises(SystemExit) as caught:
        list_command.main(["kernels"])
    assert caught.value.code == 2
