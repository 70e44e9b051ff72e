"""The report says what the evidence says, needs nothing but itself, and never hides a fault."""

from __future__ import annotations

import base64
import csv
import hashlib
import re
import shlex
import statistics
from contextlib import redirect_stdout
from html import unescape
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from markupsafe import escape
from synthetic_run import Rows, make_run
from tiny_export import Call, Kernel, Range, make_export

from nsight_suite import open_run, query, report
from nsight_suite.drawing import Drawn, draw
from nsight_suite.errors import CannotAnswer
from nsight_suite.figurefiles import figure_sources
from nsight_suite.ingesting.making import ingest
from nsight_suite.querying import find_query, query_text
from nsight_suite.reconciliation import reconcile_run
from nsight_suite.reporting import write_report
from nsight_suite.reporting.behind import BEHIND
from nsight_suite.reporting.ingested import INGESTED_BEHIND, INGESTED_TABLES
from nsight_suite.reporting.pages import PAGES, SECTIONS
from nsight_suite.reporting.selection import CHECKS, DOUBTS, ENVIRONMENT, KEY_TABLES
from nsight_suite.reporting.strips import spread, strip
from nsight_suite.reporting.tables import text_table
from nsight_suite.runfolder import RunFolder, write_json
from nsight_suite.sources import find_run

DATA = Path(__file__).parent / "data"
UNDRAWN = Drawn((), {})  # figures take most of a report's time


def reported(run: RunFolder, drawn: Drawn = UNDRAWN) -> tuple[Path, Path]:
    return write_report(run, reconcile_run(run), drawn, run.path)


@pytest.fixture(scope="module")
def printed(synthetic_run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the command prints of a report with all figures: two paths."""
    out = tmp_path_factory.mktemp("report")
    with redirect_stdout(StringIO()) as output:
        assert report.main([str(synthetic_run.path), "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir() if path.name[0] != ".") == ["report.html", "report.md"]
    return output.getvalue()


@pytest.fixture(scope="module")
def written(printed: str) -> tuple[str, str]:
    html, markdown = (Path(path).read_text(encoding="utf-8") for path in printed.split())
    return html, markdown


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


def behind(html: str, anchor: str) -> str:
    """What stands on the evidence page behind a row, as it is printed."""
    return html.partition(f'<div id="{anchor}">')[2].partition("</details>")[0]


def test_a_number_leads_to_its_row_and_every_sample_behind_it(
    written: tuple[str, str], synthetic_run: RunFolder
) -> None:
    with open_run(synthetic_run.path) as run:
        rows = run.query("host_completion", as_="rows")
    assert len(rows) == 12
    for number, row in enumerate(rows, 1):
        block = behind(written[0], f"host_completion.{number}")
        assert f"median_ns {row['median_ns']} · p10_ns {row['p10_ns']} · p90_ns {row['p90_ns']}" in block
        samples = [int(text) for text in re.findall(r"<tr><td>\d+<td>\d+<td>(\d+)", block)]
        assert len(samples) == row["samples"]
        assert round(statistics.median(samples)) == row["median_ns"]
        assert written[0].count(f'<a href="#host_completion.{number}"') >= 1 + 6


def test_every_number_of_a_results_table_is_a_link(written: tuple[str, str]) -> None:
    results = written[0].split('id="results"')[1].split('id="evidence"')[0]
    assert set(re.findall(r'<td class="n">(.*?)</td>', results)) <= {"–"}
    for table in ("kernel_counts", "dram_bytes", "launch_split", "limits"):
        assert len(re.findall(rf'<td><a href="#{table}\.\d+"', results)) > 40


def test_counters_and_kernels_are_shown_one_by_one(written: tuple[str, str], synthetic_run: RunFolder) -> None:
    with open_run(synthetic_run.path) as run:
        rows = run.query("dram_bytes", as_="rows")
        counters = run.sql("SELECT * FROM workload", as_="rows")
    number, row = next(
        (number, row)
        for number, row in enumerate(rows, 1)
        if row["case_id"] == "row:staged:stream:4096x4096" and row["pass"] == "ncu"
    )
    counted = [one for one in counters if (one["case_id"], one["pass"]) == (row["case_id"], row["pass"])]
    block = behind(written[0], f"dram_bytes.{number}")
    assert len(counted) == block.count("<tr><td>") == 8
    for one in counted:
        values = (one[name] for name in ("workload_id", "short_name", "dram_read_bytes", "dram_write_bytes"))
        assert "<td>".join(map(str, values)) in block


@pytest.mark.parametrize("name", ["host_completion", "limits", "validation", "tools"])
def test_each_query_has_its_text_its_hash_and_its_columns(written: tuple[str, str], name: str) -> None:
    part = written[0].split(f'id="query-{name}"')[1].split("</article>")[0]
    found = find_query(name, "row")
    assert hashlib.sha256(found.sql.encode()).hexdigest() in part
    assert str(escape(found.sql)) in part
    for column, meaning in found.columns.items():
        assert f"<dt><code>{column}</code></dt><dd>{escape(meaning)}</dd>" in part


def test_the_queries_of_figures_stand_there_too(written: tuple[str, str]) -> None:
    """Those that have no name of their own are told as FIGURE.KEY."""
    drawn = [source for source in figure_sources("row") if f'id="figure-{source.name}"' in written[0]]
    assert len(drawn) == 3
    for source in drawn:
        for key, asked in source.queries.items():
            named = len(asked.split()) == 1
            name, text = (asked, query_text(asked, "row")) if named else (f"{source.name}.{key}", asked)
            part = written[0].split(f'id="query-{name}"')[1].split("</article>")[0]
            assert hashlib.sha256(text.encode()).hexdigest() in part


def test_the_policy_names_the_style_and_the_script(written: tuple[str, str]) -> None:
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', written[0])
    assert unescape(policy).startswith("default-src 'none'; img-src data:;")
    for tag in ("style", "script"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", written[0], re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in unescape(policy)


@pytest.mark.parametrize("values", [[5], [5, 5, 5], [1, 2, 4], list(range(100, 0, -3)), [7] * 20 + [900]])
def test_the_spread_of_samples(values: list[float]) -> None:
    """Quantiles are those of DuckDB and numpy; of few samples the extremes are told instead."""
    seen = spread(values)
    assert seen.median == pytest.approx(np.median(values))
    low, high = np.quantile(values, (0.1, 0.9)) if len(values) >= 10 else (min(values), max(values))
    assert (seen.low, seen.high) == pytest.approx((low, high))
    drawn = strip(values)
    assert drawn.svg.count("v14") + drawn.beyond == len(values)
    places = [float(place) for place in re.findall(r"M([\d.-]+) 6v14", drawn.svg)]
    assert all(0 <= place <= 640 for place in places)


def test_what_a_behind_declares_is_there(synthetic_run: RunFolder) -> None:
    """Its keys and the columns that it sums up are columns of the query; its home is told before it."""
    shown = [*KEY_TABLES, *INGESTED_TABLES]
    order = [table.query for table in shown]
    with open_run(synthetic_run.path) as run:
        for name, sources in {**BEHIND, **INGESTED_BEHIND}.items():
            columns = set(find_query(name).columns)
            for one in sources:
                sql = find_query(one.sql).sql if len(one.sql.split()) == 1 else one.sql
                raw = set(run.sql(f"SELECT * FROM ({sql}) LIMIT 0").columns)
                assert {*one.keys, *one.values} <= columns, name
                assert {*one.keys, *one.values.values(), *filter(None, [one.per])} <= raw, name
                assert not one.home or order.index(one.home) < order.index(name)


def test_no_heading_stands_twice_in_a_table() -> None:
    for table in (*KEY_TABLES, *ENVIRONMENT, *CHECKS, *DOUBTS, *INGESTED_TABLES):
        assert len(set(table.columns.values())) == len(table.columns), table.query


def test_the_table_of_limits_gives_the_answer(written: tuple[str, str]) -> None:
    row = next(
        line for line in written[1].splitlines() if line.startswith("| row:staged:stream:32x1024 | 0.787")
    )
    assert row.endswith("| launch-bound |")
    assert "≈ explained</span>" in written[0]


def test_tables_of_what_a_run_does_not_have_are_left_out(
    written: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", whole=True)
    judged = reconcile_run(run)
    (page, text), again = (
        [path.read_text(encoding="utf-8") for path in write_report(run, judged, UNDRAWN, run.path)]
        for _ in range(2)
    )
    assert again == [page, text]
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
    _the_rest_of_cut_rows_is_had_by_the_command(page, capsys)


def _answer_of_the_command(block: str, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """What the command that is printed beside cut rows gives: a row of headings, and all rows."""
    (printed,) = re.findall(r'<pre tabindex="0"><code>(.*?)</code>', block, re.DOTALL)
    command = shlex.split(unescape(printed))
    assert command[:3] == ["python", "-m", "nsight_suite.query"]
    assert query.main([*command[3:], "--format", "csv"]) == 0
    return list(csv.reader(capsys.readouterr().out.splitlines()))


def _the_rest_of_cut_rows_is_had_by_the_command(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    block = next(part for part in page.split("<details>") if "The first 16 of 32." in part)
    rows = _answer_of_the_command(block, capsys)
    assert len(rows) == 1 + 32
    shown = re.findall(r"<tr><td>(.*?)(?=<tr>|</tbody>)", block)
    given = [[value or "NULL" for value in row[4:]] for row in rows[1:]]
    assert given[:16] == [row.split("<td>") for row in shown]


def test_the_commands_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run below the folder that one stands in is told by the way to it, any other by its whole path."""
    run = make_run(tmp_path / "runs" / "my row")
    judged = reconcile_run(run)
    for folder, argument in ((tmp_path, "runs/my row"), (tmp_path / "runs" / "my row" / "logs", str(run.path))):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        text = write_report(run, judged, UNDRAWN, run.path)[1].read_text(encoding="utf-8")
        printed = next(
            line for line in text.splitlines() if line.startswith("python -m nsight_suite.reconcile")
        )
        assert shlex.split(printed)[3:] == [argument]
        assert find_run(shlex.split(printed)[3]).resolve() == run.path


def spoil(tables: Rows) -> None:
    """A kernel without a record, a check and a pass that failed, a pass that is not there, and markup."""
    case = next(row for row in tables["range"] if row["name"] == "row:staged:stream:4096x4096")
    tables["kernel"].remove(next(row for row in tables["kernel"] if row["range_id"] == case["range_id"]))
    tables["validation"][0]["passed"] = False
    (sanitize,) = (row for row in tables["pass"] if row["pass"] == "sanitize")
    sanitize |= {"state": "failed", "reason": "compute-sanitizer <crashed>"}
    tables["pass"] = [row for row in tables["pass"] if row["pass"] != "ncu-warm"]
    for row in tables["tool"]:
        row["version"] = "<script>alert(1)</script>|x"


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The report of a run in which much went wrong."""
    run = make_run(tmp_path_factory.mktemp("spoiled") / "run", edit=spoil)
    write_json(run.run_json, {**run.read_run(), "state": "incomplete"})
    html, markdown = (path.read_text(encoding="utf-8") for path in reported(run))
    return html, markdown


def test_a_planted_fault_stands_on_top(spoiled: tuple[str, str]) -> None:
    html, markdown = spoiled
    assert "✗ The evidence disagrees" in markdown.split("\n## Protocol\n")[0]
    assert 'class="outcome disagree"' in html.split("<nav")[0]
    (verdicts,) = (
        line for line in markdown.splitlines() if line.startswith("| `row:staged:stream:4096x4096` ")
    )
    assert verdicts.split("|")[2] == " ✗ disagree "


def test_a_run_that_is_not_complete_says_so_on_top(spoiled: tuple[str, str]) -> None:
    html, markdown = spoiled
    for text in (html.split("<nav")[0], markdown.split("\n## Protocol\n")[0]):
        assert "The run is incomplete" in text
    for said in (
        "Pass sanitize is failed: compute-sanitizer",
        "Pass ncu-warm was asked for and left no record.",
    ):
        assert said in html.split('id="limits"')[1]
        assert said in markdown.split("\n## Limits\n")[1]


def test_a_failed_check_is_named(spoiled: tuple[str, str]) -> None:
    assert re.search(r"FAILED: row:\S+ \(finite of y, pass validate\)", spoiled[1])


def test_text_from_a_report_cannot_become_markup(spoiled: tuple[str, str]) -> None:
    html, markdown = spoiled
    assert "<script>alert" not in html
    assert "compute-sanitizer &lt;crashed&gt;" in html
    assert "alert(1)</script>\\|x" in markdown


def test_what_is_missing_is_said_not_hidden(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run.evidence / "counter.parquet").unlink()
    _, markdown = reported(run, draw(run))
    text = markdown.read_text(encoding="utf-8")
    assert "? Nothing disagrees" in text
    assert "No rows: this run holds no evidence for them." in text
    assert "**profile-traffic** cannot be drawn: " in text
    assert "The query 'dram_bytes' has no answer: the table 'counter' is not empty but missing" in text
    assert "**row-completion**: Host completion" in text


def test_what_a_lost_table_would_tell_is_not_told_as_zero(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    for lost in ("kernel", "validation", "pass"):
        (run.evidence / f"{lost}.parquet").unlink()
    html, markdown = (path.read_text(encoding="utf-8") for path in reported(run))
    split = markdown.split("#### Where the completion of a profiled invocation goes")[1].split("####")[0]
    assert "No rows: this run holds no evidence for them." in split
    assert "- The query 'launch_split' has no answer: the table 'kernel' is not empty but missing" in split
    assert "| row:staged:stream:4096x4096 |" not in split
    for text in (html, markdown):
        assert "Whether any output was checked cannot be said" in text
        assert "left no record" not in text
        assert "The table kernel of the evidence is missing" in text


def test_an_ingested_run_has_a_report_without_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = make_export(
        tmp_path / "mine.sqlite",
        api=[Call("cudaLaunchKernel_v7000", 100 * n + 10, 100 * n + 20, n) for n in range(40)],
        kernels=[Kernel("k<int>", 100 * n + 50, 100 * n + 70 + n, n) for n in range(40)],
        nvtx=[Range("step", 100 * n, 100 * n + 30) for n in range(40)],
    )
    ingested = ingest([export, DATA / "ncu_kernel_raw.csv"], tmp_path / "run").run
    assert report.main([str(ingested.path)]) == 0
    html, markdown = ((ingested.path / f"report.{form}").read_text(encoding="utf-8") for form in ("html", "md"))
    for text in (html, markdown):
        assert "Nothing is judged" in text
        assert "no protocol declared" in text
    assert "The first 16 of 270." in behind(html, "ncu_workloads.1")
    block = behind(html, "kernel_summary.1")
    assert "kernels 40 · untimed 0" in block
    assert "The first 16 of 40." in block
    assert "k&lt;int&gt;" in html
    capsys.readouterr()
    assert len(_answer_of_the_command(behind(html, "range_summary.1"), capsys)) == 1 + 40
    assert not _Page(html).all("img")


def test_a_run_without_evidence_says_how_to_build_it(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    for path in run.evidence.iterdir():
        path.unlink()
    with pytest.raises(CannotAnswer, match=r"nsight_suite\.evidence"):
        reported(run)


def test_command_prints_both_paths(printed: str) -> None:
    html, markdown = map(Path, printed.splitlines())
    assert (html.name, markdown.name) == ("report.html", "report.md")
    assert html.parent == markdown.parent


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
