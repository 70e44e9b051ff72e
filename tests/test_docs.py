"""The documentation is complete and current: what a command can write is never typed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from python_files import module_of

from nsight_suite import protocol
from nsight_suite.__main__ import VERBS
from nsight_suite.drawing import draw, write_drawings
from nsight_suite.evidence import store
from nsight_suite.figurefiles import figure_sources
from nsight_suite.querying import open_evidence
from nsight_suite.runfolder import RunFolder, write_json
from nsight_suite.sources import find_experiment

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
RECORDED = ROOT / "examples" / "row-h200"
EXAMPLE = DOCS / "example" / "scale"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return module_of(DOCS / "generate.py")


def test_generated_pages_are_current(generator: ModuleType) -> None:
    stale = [path.name for path, text in generator.texts().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run: python docs/generate.py"


def test_readmes_figure_is_that_of_the_recorded_run(generator: ModuleType, recorded_run: RunFolder) -> None:
    assert generator.stale_images() == [], "run: python docs/generate.py"
    assert all((DOCS / "images" / f"{name}.png").is_file() for name in generator.FIGURES)


def test_readmes_verdicts_are_those_of_the_recorded_run(recorded_run: RunFolder) -> None:
    part = README.split("<!-- generated: verdicts -->")[1].split("<!-- end -->")[0]
    assert "| `row:staged:graph:4096x4096` |" in part


def test_a_changed_verdict_would_be_noticed(generator: ModuleType) -> None:
    text = "a\n<!-- generated: verdicts -->\nold\n<!-- end -->\nb"
    assert generator.with_part(text, "verdicts", "new") == text.replace("old", "new")
    with pytest.raises(ValueError, match="0 parts"):
        generator.with_part("no marks", "verdicts", "new")


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_is_documented(verb: str) -> None:
    assert re.search(rf"\| `{verb}\b", README)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        drawn_later = target.startswith("docs/images/") and not RECORDED.is_dir()
        if not target.startswith(("https://", "claim:")) and not drawn_later:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_pages_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    modules = set(re.findall(r"python -m (nsight_suite(?:\.\w+)?)", text)) - {"nsight_suite.VERB"}
    assert not [name for name in modules if importlib.util.find_spec(name) is None]


def test_ci_runs_what_readme_says() -> None:
    """README's command for the tests, part by part."""
    commands = re.findall(r"^python3 -m venv .*$", README, re.MULTILINE)
    assert len(commands) == 3
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for part in ("pip install", "-e '.[dev]'", "-m pytest"):
        assert part in commands[2]
        assert part.removeprefix("pip ") in script


def test_the_example_is_a_whole_experiment() -> None:
    source = find_experiment(str(EXAMPLE))
    cases = protocol.load(source.protocol).cases()
    assert len(cases) == 8
    assert {path.stem for path in source.kernels.glob("*.cu")} == {case.variant for case in cases}


def test_the_examples_dry_run_prints_its_commands_and_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "nsight_suite.capture",
            str(EXAMPLE),
            "--dry-run",
            "--out",
            str(tmp_path / "run"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert "scale:fused:graph:1024" in done.stdout
    assert not (tmp_path / "run").exists()


@pytest.fixture
def example_run(tmp_path: Path) -> RunFolder:
    """A run of the example with its cases and one timing each, as its driver would record them."""
    source, run = find_experiment(str(EXAMPLE)), RunFolder(tmp_path / "run")
    cases = protocol.load(source.protocol).cases()
    about = {
        "run_id": "scale-1",
        "experiment": "scale",
        "created_utc": "",
        "source": "capture",
        "state": "complete",
    }
    asked = {"quick": False, "device": 0, "passes": ["timing"], "cases": [case.case_id for case in cases]}
    write_json(run.run_json, {**about, **asked})
    run.expected.parent.mkdir(parents=True)
    run.expected.write_text(source.expected.read_text())
    connection = store.empty_store()
    rows = [
        {
            "case_id": case.case_id,
            "experiment": "scale",
            "variant": case.variant,
            "submission": case.submission,
            "shape": case.shape.name,
            "case_order": position,
            "parameters": f'{{"elements": {case.shape.parameters["elements"]}}}',
            "timed": True,
        }
        for position, case in enumerate(cases)
    ]
    samples = [
        {
            "pass": "timing",
            "case_id": case.case_id,
            "quantity": "completion",
            "invocations": 1,
            "duration_ns": 8_000,
        }
        for case in cases
    ]
    store.insert_rows(connection, "variant_case", rows)
    store.insert_rows(connection, "sample", samples)
    store.insert_rows(connection, "device", [{"pass": "timing", "name": "NVIDIA H200"}])
    store.write_parquet(connection, run.evidence)
    return run


def test_the_examples_expectations_can_be_asked(example_run: RunFolder) -> None:
    """2 x + 1 in two kernels moves 4 arrays of 4 bytes an element, in one kernel 2."""
    rows = open_evidence(example_run).rows(
        "SELECT * FROM expected WHERE case_id LIKE '%:graph:1024' ORDER BY case_id"
    )
    assert [(row["kernels"], row["graph_nodes"], row["kernel_names"]) for row in rows] == [
        (1, 1, ["scale"]),
        (2, 2, ["multiply", "add"]),
    ]
    assert [row["logical_read_bytes"] + row["logical_write_bytes"] for row in rows] == [2 * 4096, 4 * 4096]


def test_the_examples_figure_is_drawn(example_run: RunFolder, tmp_path: Path) -> None:
    source = find_experiment(str(EXAMPLE))
    assert [figure.name for figure in figure_sources(source)] == ["scale-completion"]
    written = write_drawings(draw(example_run, ["scale-completion"], source), tmp_path / "figures")
    assert [path.suffix for path in written] == [".png", ".svg", ".json"]


def test_the_examples_kernels_compile() -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")
    from nsight_suite.driving.build import compile_source

    for source in sorted((EXAMPLE / "kernels").glob("*.cu")):
        build = compile_source(source, "sm_90")
        assert all(kernel.local_bytes_per_thread == 0 for kernel in build.kernels)
    assert {kernel.name for kernel in build.kernels} == {"multiply", "add"}


def test_nothing_names_this_machine() -> None:
    for page in [
        *PAGES,
        *EXAMPLE.rglob("*.[!p]*"),
        *EXAMPLE.rglob("*.py"),
        ROOT / ".ci" / "run",
        ROOT / "pyproject.toml",
    ]:
        text = page.read_text(encoding="utf-8")
        assert "/root/" not in text, page
        assert str(ROOT) not in text, page
