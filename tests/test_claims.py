"""Articles held against runs: what holds passes, and each planted error is found, with nothing else."""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_run import make_run

import nsight_suite
from nsight_suite.claiming import CODES, Checker, Report, output
from nsight_suite.claiming.binding import BindingError, parse_binding
from nsight_suite.claiming.fixing import fixed
from nsight_suite.claiming.markdown import read_article
from nsight_suite.claiming.noclaims import EXCEPTIONS
from nsight_suite.claiming.numbers import number_words, quantities, spread_units
from nsight_suite.claiming.units import UNITS, of_column
from nsight_suite.claims import main
from nsight_suite.errors import CannotAnswer, UsageError
from nsight_suite.querying import find_queries
from nsight_suite.reconciliation.inference import RULES
from nsight_suite.run import Run

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
RECORDED = ("pointwise-h200", "jobs-h200", "rms-h200")
DOCS = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") + (ROOT / "docs" / "inference.md").read_text(
    encoding="utf-8"
)
# In the synthetic run `staged` completes in 161.2 µs and `fused` in 77.8 µs, 2.072 times faster.
DEFINITIONS = """

[s]: claim:host_completion/median_ns?case=row:staged:graph:4096x4096
[f]: claim:host_completion/median_ns?case=row:fused:graph:4096x4096
[stream]: claim:host_completion/median_ns?case=row:fused:stream:4096x4096
[p10]: claim:host_completion/p10_ns?case=row:fused:graph:4096x4096
[p90]: claim:host_completion/p90_ns?case=row:fused:graph:4096x4096
[ratio]: claim:ratio(s,f)
[inverse]: claim:ratio(f,s)
[diff]: claim:difference(f,s)
[change]: claim:change(f,s)
[pair]: claim:paired_speedup/speedup?baseline=row:staged:graph:4096x4096&case=row:fused:graph:4096x4096
[k]: claim:kernel_counts/kernels_per_invocation?case=row:staged:graph:4096x4096
[flushed]: claim:dram_bytes/dram_read_bytes?case=row:fused:graph:4096x4096&pass=ncu
[written]: claim:dram_bytes/dram_write_bytes?case=row:fused:graph:4096x4096&pass=ncu
[warm]: claim:dram_bytes/dram_read_bytes?case=row:fused:graph:4096x4096&pass=ncu-warm
[logical]: claim:limits/logical_bytes?case=row:fused:graph:4096x4096
[slogical]: claim:limits/logical_bytes?case=row:staged:graph:4096x4096
[rate]: claim:limits/logical_bytes_per_second?case=row:fused:graph:4096x4096
[busy]: claim:limits/busy_ns?case=row:fused:graph:4096x4096
[rep]: claim:batch/completion_ns?case=row:staged:graph:32x1024
[short]: claim:limits/busy_ns?case=row:fused:stream:32x1024
[copy]: claim:copy_bandwidth/bytes_per_second
[event]: claim:batch/event_interval_ns?case=row:fused:graph:4096x4096
[profiled]: claim:profiler_overhead/profiled_ns?case=row:fused:graph:4096x4096
[limit]: claim:occupancy_limits/resident_blocks_limit?kernel=row_softmax&pass=ncu
[ncu]: claim:kernel_time/ncu_flushed_ns?case=row:fused:graph:4096x4096
[early]: claim:early_starts/early?case=row:fused:graph:32x1024&stage=C&take=max
[second]: claim:session_completion/median_ns?case=row:fused:graph:4096x4096&pass=timing-2
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run with every pass: a second session on another GPU, a trace."""
    folder = make_run(tmp_path_factory.mktemp("claims") / "row-whole", whole=True).path
    with nsight_suite.open_run(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def checker(run: Run) -> Checker:
    return Checker([run])


def check(checker: Checker, text: str, **options: bool) -> Report:
    return checker.check(text + DEFINITIONS, **options)


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


# The articles that ship with the suite.


@pytest.fixture(scope="module")
def recorded() -> Iterator[Checker]:
    runs = [nsight_suite.open_run(name) for name in RECORDED]
    yield Checker(runs)
    for one in runs:
        one.close()


def test_every_number_of_the_article_holds(recorded: Checker) -> None:
    report = recorded.check((EXAMPLES / "article.md").read_text(encoding="utf-8"))
    assert report.findings == (), "after new recordings: --fix, and read the words around the numbers"
    assert len(report.checked) > 40
    assert {name for one in report.checked for name in one.value.runs} == set(RECORDED)


def test_every_planted_error_is_found_and_nothing_else(recorded: Checker) -> None:
    text = (EXAMPLES / "article-with-errors.md").read_text(encoding="utf-8")
    planted = [
        (number, code)
        for number, line in enumerate(text.split("\n"), 1)
        for code in re.findall(r"<!-- expect: (\S+) -->", line)
    ]
    assert [(finding.line, finding.code) for finding in recorded.check(text).findings] == planted
    assert {code for _, code in planted} == set(CODES) - {"run-in-doubt"}, "which is no error of an article"


# What holds.


@pytest.mark.parametrize(
    "text",
    [
        "Fused needs [77.8 µs][f] and staged [161 µs][s].",
        (
            "[77.8][f] µs, **[78 µs][f]**, [0.0778 ms][f], [77,800 ns][f], [77 800 ns][f], "
            "[77\u202f800\u2009ns][f]"
        ),
        "[7.78e4 ns][f], [7.78×10⁴ ns][f], [77.8 us][f], [77.8&nbsp;µs][f], <b>[77.8&#160;µs][f]</b>",
        (
            "About [80 µs][f], ≈[80 µs][f], ~[78 µs][f], roughly [75 µs][f]; [about 80 µs][f], [more "
            "than 77 µs][f]."
        ),
        (
            "More than [77 µs][f], at least [77.8 µs][f], less than [78 µs][f], at most [77.8 µs][f], "
            "≤ [78 µs][f]."
        ),
        "Nearly [80 µs][f], almost [80 µs][f], just over [77 µs][f], just under [78 µs][f].",
        "Fused is [2.07 times][ratio] faster than staged; staged is [2.07×][ratio] slower than fused.",
        (
            "Compared with staged, fused is [2.07 times][ratio] faster. Relative to staged, it is "
            "[2.07x][ratio] faster."
        ),
        "It is [twice][ratio] as fast, takes [half][inverse] the time, [48 %][inverse] of it.",
        "Fused takes [83.4 µs][diff] less than staged, [52 %][change] less time; staged [83.4 µs][diff] more.",
        "Fusing saves [83.4 µs][diff], or [52 %][change]. The time falls by [52 %][change] ([−52 %][change]).",
        "They differ by [83.4 µs][diff] ([−83.4 µs][diff]).",
        "It is [2.07](claim:speedup(s,f)) times faster, paired [2.072][pair]. Speed-up: [2.07×][ratio].",
        "[Four kernels][k], [4][k]-kernel, four kernels <!-- claim: k -->, 4 <!-- claim: k --> kernels.",
        "[4.28 TB/s][copy], [4278 GB/s][copy], [3.89 TiB/s][copy], [4.28 TB per second][copy]",
        "[77.7–77.9 µs](claim:range(p10,p90)), between [77.7 and 77.9 µs](claim:range(p90,p10))",
        "77.7 to 77.9 µs <!-- claim: range(p10,p90) -->",
        "[17.2 to 165 µs](claim:host_completion/median_ns?variant=staged&take=range)",
        (
            "[21 rounds](claim:paired_speedup/rounds?take=max) of [3 "
            "variants](claim:host_completion/variant?take=distinct)"
        ),
        "[12](claim:host_completion?take=count) cases, in all [1.34 GB](claim:limits/logical_bytes?take=sum)",
        "Inline <a href='claim:f'>77.8 µs</a> HTML.",
        "<table><tr><td>77.8&#160;µs<!-- claim: f --></td></tr></table>",
        (
            "| variant | time (µs) | GB/s |\n|---|---|---|\n| fused | [77.8][f] | [4278][copy] |\n| "
            "staged | 161.2<!-- claim: s --> | |"
        ),
        "- outer\n  1. inner [77.8 µs][f]\n     - deep [161\n       µs][s]\n\n> quote [77.8\n> µs][f]",
        "[77.8](claim:host_completion/median_ns?case=row:fused:graph:4096x4096&unit=µs)",
        "The kernel is [row_softmax](claim:kernel_time/kernel?case=row:fused:graph:4096x4096).",
        "[the submission](claim:attribute(f,stream))",
        (
            "Replays and launches differ in [the submission](claim:attribute(f,stream)) only: "
            "[1.00](claim:ratio(stream,f))."
        ),
        (
            "[134 MB](claim:sum(logical)) logical bytes, which are not DRAM bytes; [67.1 MB][warm] "
            "read from DRAM when warm."
        ),
        "Fused ([77.8 µs][f]) < staged ([161 µs][s]); [77.8 µs][f], less than the [161 µs][s] of staged.",
        (
            "Fused at [77.8 µs][f] is faster than staged at [161 µs][s]. Fused takes [77.8 µs][f], "
            "staged over [161 µs][s]."
        ),
        "Medians over [21 rounds](claim:paired_speedup/rounds?take=max).",
        "No more than [4][k] kernels, not more than [4][k].",
        "The 90th percentile is [77.9 µs][p90], no confidence bound.",
        (
            "Under nsys the completion takes [79.7 µs][profiled], [1.02 "
            "times](claim:ratio(profiled,f)) the unprofiled one."
        ),
        "The flushed counters ([67.1 MB][flushed]) say nothing about warm bandwidth.",
        "It is [2.07 times][ratio] faster, but it cannot be told whether because of fewer launches.",
        "A multiprocessor can hold [8 blocks][limit], which is a limit.",
        "Fused is [2.07 times][ratio] faster; we use medians because samples vary.",
        "Fused is [2.07 times][ratio] faster. We use medians because samples vary.",
        "Staged takes [161 µs][s] because it launches four kernels.",
        "The factor of [2.07][ratio] shows that fused is faster; it does not show that launches cost anything.",
        "| variant | under nsys, µs |\n|---|---|\n| fused | [79.7][profiled] |",
        "It achieves a logical rate of [1.92 TB/s](claim:logical_rate(logical,busy)).",
        "[77.8 µs/call][f], [77.8 usec][f], [2.07X][ratio]",
        "Fused is faster by [83.4 µs][diff], by a factor of [2.07][ratio]; staged slower by [83.4 µs][diff].",
        "Staged needs [2.07 times][ratio] the time of fused. Fused is [2.07 times][ratio] as fast as staged.",
        "Staged moves [3.00 times](claim:ratio(slogical,logical)) as many bytes as fused.",
        "The graph takes [1.00 times](claim:ratio(stream,f)) as long as the stream.",
        "[4.55](claim:ratio(rep,short)) may be written as [4.6](claim:ratio(rep,short)).",
    ],
)
def test_what_is_true_passes(checker: Checker, text: str) -> None:
    report = check(checker, text)
    assert report.findings == ()
    assert all(one.holds for one in report.checked)


@pytest.mark.parametrize(
    "text",
    [
        (
            "See Table 2, Figures 3 and 4, section 4.1, RFC 9110, [12], (1), #12, GPU 0, the 1st and "
            "the 90th percentile."
        ),
        "CUDA 13.0, driver 580.95, nsys 2023.4.4, v1.2, Python 3.11, H200, FP32, sm_90, p10, RTX 4090, L2, 2D.",
        "4096×4096, 64x131072, 2 × 3 × 4, row:fused:graph:4096x4096, `42.5 µs`, row-h200, n^2.",
        "In 2026, since 2019, (2023), the 1990s, 30 November 2026, Nov 30, 2026, 2026-11-30, 14:05.",
        "    42.5 µs\n\n```\n42.5 µs\n```\n\n1. one\n2. two\n\n<pre>3 µs</pre>\n\n<!-- 42 -->",
        "A version (Dao, 2022; Shah et al., 2024), from 2019 to 2021, 10.5281/zenodo.1234567, C++17, 24/7.",
        "ROCm 6.0, PTX ISA 8.3, ISO/IEC 14882:2020, ch. 3, 3/4/2024, Q1 2024, 8 a.m., the 2023 edition.",
        "A 64-bit index, 0-based, in O(1); a 3-D grid; a 95 % confidence interval.",
        "Lines 10–20 of Algorithm 2, Theorem 3.1, GPUs 0 and 1, Sections 3, 4 and 5, CUDA 12.4 and 13.0.",
        "Footnote[^1], https://x.y/42, <https://x.y/42>, [link](https://x.y/42).\n\n[^1]: See page 4.",
        "---\ntitle: 5 things\n---\n\n## 2. Results\n\n### 3.1 Times\n\n#### 4 Discussion",
        "3.35 TB/s<!-- unbound: data sheet -->, three kernels",
        "<!-- unbound: published -->\n\n- 3 µs\n\n  4 µs",
    ],
)
def test_digits_that_claim_nothing_are_left_alone(checker: Checker, text: str) -> None:
    assert check(checker, text).findings == ()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3 kernels, 42.5µs, −3 %, 1,024, 1 024", ["3", "42.5µs", "−3 %", "1,024", "1 024"]),
        ("1e6 and 10⁶ and 2^24", ["1e6", "10⁶", "2^24"]),
        ("0.96–1.11 or 42 ± 2 µs", ["0.96", "1.11", "42", "2 µs"]),
        ("10<sup>6</sup> and H<sub>2</sub>O", ["10⁶"]),
        ("# 3 kernels\n\n![2.6 times](x.png)\n\nA *2*-stage **1.5**× gain", ["3", "2.6 times", "2", "1.5×"]),
        ("| 5 µs |\n|---|\n| 6 |", ["5 µs", "6"]),
        ("<p>12 launches</p>", ["12"]),
        ("<!-- unbound: published -->\n\n- 3 µs\n\nand 5 µs", ["5 µs"]),
        ("[42.5 µs][missing]", ["42.5 µs"]),
        ("In Table 2, 42 launches; with CUDA 13.0, 3.5 of them; (256, 2048)", ["42", "3.5", "256", "2048"]),
        ("Others reach 73 % of 989 TFLOP/s with 2.5x speedup", ["73 %", "989 TFLOP/s", "2.5x"]),
    ],
)
def test_numbers_bound_to_nothing_are_flagged(checker: Checker, text: str, numbers: list[str]) -> None:
    report = check(checker, text)
    assert [finding.text for finding in report.findings] == numbers
    assert set(codes(report)) == {"unbound"}


def test_number_words_are_flagged_when_asked_for(checker: Checker) -> None:
    assert codes(check(checker, "Three kernels run twice; no one knows.", words=True)) == ["unbound", "unbound"]


def test_bindings_that_fit_are_suggested(checker: Checker) -> None:
    (finding,) = check(checker, "The fused graph needs 77.8 µs.").findings
    assert "claim:host_completion/median_ns?case=row:fused:graph:4096x4096" in finding.way_out
    for text in ("It needs 987.6 µs.", "It runs 4.0 times a day."):  # of counts none is a factor
        (finding,) = check(checker, text).findings
        assert "unbound: REASON" in finding.way_out


# What does not hold.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[77.9 µs][f]", "value"),
        ("[77.75 µs][f]", "value"),
        ("[67.2 MB][warm]", "rounding"),
        ("[162 µs][s]", "rounding"),
        ("[77.8 ms][f]", "value"),
        ("[4.28 TiB/s][copy]", "value"),
        ("[77.8][f]", "unit"),
        ("[77.8 MB][f]", "unit"),
        ("[77.8 %][f]", "unit"),
        ("[4.28 TB][copy]", "unit"),
        ("[4 µs][k]", "unit"),
        ("| time |\n|---|\n| [77.8][f] |", "unit"),
        ("| time, ms |\n|---|\n| [77.8][f] |", "value"),
        ("more than [78 µs][f]", "comparison"),
        ("over [78 µs][f]", "comparison"),
        ("less than [77 µs][f]", "comparison"),
        ("at least [78 µs][f]", "comparison"),
        ("[at most 77 µs][f]", "comparison"),
        ("nearly [77 µs][f]", "comparison"),
        ("just over [60 µs][f]", "comparison"),
        ("about [90 µs][f]", "value"),
        ("[three kernels][k]", "value"),
        ("[thrice][ratio] as fast", "value"),
        ("Fused is [2.07 times][ratio] slower than staged.", "direction"),
        ("Staged is [2.07 times][ratio] faster than fused.", "direction"),
        ("Compared with fused, staged is [2.07 times][ratio] faster.", "direction"),
        ("It is [0.48 times][inverse] faster.", "direction"),
        ("It is [2.07 times](claim:speedup(s,f)) slower.", "direction"),
        ("Fused takes [52 %][change] more time than staged.", "direction"),
        ("Fusing costs [83.4 µs][diff].", "direction"),
        ("Fused is slower by [83.4 µs][diff].", "direction"),
        ("Fused is slower by a factor of [2.07][ratio].", "direction"),
        ("Fused needs [2.07 times][ratio] as much time as staged.", "direction"),
        ("Fused needs [2.07 times][ratio] the time of staged.", "direction"),
        ("Staged is [2.07 times][ratio] as fast as fused.", "direction"),
        ("Fused moves [3.00 times](claim:ratio(slogical,logical)) more bytes than staged.", "direction"),
        ("[−2.07][ratio]", "value"),
        ("[+83.4 µs][diff]", "value"),
        ("Fused at [77.8 µs][f] is slower than staged at [161 µs][s].", "comparison"),
        ("Fused takes [77.8 µs][f], more than the [161 µs][s] of staged.", "comparison"),
        ("Fused ([77.8 µs][f]) > staged ([161 µs][s])", "comparison"),
        ("[77.7–78.9 µs](claim:range(p10,p90))", "value"),
        ("The kernel is [row_max](claim:kernel_time/kernel?case=row:fused:graph:4096x4096).", "text"),
        ("[not the submission](claim:attribute(f,stream))", "text"),
        ("3 µs<!-- unbound: -->", "unbound-without-reason"),
    ],
)
def test_what_is_not_true_is_found(checker: Checker, text: str, found: str) -> None:
    assert codes(check(checker, text)) == [found]


@pytest.mark.parametrize(
    ("binding", "found"),
    [
        ("", "binding-malformed"),
        ("a/b/c/d", "binding-malformed"),
        ("host_completion/median_ns?case", "binding-malformed"),
        ("ratio(s", "binding-malformed"),
        ("ratio(s)f)", "binding-malformed"),
        ("x y", "binding-malformed"),
        ("nothing", "binding-unknown"),
        ("no_query/median_ns", "binding-unknown"),
        ("host_completion/no_column", "binding-unknown"),
        ("other-run/host_completion/median_ns", "binding-unknown"),
        ("host_completion/median_ns?no_column=1", "binding-unknown"),
        ("host_completion/median_ns?case=row:fuse:graph:4096x4096", "binding-unknown"),
        ("host_completion/median_ns?take=most", "binding-unknown"),
        ("host_completion/median_ns?samples=1e999999999", "binding-unknown"),
        ("host_completion/median_ns?samples=sNaN", "binding-unknown"),
        ("host_completion/variant?take=max", "binding-unknown"),
        ("host_completion/median_ns?case=row:fused:graph:4096x4096&unit=parsec", "binding-unknown"),
        ("product(s,f)", "binding-unknown"),
        ("ratio(s)", "binding-unknown"),
        ("ratio(s,logical)", "binding-unknown"),
        ("sum(f,busy)", "binding-unknown"),
        ("bandwidth(s,f)", "binding-unknown"),
        ("latency(passes/duration_ns?pass=timing)", "binding-unknown"),
        ("host_completion/median_ns", "binding-ambiguous"),
        ("host_completion", "binding-ambiguous"),
        ("range(s,f)", "binding-ambiguous"),
        ("ratio(range(s,f),f)", "binding-ambiguous"),
        ("kernel_time/ncu_warm_ns?case=row:fused:graph:4096x4096", "no-evidence"),
        ("occupancy/active_blocks", "no-evidence"),
        ("host_completion/median_ns?case=row:fused:graph:7x781", "no-evidence"),
        ("ratio(f,early_starts/early?case=row:staged:graph:32x1024&stage=C&take=max)", "binding-unknown"),
    ],
)
def test_bindings_that_cannot_be_followed_are_told(checker: Checker, binding: str, found: str) -> None:
    (finding,) = check(checker, f"5 µs <!-- claim: {binding} -->").findings
    assert finding.code == found
    assert finding.message


def test_text_and_binding_must_have_as_many_numbers(checker: Checker) -> None:
    assert codes(check(checker, "[much less][f]")) == ["binding-without-number"]
    assert codes(check(checker, "A paragraph. <!-- claim: f -->")) == ["binding-without-number"]
    assert codes(check(checker, "[77 to 78 µs][f]")) == ["binding-ambiguous"]


def test_a_definition_of_itself_ends(checker: Checker) -> None:
    (finding,) = checker.check("[5](claim:a)\n\n[a]: claim:ratio(a,a)").findings
    assert finding.code == "binding-malformed"


# What may not be concluded.


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[1 TB/s](claim:bandwidth(flushed,busy))", "flushed-is-not-warm"),
        ("Its warm bandwidth is high, as it reads [67.1 MB][flushed] quickly.", "flushed-is-not-warm"),
        ("In a steady state it reads [67.1 MB][flushed].", "flushed-is-not-warm"),
        ("[1 TB/s](claim:bandwidth(logical,busy))", "logical-is-not-dram"),
        ("It causes [134 MB][logical] of DRAM traffic.", "logical-is-not-dram"),
        ("[50 MB](claim:total_writes(written))", "writes-left-in-cache"),
        ("It writes less than [68 MB][written] in total.", "writes-left-in-cache"),
        ("Each kernel reads [67.1 MB][warm].", "no-node-times"),
        ("[70 µs](claim:kernel_duration(event))", "event-intervals-hold-gaps"),
        ("The kernel time is [70.0 µs][event].", "event-intervals-hold-gaps"),
        ("[77.8 µs](claim:kernel_duration(f))", "completion-is-no-kernel-time"),
        ("The kernel runs for [77.8 µs][f].", "completion-is-no-kernel-time"),
        ("[the variant](claim:attribute(s,f))", "times-have-no-single-cause"),
        ("Fused is [2.07 times][ratio] faster because rows stay in registers.", "times-have-no-single-cause"),
        ("Thanks to fewer launches it is [52 %][change] faster.", "times-have-no-single-cause"),
        ("The speed-up of [2.07][pair] comes from one launch less.", "times-have-no-single-cause"),
        ("[60][early] tasks start early, which makes it faster.", "early-start-is-no-speedup"),
        ("[100 %](claim:utilisation(limit))", "limits-are-not-utilisation"),
        ("With [8 blocks][limit] the multiprocessors are fully utilised.", "limits-are-not-utilisation"),
        ("[2](claim:speedup(s,p90))", "quantiles-are-not-confidence"),
        ("We are confident that it completes in [77.9 µs][p90].", "quantiles-are-not-confidence"),
        ("[1](claim:ratio(second,f))", "other-device"),
        ("At [78.0 µs][second] the second GPU is slower than the first at [77.8 µs][f].", "other-device"),
        ("[2](claim:ratio(s,ncu))", "ncu-time-is-its-own"),
        ("The latency is more than [70 µs][ncu].", "ncu-time-is-its-own"),
        (
            "Fused is [2.07 times][ratio] faster. This is because rows stay in registers.",
            "times-have-no-single-cause",
        ),
        (
            "The factor of [2.07][ratio] shows that keeping rows in registers pays.",
            "times-have-no-single-cause",
        ),
        ("The launch overhead costs [83.4 µs](claim:difference(s,f)).", "times-have-no-single-cause"),
        ("[8 blocks][limit] saturate the multiprocessor.", "limits-are-not-utilisation"),
        ("With warm caches it reads [67.1 MB][flushed].", "flushed-is-not-warm"),
        ("Fewer launches make it [2.07 times][ratio] faster.", "times-have-no-single-cause"),
        ("The saved traffic explains the [2.07 times][ratio].", "times-have-no-single-cause"),
        ("| latency, µs |\n|---|\n| [79.7][profiled] |", "profiled-is-no-latency"),
        ("Fused takes [79.7 µs][profiled].", "profiled-is-no-latency"),
        ("It has a bandwidth of [1.92 TB/s][rate].", "logical-is-not-dram"),
        ("[77.8 µs][f] ± [0.1 µs](claim:difference(p90,f))", "quantiles-are-not-confidence"),
        ("[79.7 µs](claim:latency(profiled))", "profiled-is-no-latency"),
        ("The latency is [79.7 µs][profiled].", "profiled-is-no-latency"),
    ],
)
def test_what_may_not_be_concluded_is_refused(checker: Checker, text: str, rule: str) -> None:
    (finding,) = check(checker, text).findings
    assert finding.code == rule
    assert RULES[rule].sentence in finding.message
    assert finding.way_out == RULES[rule].way_out


# Numbers, by themselves.


@pytest.mark.parametrize(
    ("text", "value", "step", "unit"),
    [
        ("42.5 µs", "42.5", "0.1", "µs"),
        ("1,024", "1024", "1", ""),
        ("16 777 216 B", "16777216", "1", "B"),
        ("1'000", "1000", "1", ""),
        ("0,96", "0.96", "0.01", ""),
        (".5", "0.5", "0.1", ""),
        ("1e6", "1000000", "1000000", ""),
        ("1.6×10⁷ B", "16000000", "1000000", "B"),
        ("2²⁴", "16777216", "1", ""),
        ("2^{24}", "16777216", "1", ""),
        ("10^-3 s", "0.001", "1", "s"),
        ("1.5 million", "1500000", "100000", ""),
        ("16k", "16000", "1000", ""),
        ("−3.2 %", "-3.2", "0.1", "%"),
        ("2.6x", "2.6", "0.1", "x"),
        ("128-byte", "128", "1", "byte"),
        ("100 GB per second", "100", "1", "GB per second"),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, value: str, step: str, unit: str) -> None:
    (one,) = quantities(text)
    assert (one.value, one.step, one.unit.name) == (Fraction(value), Fraction(step), unit)


def test_one_unit_holds_for_a_range_and_a_list() -> None:
    text = "42–47 µs, then 1.2, 1.3 and 1.4 ms; 5 kernels"
    units = [one.unit.name for one in spread_units(text, list(quantities(text)))]
    assert units == ["µs", "µs", "ms", "ms", "ms", ""]


def test_words_are_numbers_too() -> None:
    words = [(one.number, one.value, one.unit.name) for one in number_words("Three times, twice, ten ns, half")]
    assert words == [("Three", 3, "times"), ("twice", 2, ""), ("ten", 10, "ns"), ("half", Fraction(1, 2), "")]


def test_every_kind_of_no_claim_is_documented_and_works() -> None:
    for kind in EXCEPTIONS:
        assert kind.name in DOCS
        its_own = [match.span() for match in kind.pattern.finditer(kind.about)]
        assert its_own
        assert list(quantities(kind.about, its_own)) == []


def test_every_column_of_every_query_has_a_unit() -> None:
    """What the headers call ns or bytes is read so."""
    for query in find_queries("jobs") + find_queries("rms") + find_queries("tiled") + find_queries("pointwise"):
        for column, about in query.columns.items():
            unit = of_column(column)
            if column.endswith("_ns"):
                assert unit == UNITS["ns"], (query.name, column)
            elif re.match(r"bytes (?:read|written|through|that)", about):
                assert unit.dimension in ("byte", "byte/s"), (query.name, column)


_UNITS_OF_TIME = st.sampled_from(["ns", "µs", "ms", "s"])


def _written(value: Fraction, digits: int) -> str:
    """Rounded to that many decimals, in full."""
    whole, rest = divmod(round(value * 10**digits), 10**digits)
    return f"{whole}.{rest:0{digits}}" if digits else str(whole)


@settings(max_examples=60, deadline=None)
@given(_UNITS_OF_TIME, st.integers(0, 9), st.integers(-3, 3))
def test_a_number_holds_within_half_of_its_last_digit(
    checker: Checker, unit: str, digits: int, off: int
) -> None:
    """fused: 77,800 ns, in any unit and with any number of digits."""
    scale = UNITS[unit].scale
    told = _written(Fraction(77_800) / scale + Fraction(off, 10**digits), digits)
    error = abs(Fraction(told) * scale - 77_800)
    held = error <= scale / 10**digits / 2
    assert codes(check(checker, f"[{told} {unit}][f]")) == (
        [] if held else ["rounding"] if error < scale / 10**digits else ["value"]
    )


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(UNITS)), st.decimals(0, 10**6, places=3))
def test_units_convert_exactly(name: str, number: Decimal) -> None:
    (one,) = quantities(f"{number} {name}")
    assert one.unit.name == name
    assert one.base == Fraction(number) * UNITS[name].scale
    assert math.isclose(float(one.base / one.unit.scale), float(number), abs_tol=1e-12)


# Markdown of any kind.

_PIECES = st.sampled_from(
    [
        *"[]()|`*_<>!\\#-+~^&{}$%\n\t\r",
        *("claim:", "<!-- claim: f -->", "<!--", "-->", "unbound:"),
        *("\n\n", "| a | b |\n|---|---|\n| ", "> ", "- ", "1. "),
        *("[77.8 µs][f]", "[2](claim:ratio(s,f))", "[", "](claim:"),
        *("<sup>6</sup>", "<a href='claim:f'>", "</a>", "<pre>"),
        *("12", "1,024", "10⁶", "2^24", "1e999", "10^9999", "0^-1"),
        *("9" * 500, "½", "µs", "×", "%", "more than ", "faster"),
        *("than", "three", "half", "&nbsp;", "&#x41;"),
        *("\0", "\ufeff", "---\n", "```\n", "[f]: x\n", "[a]: claim:ratio(a,a)\n"),
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES | st.text(max_size=4), max_size=40).map("".join))
def test_any_markdown_is_read(checker: Checker, text: str) -> None:
    lines = re.split(r"\r\n|\r|\n", text + DEFINITIONS)
    report = check(checker, text, words=True)
    for finding in report.findings:
        assert 1 <= finding.line <= len(lines)
        assert finding.column >= 1
        assert finding.code in CODES
    fixed(text + DEFINITIONS, [finding.fix for finding in report.findings if finding.fix])
    json.loads(output.as_sarif(report, "a.md"))


@pytest.mark.parametrize(
    "text",
    [
        "A 1 and **2** and `x` 3 and &amp; 4 and \\* 5 and <b>6</b>",
        "- one 1\n  two 2\n\n  > three 3\n  > four 4",
        "| a \\| 1 | `b` 2 |\n|---|---|\n| *3* | 4 |",
        "# One 1\n\nTwo 2\n======\n\n![three 3](x)",
        "<p>\n one 1\n <b>two</b> 2 &amp; 3</p>",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_findings_stand_where_the_number_is(checker: Checker, text: str, end: str) -> None:
    lines = text.split("\n")
    report = checker.check(text.replace("\n", end))
    assert len(report.findings) == len(re.findall(r"\d", text.replace("&#", "")))
    for finding in report.findings:
        assert lines[finding.line - 1].startswith(finding.text, finding.column - 1)


def test_bindings_read_back() -> None:
    text = "ratio(a/b?case=x:1&take=max,sum(a/c))"
    assert str(parse_binding(text, {})) == text
    with pytest.raises(BindingError):
        parse_binding("a/b?case", {})
    (grid,) = [parse_binding("resources/blocks?grid=1%2C1%2C1&kernel=f%28int%29", {})]
    assert grid == parse_binding("resources/blocks?grid=1,1,1&kernel=f(int)", {})


# Missing evidence, several runs.


def test_a_lost_table_cannot_be_checked(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "row-lost").path
    (folder / "evidence" / "sample.parquet").unlink()
    with nsight_suite.open_run(folder) as lost:
        (finding,) = Checker([lost]).check("[77.8 µs][f]" + DEFINITIONS).findings
    assert finding.code == "no-evidence"
    assert "sample" in finding.message


def test_of_several_runs_each_binding_names_one(run: Run, tmp_path: Path) -> None:
    with nsight_suite.open_run(make_run(tmp_path / "row-other").path) as other:
        checker = Checker([run, other])
        of = "host_completion/median_ns?case=row:fused:graph:4096x4096"
        assert codes(checker.check(f"[77.8 µs](claim:{of})")) == ["binding-ambiguous"]
        assert codes(checker.check(f"[77.8 µs](claim:row-other/{of}), [77.8 µs](claim:row-whole/{of})")) == []
    with pytest.raises(UsageError, match="row-whole"):
        Checker([run, run])


def test_a_run_without_evidence_cannot_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path / "row-bare").path
    for path in (folder / "evidence").iterdir():
        path.unlink()
    (tmp_path / "a.md").write_text("5")
    assert main([str(tmp_path / "a.md"), str(folder)]) == 2
    assert "no evidence" in capsys.readouterr().err
    with nsight_suite.open_run(folder) as bare, pytest.raises(CannotAnswer):
        Checker([bare])


# The command.


@pytest.fixture
def article(tmp_path: Path) -> Path:
    path = tmp_path / "my article.md"
    path.write_text(
        "Fused: [77.8 µs][f].\n\nStaged: [160.2 µs][s], 42 µs 50 % off.\n" + DEFINITIONS, encoding="utf-8"
    )
    return path


def test_it_speaks_like_a_compiler(article: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(article), str(run.path), "--all"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"{article}:1:9: holds: 77.8 µs is 77.8 µs"
    assert told[1] == f"{article}:3:10: value: The evidence says 161.2 µs, not 160.2 µs."
    assert told[2].startswith(f"{article}:3:24: unbound: 42 µs is bound to nothing.")
    assert told[-1] == f"{article}: 1 of 2 bound numbers hold, 3 findings"


def test_exit_status(article: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    article.write_text("Fused: [77.8 µs][f]." + DEFINITIONS, encoding="utf-8")
    assert main([str(article), str(run.path)]) == 0
    assert capsys.readouterr().out == f"{article}: 1 of 1 bound numbers hold, no findings\n"
    for no_article in ("no.md", f"{article}/no.md", str(article.parent)):
        assert main([no_article, str(run.path)]) == 2
        assert capsys.readouterr().err.count("\n  Give ") == 1
    assert main([str(article), "no-run"]) == 2
    article.write_text("")
    assert main([str(article), str(run.path)]) == 0
    assert capsys.readouterr().out == f"{article}: no number was checked, no findings\n"
    article.write_bytes(b"\xff\xfe")
    assert main([str(article), str(run.path)]) == 2
    assert "UTF-8" in capsys.readouterr().err


def test_numbers_are_mended(article: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    article.write_bytes(("[161,199 ns][s]\r\n\r\n[1 µs][f] and [3 kernels][k]" + DEFINITIONS).encode())
    article.chmod(0o600)
    assert main([str(article), str(run.path), "--fix"]) == 0
    assert article.stat().st_mode & 0o777 == 0o600, "a draft stays as private as it was"
    assert article.read_bytes().startswith("[161,200 ns][s]\r\n\r\n[78 µs][f] and [4 kernels][k]".encode())
    assert "3 numbers mended" in capsys.readouterr().err


def test_what_rounds_to_nothing_is_not_mended(article: Path, run: Run) -> None:
    article.write_text("[5 s][f]" + DEFINITIONS, encoding="utf-8")
    assert main([str(article), str(run.path), "--fix"]) == 1
    assert article.read_text(encoding="utf-8").startswith("[5 s][f]")


def test_json(article: Path, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "claims.json"
    assert main([str(article), str(run.path), "--format", "json", "--out", str(out)]) == 1
    told = json.loads(out.read_text(encoding="utf-8"))
    assert told["runs"] == ["row-whole"]
    assert told["claims"][0] == {
        "line": 1,
        "column": 9,
        "text": "77.8 µs",
        "binding": "host_completion/median_ns?case=row:fused:graph:4096x4096",
        "values": [77800.0],
        "unit": "ns",
        "holds": True,
    }
    assert [finding["code"] for finding in told["findings"]] == ["value", "unbound", "unbound"]
    assert told["findings"][0]["fix"] == {"line": 3, "column": 10, "old": "160.2", "new": "161.2"}


# What the schema of SARIF 2.1.0 requires of, and allows in, the objects that are written.
_SARIF: dict[str, tuple[set[str], set[str]]] = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool"}, {"results", "columnKind"}),
    "driver": ({"name"}, {"version", "rules"}),
    "rule": ({"id"}, {"shortDescription"}),
    "result": ({"message"}, {"ruleId", "ruleIndex", "level", "locations", "fixes"}),
    "physical": (set(), {"artifactLocation", "region"}),
    "region": (set(), {"startLine", "startColumn", "endLine", "endColumn"}),
    "fix": ({"artifactChanges"}, {"description"}),
    "change": ({"artifactLocation", "replacements"}, set()),
    "replacement": ({"deletedRegion"}, {"insertedContent"}),
}


def _require(kind: str, told: dict[str, Any]) -> dict[str, Any]:
    needed, allowed = _SARIF[kind]
    assert needed <= set(told) <= needed | allowed, kind
    return told


def test_sarif_has_what_its_schema_requires(
    article: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(article), str(run.path), "--format", "sarif"]) == 1
    log = _require("log", json.loads(capsys.readouterr().out))
    assert log["version"] == "2.1.0"
    (told,) = (_require("run", one) for one in log["runs"])
    driver = _require("driver", told["tool"]["driver"])
    assert {_require("rule", rule)["id"] for rule in driver["rules"]} == set(CODES)
    for result in (_require("result", one) for one in told["results"]):
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning")
        (location,) = result["locations"]
        physical = _require("physical", location["physicalLocation"])
        assert physical["artifactLocation"]["uri"].endswith("my%20article.md")
        assert all(value >= 1 for value in _require("region", physical["region"]).values())
        for fix in result.get("fixes", ()):
            (change,) = _require("fix", fix)["artifactChanges"]
            (replacement,) = _require("change", change)["replacements"]
            assert _require("replacement", replacement)["insertedContent"]["text"] == "161.2"


def test_annotations_are_escaped(article: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(article), str(run.path), "--format", "github"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 3
    place = f"file={article},line=3,col=10,endColumn=18,title=value"
    assert told[0] == f"::error {place}::The evidence says 161.2 µs, not 160.2 µs."
    assert told[2].startswith("::warning ")
    assert "::50 %25 is bound to nothing." in told[2]


def test_stdin(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for text, status in (("5 µs".encode(), 1), (b"5 \xff", 2)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), "ascii", "surrogateescape"))
        assert main(["-", str(run.path)]) == status
    told = capsys.readouterr()
    assert told.out.startswith("-:1:1: unbound: 5 µs is bound to nothing.")
    assert "'-' is no Markdown text.\n  Give a file in UTF-8." in told.err


def test_a_reader_that_went_away_has_heard_no_yes(
    article: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    article.write_text("[77.8 µs][f] " * 400 + DEFINITIONS, encoding="utf-8")  # more than a buffer holds
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(sys, "stdout", os.fdopen(writer, "w"))
    assert main([str(article), str(run.path), "--all"]) == 2


def test_every_code_is_documented() -> None:
    assert [code for code in CODES if f"`{code}`" not in DOCS] == []


def test_definitions_are_found_by_any_case() -> None:
    article = read_article("[5][Some  Name]\n\n[some name]: claim:a/b")
    assert [mark.target for mark in article.blocks[0].marks] == ["a/b"]
    assert str(parse_binding("SOME name", article.definitions)) == "a/b"
