"""The report says what the evidence says, needs nothing but itself, and never hides a fault."""

from __future__ import annotations

import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from synthetic_run import Rows, make_run

from nsight_suite import report
from nsight_suite.drawing import Drawn, draw
from nsight_suite.errors import CannotAnswer
from nsight_suite.reconciliation import reconcile_run
from nsight_suite.reporting import write_report
from nsight_suite.reporting.pages import PAGES, SECTIONS
from nsight_suite.reporting.selection import CHECKS, ENVIRONMENT, KEY_TABLES
from nsight_suite.reporting.tables import text_table
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import find_run

UNDRAWN = Drawn((), {})  # figures take most of a report's time


def reported(run: RunFolder, drawn: Drawn = UNDRAWN) -> tuple[Path, Path]:
    return write_report(run, reconcile_run(run), drawn, run.path)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    run = make_run(tmp_path_factory.mktemp("report") / "run")
    html, markdown = reported(run, draw(run))
    return html.read_text(encoding="utf-8"), markdown.read_text(encoding="utf-8")


class _Page(HTMLParser):
    """Collects elements, and checks that they nest. A row or a cell may end where the next begins."""

    VOID = ("meta", "img", "br", "link", "path")
    IMPLIED = ("tr", "td")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while tag not in self.IMPLIED and self._open[-1] in self.IMPLIED:
            self._open.pop()
        assert self._open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_html_is_well_formed_and_loads_nothing(written: tuple[str, str]) -> None:
    page = _Page(written[0])
    assert [script.get("src") for script in page.all("script")] == [None]
    assert not page.all("link")
    for image in page.all("img"):
        assert str(image["src"]).startswith("data:image/svg+xml,")
    for link in page.all("a"):
        assert str(link["href"]).startswith("#")
    assert "@import" not in written[0]
    assert "url(" not in re.sub("<img [^>]* src='[^']*'>", "", written[0])


def test_every_link_has_its_target(written: tuple[str, str]) -> None:
    page = _Page(written[0])
    targets = {attributes.get("id") for _, attributes in page.elements}
    assert {str(link["href"])[1:] for link in page.all("a")} <= targets
    assert {*PAGES, *SECTIONS} <= targets


def test_tables_can_be_read_aloud_and_reached_by_keyboard(written: tuple[str, str]) -> None:
    page = _Page(written[0])
    tables = [table for table in page.all("table") if "rows" in str(table.get("class"))]
    assert len(tables) == len(page.all("caption")) > 20
    regions = [box for box in page.all("div") if "scroll" in str(box.get("class"))]
    assert len(regions) >= len(tables)
    assert all(box.get("tabindex") == "0" and box.get("aria-label") for box in regions)
    assert all(image.get("alt") for image in page.all("img"))


def test_figures_are_those_of_the_run(written: tuple[str, str]) -> None:
    figures = [unquote(str(image["src"]).partition(",")[2]) for image in _Page(written[0]).all("img")]
    assert len(figures) == 3
    for figure in figures:
        assert "row-synthetic" in figure
        assert ElementTree.fromstring(figure).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("form", [0, 1], ids=["html", "markdown"])
def test_both_forms_say_the_same(written: tuple[str, str], form: int) -> None:
    text = written[form]
    for words in (
        "What do fusion and graph replay each change",
        "Reconciled",
        *(title for title, _, _ in PAGES.values()),
        *SECTIONS.values(),
        "row:staged:graph:4096x4096",
        "profiler-overhead",
        "quantiles-are-not-confidence",
        "580.159.03",
        "NVIDIA H200",
        "all passed",
        "python -m nsight_suite.capture row",
        "python driver.py --plan plan.json --records records.jsonl",
        "write-back",
    ):
        assert words in text, words


def test_the_numbers_are_those_of_the_queries(written: tuple[str, str]) -> None:
    """Staged reads four arrays and two vectors of rows, and 4096 bytes a kernel more: 268.48 MB."""
    row = next(
        line for line in written[1].splitlines() if line.startswith("| row:staged:graph:4096x4096 | all |")
    )
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[2:7] == ["kernel-sum", "268.48", "268.48", "268.48", "268.47"]


def test_no_heading_stands_twice_in_a_table() -> None:
    for table in (*KEY_TABLES, *ENVIRONMENT, *CHECKS):
        assert len(set(table.columns.values())) == len(table.columns), table.query


def test_the_table_of_limits_gives_the_answer(written: tuple[str, str]) -> None:
    row = next(
        line for line in written[1].splitlines() if line.startswith("| row:staged:stream:32x1024 | 0.787")
    )
    assert row.endswith("| launch-bound |")
    assert "≈ explained</span>" in written[0]


def test_tables_of_what_a_run_does_not_have_are_left_out(written: tuple[str, str], tmp_path: Path) -> None:
    _, markdown = reported(make_run(tmp_path / "run", whole=True))
    text = markdown.read_text(encoding="utf-8")
    for title in (
        *("Host completion, session by session", "What the pilot chose", "Tasks planned and recorded"),
        *("Tasks that began before the stage before had ended", "Tasks of a traced invocation together"),
    ):
        assert f"#### {title}" in text
        assert f"#### {title}" not in written[1]
    # B of the rows 0 to 28 of 32 began before A had ended; see synthetic_run.py.
    assert "| row:fused:graph:32x1024 | 0 | B | 32 | 29 |" in text
    assert "#### Variants of the same machine code" not in text
    assert "#### Arrays checked" in written[1]


def test_the_commands_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run below the folder that one stands in is told by the way to it, any other by its whole path."""
    run = make_run(tmp_path / "runs" / "my row")
    for folder, argument in ((tmp_path, "runs/my row"), (tmp_path / "runs" / "my row" / "logs", str(run.path))):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        text = reported(run)[1].read_text(encoding="utf-8")
        printed = next(
            line for line in text.splitlines() if line.startswith("python -m nsight_suite.reconcile")
        )
        assert shlex.split(printed)[3:] == [argument]
        assert find_run(shlex.split(printed)[3]).resolve() == run.path


def test_a_planted_fault_stands_on_top(tmp_path: Path) -> None:
    def lose_a_kernel(tables: Rows) -> None:
        case = next(row for row in tables["range"] if row["name"] == "row:staged:stream:4096x4096")
        lost = next(row for row in tables["kernel"] if row["range_id"] == case["range_id"])
        tables["kernel"].remove(lost)

    html, markdown = reported(make_run(tmp_path / "run", edit=lose_a_kernel))
    assert "✗ The evidence disagrees" in markdown.read_text(encoding="utf-8")
    assert 'class="outcome disagree"' in html.read_text(encoding="utf-8")


def test_what_is_missing_is_said_not_hidden(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run.evidence / "counter.parquet").unlink()
    _, markdown = reported(run, draw(run))
    text = markdown.read_text(encoding="utf-8")
    assert "? Nothing disagrees" in text
    assert "No rows: this run holds no evidence for them." in text
    assert "**profile-traffic** cannot be drawn: " in text
    assert "the table 'counter' is not empty but missing" in text
    assert "**row-completion**: Host completion" in text


def test_a_failed_check_is_named(tmp_path: Path) -> None:
    def fail(tables: Rows) -> None:
        tables["validation"][0]["passed"] = False

    _, markdown = reported(make_run(tmp_path / "run", edit=fail))
    assert re.search(r"FAILED: row:\S+ \(finite of y, pass validate\)", markdown.read_text(encoding="utf-8"))


def test_text_from_a_report_cannot_become_markup(tmp_path: Path) -> None:
    def rename(tables: Rows) -> None:
        for row in tables["tool"]:
            row["version"] = "<script>alert(1)</script>|x"

    html, markdown = reported(make_run(tmp_path / "run", edit=rename))
    assert "<script>alert" not in html.read_text(encoding="utf-8")
    assert "alert(1)</script>\\|x" in markdown.read_text(encoding="utf-8")


def test_a_run_without_evidence_says_how_to_build_it(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    for path in run.evidence.iterdir():
        path.unlink()
    with pytest.raises(CannotAnswer, match=r"nsight_suite\.evidence"):
        reported(run)


def test_command_prints_both_paths(
    synthetic_run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.main([str(synthetic_run.path), "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "report.html"), str(tmp_path / "report.md")]


@pytest.mark.parametrize(
    ("column", "values", "unit", "texts"),
    [
        ("median_ns", [7_610, None, 182_558], "µs", ["7.61", "–", "182.56"]),
        ("duration_ns", [61_000_000_000, 4_500_000], "s", ["61.00", "0.0045"]),
        ("dram_write_bytes", [0, 55_296, 133_800_000], "MB", ["0", "0.0553", "133.80"]),
        ("l2_bytes", [0, 512], "B", ["0", "512"]),
        ("ratio", [1.0, 0.66666, None], "", ["1.000", "0.667", "–"]),
        ("worst", [0.25, 1e-6, 0.0], "", ["0.250", "1e-06", "0"]),
        ("rows", [3, None], "", ["3", "–"]),
        ("complete", [True, False, None], "", ["yes", "no", "–"]),
        ("names", [["a", "b"], None], "", ["a, b", "–"]),
    ],
)
def test_units_and_digits(column: str, values: list[object], unit: str, texts: list[str]) -> None:
    table = text_table("t", "q", "a", [{column: value} for value in values], {column: "heading"})
    assert [row[0] for row in table.rows] == texts
    assert table.columns[0].unit == unit


def test_notes_are_told_once() -> None:
    rows = [{"n": 1, "policy": "all", "caveat": "write-back"}] * 3 + [
        {"n": 2, "policy": "none", "caveat": None}
    ]
    assert text_table("t", "q", "a", rows, {"n": "n"}, noted=("policy", "caveat")).notes == ("all: write-back",)
