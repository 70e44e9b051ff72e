"""Figures come from evidence alone, are the same each time, and say where their numbers came from."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from synthetic_run import Rows, make_run

from nsight_suite import figures
from nsight_suite.drawing import draw, write_drawings
from nsight_suite.errors import CannotAnswer, SuiteError, UsageError
from nsight_suite.evidence.store import open_store
from nsight_suite.figurefiles import figure_sources
from nsight_suite.figurestyle import microseconds, variant_colours
from nsight_suite.querying import run_sql
from nsight_suite.querying.formats import as_text
from nsight_suite.runfolder import RunFolder, sha256
from nsight_suite.sources import ExperimentSource

NAMES = ("profile-traffic", "row-completion", "row-fourway")


@pytest.fixture(scope="module")
def drawn(synthetic_run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    write_drawings(draw(synthetic_run), folder)
    return folder


def _provenance(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / f"{name}.provenance.json").read_text())


def test_every_figure_has_png_svg_and_provenance(drawn: Path) -> None:
    assert {path.name for path in drawn.iterdir()} == {
        f"{name}.{suffix}" for name in NAMES for suffix in ("png", "svg", "provenance.json")
    }


@pytest.mark.parametrize("name", NAMES)
def test_provenance_is_that_of_the_files(synthetic_run: RunFolder, drawn: Path, name: str) -> None:
    provenance = _provenance(drawn, name)
    for output in provenance["outputs"]:
        assert output["sha256"] == sha256(drawn / output["path"])
    evidence = [entry for entry in provenance["inputs"] if entry["path"].startswith("evidence/")]
    assert {entry["path"] for entry in evidence} == {
        f"evidence/{path.name}" for path in synthetic_run.evidence.glob("*.parquet")
    }
    for entry in evidence:
        assert entry["sha256"] == sha256(synthetic_run.path / entry["path"])
    for query in provenance["queries"]:
        assert query["sha256"] == hashlib.sha256(query["sql"].encode()).hexdigest()
    assert provenance["run_id"] == "row-synthetic"
    assert provenance["configuration"]["protocol_sha256"] == sha256(synthetic_run.protocol)
    assert {"duckdb", "freetype", "matplotlib", "numpy", "pandas", "pillow"} == provenance["libraries"].keys()


def test_provenance_tells_the_rows_that_were_drawn(synthetic_run: RunFolder, drawn: Path) -> None:
    provenance = _provenance(drawn, "row-completion")
    store = open_store(synthetic_run)
    assert [rows["key"] for rows in provenance["rows"]] == [query["key"] for query in provenance["queries"]]
    for query, rows in zip(provenance["queries"], provenance["rows"], strict=True):
        answer = run_sql(store, query["sql"])
        csv = as_text(answer, "csv").encode()
        assert (rows["rows"], rows["sha256"]) == (len(answer.rows), hashlib.sha256(csv).hexdigest())


@pytest.mark.parametrize("name", NAMES)
def test_the_sql_in_the_provenance_runs(synthetic_run: RunFolder, drawn: Path, name: str) -> None:
    """A reader can take the text out of the file and get the figure's numbers."""
    store = open_store(synthetic_run)
    assert all(store.rows(query["sql"]) for query in _provenance(drawn, name)["queries"])


def test_the_same_evidence_gives_the_same_bytes(synthetic_run: RunFolder, drawn: Path, tmp_path: Path) -> None:
    for path in write_drawings(draw(synthetic_run, ["row-completion"]), tmp_path):
        assert path.read_bytes() == (drawn / path.name).read_bytes()


def test_other_evidence_gives_another_figure(drawn: Path, tmp_path: Path) -> None:
    def slower(tables: Rows) -> None:
        for row in tables["sample"]:
            row["duration_ns"] *= 2

    write_drawings(draw(make_run(tmp_path / "run", edit=slower), ["row-completion"]), tmp_path)
    assert (tmp_path / "row-completion.svg").read_bytes() != (drawn / "row-completion.svg").read_bytes()


def test_svg_holds_no_date(drawn: Path) -> None:
    assert "dc:date" not in (drawn / "row-completion.svg").read_text()


def _without_timing(tables: Rows) -> None:
    tables["sample"] = [row for row in tables["sample"] if row["pass"] != "timing"]


def test_a_figure_without_evidence_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    written = write_drawings(draw(make_run(tmp_path / "run", edit=_without_timing)), tmp_path / "figures")
    assert {path.name.split(".")[0] for path in written} == {"profile-traffic"}
    assert "row-completion is left out" in caplog.text


def test_a_figure_asked_for_by_name_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(CannotAnswer, match="No host completion"):
        draw(make_run(tmp_path / "run", edit=_without_timing), ["row-completion"])


def test_a_missing_counter_is_a_word_not_a_bar(tmp_path: Path) -> None:
    def without_warm(tables: Rows) -> None:
        tables["counter"] = [row for row in tables["counter"] if row["pass"] != "ncu-warm"]

    assert draw(make_run(tmp_path / "run", edit=without_warm), ["profile-traffic"]).drawings


def test_an_unknown_figure_names_the_known(synthetic_run: RunFolder) -> None:
    with pytest.raises(UsageError, match="row-completion"):
        draw(synthetic_run, ["row-speed"])


def test_nothing_half_written_when_the_folder_cannot_be_made(synthetic_run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "figures").write_text("a file is in the way")
    with pytest.raises(SuiteError, match="Cannot write"):
        write_drawings(draw(synthetic_run, ["row-completion"]), tmp_path / "figures")


def test_an_outside_experiment_brings_its_own_figures(synthetic_run: RunFolder, tmp_path: Path) -> None:
    folder = tmp_path / "row"
    (folder / "figures").mkdir(parents=True)
    (folder / "figures" / "kernels.py").write_text(
        '"""Kernels that nsys recorded."""\n'
        "from matplotlib.figure import Figure\n"
        'NAME, EXPERIMENTS = "kernels", None\n'
        'QUERIES = {"kernels": "SELECT count(*) AS n FROM kernel"}\n'
        "def draw(tables):\n"
        "    figure = Figure()\n"
        '    figure.subplots().bar(["kernels"], tables["kernels"]["n"])\n'
        "    return figure\n"
    )
    experiment = ExperimentSource("row", folder)
    assert [source.name for source in figure_sources(experiment)] == [*NAMES, "kernels"]
    assert len(draw(synthetic_run, ["kernels"], experiment).drawings) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('NAME, EXPERIMENTS, QUERIES = "x", None, {}', "lacks draw"),
        ("def draw(tables:", "cannot be loaded"),
        ("import no_such_module", "cannot be loaded"),
    ],
)
def test_a_broken_figure_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "broken.py").write_text(text)
    with pytest.raises(SuiteError, match=f"broken.py {says}"):
        figure_sources(ExperimentSource("mine", tmp_path))


def test_figures_are_for_their_experiments() -> None:
    assert [source.name for source in figure_sources("row")] == list(NAMES)
    assert not [source.name for source in figure_sources("another") if source.name in NAMES]


def test_command_writes_beside_the_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "run")
    assert figures.main([str(run.path), "row-completion"]) == 0
    assert [Path(line) for line in capsys.readouterr().out.split()] == [
        run.figures / f"row-completion.{suffix}" for suffix in ("png", "svg", "provenance.json")
    ]


def test_command_refuses_an_unknown_figure(
    synthetic_run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert figures.main([str(synthetic_run.path), "nothing"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_microseconds_have_three_digits() -> None:
    assert [microseconds(value) for value in (7_610, 48_000, 170_400)] == ["7.61", "48.0", "170"]


def test_neighbouring_variants_never_share_a_colour() -> None:
    colours = list(variant_colours([f"v{i}" for i in range(10)]).values())
    assert all(left != right for left, right in itertools.pairwise(colours))
