"""Articles whose words name one case and whose numbers are of another; runs that nobody should quote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from synthetic_run import make_run

import nsight_suite
from nsight_suite.claiming import Checker
from nsight_suite.claims import main
from nsight_suite.run import Run

# In the synthetic run, as graphs at 4096x4096, `staged` completes in 161.2 µs, `fused` in 77.8 µs and `cudnn`
# in 47.8 µs.
DEFINITIONS = """

[s]: claim:host_completion/median_ns?case=row:staged:graph:4096x4096
[f]: claim:host_completion/median_ns?case=row:fused:graph:4096x4096
[c]: claim:host_completion/median_ns?case=row:cudnn:graph:4096x4096
[small]: claim:host_completion/median_ns?case=row:fused:graph:32x1024
[moved]: claim:limits/logical_bytes?case=row:fused:graph:4096x4096
[change]: claim:change(f,s)
[more]: claim:change(s,f)
[ratio]: claim:ratio(s,f)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with nsight_suite.open_run(
        make_run(tmp_path_factory.mktemp("claims") / "row-cases", whole=True).path
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def checker(run: Run) -> Checker:
    return Checker([run])


def codes(checker: Checker, text: str) -> list[str]:
    return [finding.code for finding in checker.check(text + DEFINITIONS).findings]


@pytest.mark.parametrize(
    "text",
    [
        "`row:cudnn:graph:4096x4096` takes [77.8 µs][f].",
        "cuDNN takes [77.8 µs][f].",
        "cuDNN: [77.8 µs][f].",
        "- `cudnn`, [77.8 µs][f]",
        "- `cudnn` – [77.8 µs][f]",
        "It takes [77.8 µs][f] (cuDNN).",
        "The time of `staged` is [77.8 µs][f].",
        "Staged takes [77.8 µs][f].",
        "The staged variant takes [77.8 µs][f].",
        '"Staged" takes [77.8 µs][f].',
        "With `fused`, [161.2 µs][s] are needed.",
        "It takes [77.8 µs][f] with cuDNN.",
        "Fused takes 161.2 µs <!-- claim: s -->.",
        "Fused takes about [161 µs][s] and staged [161 µs][s].",
        "As a stream it takes [77.8 µs][f].",
        "For 32×1024 the host waits [77.8 µs][f].",
        "At 32 x 1,024 the host waits [77.8 µs][f].",
        "The host waits [77.8 µs][f] at 32x1024.",
        "`cudnn` is [2.07 times][ratio] faster than another.",
        "| variant | µs |\n|---|---|\n| staged | [77.8][f] |",
        "| variant | µs |\n|---|---|\n| `cudnn` | [77.8][f] |",
        "| case | µs |\n|---|---|\n| `row:cudnn:graph:4096x4096` | [77.8][f] |",
        "| | cuDNN, µs |\n|---|---|\n| graph | [77.8][f] |",
        "| shape | fused, µs |\n|---|---|\n| 32×1024 | [77.8][f] |",
        "| submission | fused, µs |\n|---|---|\n| stream | [77.8][f] |",
    ],
)
def test_a_number_of_another_case_is_found(checker: Checker, text: str) -> None:
    assert codes(checker, text) == ["other-case"]


@pytest.mark.parametrize(
    "text",
    [
        "`row:fused:graph:4096x4096` takes [77.8 µs][f]; `row:cudnn:graph:4096x4096` takes [47.8 µs][c].",
        "cuDNN takes [47.8 µs][c], staged [161 µs][s] and fused [77.8 µs][f].",
        "The host waits [161 µs][s] for `staged` and [77.8 µs][f] for `fused`.",
        "`staged` and `fused` take [161 µs][s] and [77.8 µs][f].",
        "`fused` takes [77.8 µs][f] instead of [161 µs][s].",
        "`fused` is faster than the [161 µs][s] of before.",
        "From [161 µs][s] it falls to [77.8 µs][f] with `fused`.",
        "Unlike cuDNN, it takes [77.8 µs][f].",
        "It takes [77.8 µs][f], more than cuDNN.",
        "It takes [77.8 µs][f] against the time of cuDNN.",
        "The `fused` variant halves [161 µs][s] and brings it to [77.8 µs][f].",
        "This is not cuDNN at [77.8 µs][f].",
        "Ours needs [77.8 µs][f] (cuDNN: [47.8 µs][c]).",
        "[77.8 µs][f] (`fused`) and [47.8 µs][c] (`cudnn`) at 4096×4096.",
        "`cudnn` misses the [77.8 µs][f] of ours; the best known is `cudnn` and ours takes [77.8 µs][f].",
        "Everything but `staged` takes up to [77.8 µs][f].",
        "`fused` is [2.07 times][ratio] faster. `staged` is [2.07 times][ratio] slower.",
        "A separate launch, a stream of work and a graph of kernels take [77.8 µs][f].",
        "Staged work in a fused loop is common; the time is [77.8 µs][f].",
        "In a fused kernel the time is [161 µs][s].",
        "As a graph, fused takes [77.8 µs][f] at 4096×4096; as a graph at 32×1024, [9.8 µs][small].",
        "Streams and graphs: the time is [77.8 µs][f].",
        "In [21 rounds](claim:paired_speedup/rounds?take=max) cuDNN was the fastest.",
        "There are [12](claim:host_completion?take=count) cases with `cudnn`.",
        "| `staged`, µs | `fused`, µs | factor |\n|---|---|---|\n| [161.2][s] | [77.8][f] | [2.07][ratio] |",
        "| variant | µs | against `staged` |\n|---|---|---|\n| `fused` | [77.8][f] | [2.07×][ratio] |",
        "| time, µs | note |\n|---|---|\n| [77.8][f] | slower than cuDNN, whose kernel is another |",
        "| 4096×4096, graph | µs |\n|---|---|\n| fused | [77.8][f] |",
    ],
)
def test_ordinary_sentences_pass(checker: Checker, text: str) -> None:
    assert codes(checker, text) == []


# A share is one of the slower case.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Fused is [52 %][change] faster than staged.", []),
        ("Fused takes [52 %][change] less time than staged.", []),
        ("Staged takes [107 %][more] more time than fused.", []),
        ("Fused is [107 %][more] faster than staged.", ["direction"]),
        ("Fused takes [107 %][more] less time than staged.", ["direction"]),
        ("Staged takes [52 %][change] more time than fused.", ["direction"]),
        ("Fused has [107 %][more] higher performance than staged.", []),
        ("Staged has [52 %][change] lower performance than fused.", []),
        ("Fused has [52 %][change] higher performance than staged.", ["direction"]),
        ("Staged has [107 %][more] higher performance than fused.", ["direction"]),
    ],
)
def test_a_share_is_one_of_what_it_is_compared_with(checker: Checker, text: str, found: list[str]) -> None:
    assert codes(checker, text) == found


# What ncu timed with warm caches.


@pytest.mark.parametrize(
    "binding",
    [
        "kernel_time/ncu_warm_ns?case=row:fused:stream:4096x4096",
        "counters/value?case=row:fused:stream:4096x4096&pass=ncu-warm&metric=gpu__time_duration.sum&take=median",
    ],
)
def test_times_of_ncu_with_warm_caches_are_refused(checker: Checker, binding: str) -> None:
    (finding,) = checker.check(f"Its time is [290 µs](claim:{binding}).").findings
    assert finding.code == "ncu-time-is-its-own"
    assert "not flushed" in finding.message


# Mending.


def article(folder: Path, text: str) -> Path:
    path = folder / "article.md"
    path.write_text(text + DEFINITIONS, encoding="utf-8")
    return path


def test_what_was_mended_is_told(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = article(tmp_path, "Fused: [77.1 µs][f].\n\nStaged: [160 µs][s].")
    assert main([str(path), str(run.path), "--fix"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told == [f"{path}:1: 77.1 → 77.8", f"{path}:3: 160 → 161", f"{path}: 2 numbers mended"]


def test_a_number_whose_binding_may_be_wrong_is_not_mended(run: Run, tmp_path: Path) -> None:
    text = (
        "It is [2.8×](claim:speedup(f,s)) faster.\n\n"
        "Staged is [2.8×][ratio] faster than fused.\n\n"
        "`staged` takes [79.0 µs][f].\n\n"
        "It takes [2.07 times](claim:ratio(f,s)) the time."
    )
    path = article(tmp_path, text)
    assert main([str(path), str(run.path), "--fix"]) == 1
    assert path.read_text(encoding="utf-8") == text + DEFINITIONS


# Runs that nobody should quote.


def test_a_run_that_is_not_complete_is_in_doubt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path / "row-killed")
    info = folder.path / "run.json"
    info.write_text(info.read_text(encoding="utf-8").replace('"complete"', '"running"'), encoding="utf-8")
    with nsight_suite.open_run(folder.path) as killed:
        (finding,) = Checker([killed]).check("Nothing.").findings
    assert (finding.code, finding.level) == ("run-in-doubt", "error")
    assert "row-killed is running, not complete" in finding.message
    path = article(tmp_path, "Fused takes [77.8 µs][f].")
    assert main([str(path), str(folder.path)]) == 1
    assert "run-in-doubt" in capsys.readouterr().out
    assert main([str(path), str(folder.path), "--allow-doubtful"]) == 0
    assert "note: The run row-killed is running" in capsys.readouterr().err


def test_a_run_whose_reports_were_changed_is_in_doubt(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "row-changed")
    report = next(path for path in sorted(folder.reports.iterdir()) if path.is_file())
    report.write_bytes(report.read_bytes() + b"\n")
    with nsight_suite.open_run(folder.path) as changed:
        (finding,) = Checker([changed]).check("Nothing.").findings
    assert finding.code == "run-in-doubt"
    assert "does not reconcile (changed-report)" in finding.message
    assert "reconcile row-changed" in finding.way_out


def test_without_its_run_an_article_cannot_be_checked(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "Fused takes [77.8 µs][f].\n\nIt took 3 µs <!-- claim: ratio(f,row-old/host_completion/median_ns) -->."
    )
    assert main([str(article(tmp_path, text)), str(run.path)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "runs that were not given: 'row-old' (line 3)." in told.err
    assert f"claims ARTICLE.md {run.path.name} row-old" in told.err


# Suggestions.


def test_suggestions_are_of_the_case_that_is_named_near(checker: Checker) -> None:
    (fused, staged) = checker.check("As graphs at 4096×4096, fused takes 77.8 µs, staged 161.2 µs.").findings
    assert re.findall(r"row:(\w+):", fused.way_out)
    assert set(re.findall(r"row:(\w+):", fused.way_out)) == {"fused"}
    assert set(re.findall(r"row:(\w+):", staged.way_out)) == {"staged"}


@pytest.mark.parametrize("text", ["cuDNN takes 77.8 µs.", "The kernel takes 70.0 µs.", "There are 20 µs."])
def test_nothing_unrelated_is_suggested(checker: Checker, text: str) -> None:
    (finding,) = checker.check(text).findings
    assert "Fits" not in finding.way_out


# Devices, statistics and reasons.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("On an H100 it takes [77.8 µs][f].", "other-device"),
        ("It takes [77.8 µs][f] on any H200.", "other-device"),
        ("The fused variant takes [77.8 µs][f] on every GPU.", "other-device"),
        ("| on an A100, µs |\n|---|\n| [77.8][f] |", "other-device"),
        ("On average it takes [77.8 µs][f].", "text"),
        ("The mean is [77.8 µs][f].", "text"),
        ("The fastest run takes [77.8 µs][f].", "text"),
        ("| mean, µs |\n|---|\n| [77.8][f] |", "text"),
        ("It is [2.07×][ratio] faster, as it moves fewer bytes.", "times-have-no-single-cause"),
        ("It is [2.07×][ratio] faster. The reason: fewer launches.", "times-have-no-single-cause"),
    ],
)
def test_what_the_words_may_not_say(checker: Checker, text: str, found: str) -> None:
    assert codes(checker, text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        "On an H200 it takes [77.8 µs][f].",
        "On one NVIDIA H200 the host waits [77.8 µs][f]; on an H100 nothing was measured.",
        "On every GPU of this run it takes about [77.8 µs][f].",
        "It takes [77.8 µs][f] on our H200, less than on an H100.",
        "This does not mean that it takes [77.8 µs][f] on any GPU.",
        "On the median it takes [77.8 µs][f], by which we mean half of the repeats.",
        "The fastest variant takes [47.8 µs][c].",
        "These [77.8 µs][f] mean that the host waits.",
        "The mean of the bytes is unknown, the time is [77.8 µs][f].",
        "On average [77.8 µs](claim:host_completion/median_ns?case=row:fused:graph:4096x4096&take=mean) pass.",
        "It is [2.07×][ratio] faster, as expected.",
        "It is [2.07×][ratio] faster as a graph.",
    ],
)
def test_words_that_are_about_something_else(checker: Checker, text: str) -> None:
    assert codes(checker, text) == []
