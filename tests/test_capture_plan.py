"""Choosing cases and passes, the plan that a driver reads, and the command lines."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from fake_tools.bench import EXPERIMENT

from nsight_suite.capturing.brought import look_through
from nsight_suite.capturing.passes import PassPlan, plan_pass
from nsight_suite.capturing.plan import Selection, driver_plan, select, selection_of
from nsight_suite.capturing.tools import Tool
from nsight_suite.errors import UsageError
from nsight_suite.protocol import Protocol, cases_of_pass, load

FAKE = load(EXPERIMENT / "protocol.toml")
NCU = Tool("ncu", Path("/opt/ncu"), "2025.3.1")


def ids(selection: Selection) -> list[str]:
    return [case.case_id for case in selection.cases]


def test_everything_is_the_default():
    selection = select(FAKE)
    assert len(selection.cases) == 2 * 2 * 3
    assert selection.passes == ("validate", "timing", "nsys", "ncu", "ncu-warm", "sanitize")


def test_choices_narrow_and_keep_the_protocols_order():
    selection = select(
        FAKE, variants=["plain"], submissions=["graph"], shapes=["odd", "small"], passes=["ncu", "validate"]
    )
    assert ids(selection) == ["fake:plain:graph:small", "fake:plain:graph:odd"]
    assert selection.passes == ("validate", "ncu")


def test_quick_takes_the_protocols_smaller_run_unless_shapes_are_named():
    assert {case.shape.name for case in select(FAKE, quick=True).cases} == {"small", "odd"}
    assert {case.shape.name for case in select(FAKE, quick=True, shapes=["large"]).cases} == {"large"}


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ({"variants": ["fussed"]}, "no variant 'fussed'.*plain, other"),
        ({"submissions": ["strem"]}, "no submission 'strem'.*stream, graph"),
        ({"shapes": ["8x8"]}, "no shape '8x8'.*small, large, odd"),
        ({"passes": ["nsight"]}, "no pass 'nsight'.*Its passes: validate, timing"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(choice: dict[str, list[str]], names: str):
    with pytest.raises(UsageError) as error:
        select(FAKE, **choice)
    assert re.search(names, str(error.value), re.DOTALL)


def test_timing_takes_timed_shapes_and_a_pass_may_name_its_own():
    def shapes(name: str) -> set[str]:
        return {case.shape.name for case in cases_of_pass(FAKE, FAKE.pass_settings(name), FAKE.cases())}

    assert shapes("timing") == {"small", "large"}
    assert shapes("sanitize") == {"odd"}
    assert shapes("nsys") == {"small", "large", "odd"}


def test_passes_without_cases_are_left_out():
    assert "sanitize" not in select(FAKE, shapes=["small"]).passes
    with pytest.raises(UsageError, match="nothing to do"):
        select(FAKE, shapes=["odd"], passes=["timing"])


@pytest.fixture
def choosing(tmp_path: Path) -> Protocol:
    """The fake experiment with a pilot that chooses between its variants."""
    text = (EXPERIMENT / "protocol.toml").read_text()
    path = tmp_path / "protocol.toml"
    old = '["validate", "timing",'
    assert text.count(old) == 1
    path.write_text(
        text.replace(old, '["validate", "pilot", "timing",') + "\n[pilot]\nsome = ['plain', 'other']\n"
    )
    return load(path)


def test_a_pilot_that_has_one_candidate_left_is_refused_because_of_the_variants(choosing: Protocol):
    assert "pilot" in select(choosing).passes
    assert "pilot" in select(choosing, variants=["other", "plain"]).passes
    for passes in ([], ["pilot"], ["pilot", "timing"]):
        with pytest.raises(UsageError, match="variants leave the pass pilot nothing to choose") as caught:
            select(choosing, variants=["plain"], passes=passes)
        assert "plain, other" in caught.value.way_out
    assert select(choosing, variants=["plain"], passes=["timing"]).passes == ("timing",)
    assert "pilot" not in select(choosing, variants=["plain"], shapes=["odd"]).passes
    with pytest.raises(UsageError, match="nothing to do with the chosen shapes"):
        select(choosing, variants=["plain"], shapes=["odd"], passes=["pilot"])


def test_a_written_selection_is_read_back():
    selection = select(FAKE, variants=["other"], quick=True)
    assert selection_of(FAKE, ids(selection), selection.passes, True) == selection
    with pytest.raises(UsageError, match="no case 'fake:gone"):
        selection_of(FAKE, ["fake:gone:graph:small"], ["nsys"], False)


def plan(name: str, *, quick: bool = False, tools: dict[str, Tool] | None = None) -> PassPlan:
    settings = FAKE.pass_settings(name)
    selection = select(FAKE, variants=["plain"], submissions=["graph"], quick=quick)
    contents = driver_plan(
        FAKE, settings, selection, protocol_path=Path("/run/protocol.toml"), kernels=Path("/kernels"), device=2
    )
    return plan_pass(FAKE, settings, contents, driver=Path("/d/driver.py"), tools=tools or {})


def test_the_drivers_plan():
    assert plan("nsys").plan.as_json() == {
        "pass": "nsys",
        "protocol": "/run/protocol.toml",
        "kernels": "/kernels",
        "device": 2,
        "cases": ["fake:plain:graph:small", "fake:plain:graph:large", "fake:plain:graph:odd"],
        "rounds": 3,
        "invocations": 3,
    }
    quick = plan("nsys", quick=True).plan
    assert (quick.rounds, quick.invocations) == (2, 1)


DRIVER = (sys.executable, "/d/driver.py", "--plan", "plan.json", "--records", "records.jsonl")


def test_a_plain_pass_runs_the_driver_alone():
    made = plan("timing")
    assert [step.argv for step in made.steps] == [DRIVER]
    assert made.outputs == ("timing.jsonl",)
    assert set(made.options.values()) == {None}


def test_nsys_traces_graph_nodes_and_exports():
    profile, export = plan("nsys").steps
    assert profile.argv == (
        *(
            "nsys",
            "profile",
            "--trace=cuda,nvtx",
            "--sample=none",
            "--cpuctxsw=none",
            "--cuda-graph-trace=node",
        ),
        *("-o", "nsys", *DRIVER),
    )
    assert export.argv == ("nsys", "export", "--type=sqlite", "-o", "nsys.sqlite", "nsys.nsys-rep")
    assert plan("nsys").outputs == ("nsys.jsonl", "nsys.nsys-rep", "nsys.sqlite")


def test_ncu_filters_by_the_push_pop_ranges_of_the_experiment_and_prints_base_units():
    made = plan("ncu", tools={"ncu": NCU})
    profile, table = made.steps
    joined = " ".join(profile.argv)
    assert joined.startswith("/opt/ncu --nvtx --nvtx-include regex:nsight_suite@fake:.*/ --cache")
    assert "--cache-control all --clock-control none --section LaunchStats --section Occupancy" in joined
    assert "--metrics dram__bytes_read.sum,dram__bytes_write.sum -o ncu" in joined
    assert table.argv[1:] == ("--import", "ncu.ncu-rep", "--csv", "--page", "raw", "--print-units", "base")
    assert table.stdout == "ncu.csv"
    assert made.options == {
        "cache_control": "all",
        "clock_control": "none",
        "graph_trace": None,
        "graph_profiling": "node",
    }


def test_the_warm_pass_profiles_whole_graphs():
    made = plan("ncu-warm", tools={"ncu": NCU})
    joined = " ".join(made.steps[0].argv)
    assert "--cache-control none --clock-control none --graph-profiling graph --metrics" in joined
    assert made.options["graph_profiling"] == "graph"
    assert made.outputs == ("ncu-warm.jsonl", "ncu-warm.ncu-rep", "ncu-warm.csv")


def test_every_sanitizer_tool_is_a_step_and_errors_found_are_an_answer():
    made = plan("sanitize")
    assert [step.argv[:3] for step in made.steps] == [
        ("compute-sanitizer", "--tool", "memcheck"),
        ("compute-sanitizer", "--tool", "synccheck"),
    ]
    assert all(step.accepted == (0, 9) for step in made.steps)
    assert made.outputs == ("sanitize.jsonl", "sanitize.memcheck.log", "sanitize.synccheck.log")


def test_the_builds_of_a_run_are_taken_along_and_others_left_aside(tmp_path: Path):
    reports = tmp_path / "run" / "reports"
    (reports / "builds" / "validate").mkdir(parents=True)
    (reports / "validate.jsonl").touch()
    (reports / "notes.txt").touch()
    assert [path.name for path in look_through(reports).unknown] == ["builds", "notes.txt"]
    (tmp_path / "run" / "run.json").write_text("{}")
    for folder in (reports, tmp_path / "run"):
        assert [path.name for path in look_through(folder).unknown] == ["notes.txt"]
