"""ncu reports: real pages in every layout, and small ones for everything that can be wrong with a page."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsight_suite.errors import BadReport
from nsight_suite.evidence import store
from nsight_suite.evidence.readers import ncu_csv, ncu_rep
from nsight_suite.evidence.readers.ncu_nvtx import Range, innermost, ranges, start_end_ranges

DATA = Path(__file__).parent / "data"
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum")
PUSH_POP = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
HEADER = ["ID", "Process ID", PUSH_POP, "Kernel Name", "Grid Size", "dram__bytes_read.sum"]
UNITS = ["", "", "", "", "", "byte"]


@pytest.fixture
def connection() -> Iterator[store.Connection]:
    with store.empty_store() as opened:
        yield opened


def rows(connection: store.Connection, sql: str) -> list[Any]:
    found = connection.execute(sql).fetchall()
    return [row[0] if len(row) == 1 else row for row in found]


def page(*lines: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(lines)
    return text.getvalue()


def row(number: int, value: str, *, kernel: str = "k", cell: str = "") -> list[str]:
    return [str(number), "457", cell, kernel, "(1, 1, 1)", value]


def in_range(name: str, payload: str = "none:none", domain: str = "nsight_suite") -> str:
    return f'457  "{domain}:{name}:{payload}:RGB:0xff:REGISTERED:{name}" '


def read(
    connection: store.Connection, folder: Path, text: str, requested: Sequence[str] = ("dram__bytes_read.sum",)
) -> None:
    path = folder / "ncu.csv"
    path.write_text(text, encoding="utf-8")
    ncu_csv.read(connection, path, "ncu", requested)


def values(connection: store.Connection) -> list[Any]:
    return rows(connection, "SELECT value FROM counter ORDER BY workload_id, metric")


def codes(connection: store.Connection) -> list[str]:
    return rows(connection, "SELECT code FROM finding ORDER BY code")


def driven(connection: store.Connection, case_ids: Sequence[str], invocations: int = 2) -> None:
    made = [{"pass": "ncu", "case_id": case_id, "invocations": invocations} for case_id in case_ids]
    store.insert_rows(connection, "driven", made)


# -- real pages ------------------------------------------------------------------------------------

BY_INVOCATION = """
    SELECT range_name, invocation, sum(value) / 1e6 FROM counter
    WHERE metric = '{}' GROUP BY ALL ORDER BY range_name DESC, invocation
"""


def test_flushed_reads_of_one_invocation_add_up_to_the_published_bytes(connection: store.Connection) -> None:
    driven(connection, ["row:staged:stream:4096x4096", "row:fused:stream:4096x4096"])
    ncu_csv.read(connection, DATA / "ncu_kernel_raw.csv", "ncu", METRICS)
    reads = rows(connection, BY_INVOCATION.format("dram__bytes_read.sum"))
    assert [(name, invocation, round(megabytes, 1)) for name, invocation, megabytes in reads] == [
        ("row:staged:stream:4096x4096", 0, 268.5),
        ("row:staged:stream:4096x4096", 1, 268.5),
        ("row:fused:stream:4096x4096", 0, 67.2),
        ("row:fused:stream:4096x4096", 1, 67.2),
    ]
    order = "SELECT DISTINCT workload_id, name, ordinal FROM counter ORDER BY workload_id"
    assert rows(connection, order)[:5] == [
        *((0, "row_max", 0), (1, "row_exp", 1), (2, "row_sum", 2), (3, "row_div", 3), (4, "row_max", 0)),
    ]
    assert codes(connection) == []


def test_a_whole_graph_is_one_workload(connection: store.Connection) -> None:
    driven(connection, ["row:staged:graph:4096x4096", "row:fused:graph:4096x4096"])
    ncu_csv.read(connection, DATA / "ncu_graph_whole_raw.csv", "ncu", METRICS)
    found = rows(
        connection,
        """SELECT workload, name, range_name, invocation, ordinal, value FROM counter
        WHERE metric = 'dram__bytes_write.sum' ORDER BY workload_id""",
    )
    assert [row[:5] for row in found] == [
        ("graph", "graph", "row:staged:graph:4096x4096", 0, 0),
        ("graph", "graph", "row:staged:graph:4096x4096", 1, 0),
        ("graph", "graph", "row:fused:graph:4096x4096", 0, 0),
        ("graph", "graph", "row:fused:graph:4096x4096", 1, 0),
    ]
    assert found[0][5] == 133_772_032


def test_one_report_reads_alike_in_every_layout_and_scale(connection: store.Connection) -> None:
    for name in ("raw", "raw_scaled", "details"):
        ncu_csv.read(connection, DATA / f"ncu_kernel_{name}.csv", name, METRICS)
    exact = (
        "SELECT workload_id, metric, value, unit FROM counter WHERE pass = '{}' AND metric NOT LIKE 'launch%' "
    )
    exact += "AND metric NOT LIKE 'profiler%' ORDER BY ALL"
    raw, scaled, details = (rows(connection, exact.format(name)) for name in ("raw", "raw_scaled", "details"))
    assert raw == scaled
    assert [(*line[:2], line[3]) for line in raw] == [(*line[:2], line[3]) for line in details]
    # The details page prints two decimals of a scaled value.
    assert all(abs(a[2] - b[2]) <= 0.005e6 for a, b in zip(raw, details, strict=True))
    printed = "SELECT original, original_unit, rounded FROM counter WHERE workload_id = 0 AND metric = '{}' "
    printed = printed.format("dram__bytes_read.sum") + "ORDER BY pass"
    assert rows(connection, printed) == [
        *(("67.12", "Mbyte", True), ("67116544", "byte", False), ("67.116544", "Mbyte", False)),
    ]


def test_only_what_was_asked_for_and_the_launch_enter(connection: store.Connection) -> None:
    ncu_csv.read(connection, DATA / "ncu_kernel_raw.csv", "ncu", METRICS)
    metrics = set(rows(connection, "SELECT DISTINCT metric FROM counter"))
    assert set(METRICS) <= metrics
    assert "launch__registers_per_thread" in metrics
    others = metrics - set(METRICS)
    assert all(metric.startswith(("launch__", "profiler__replayer_passes")) for metric in others)
    # .avg, .max and .pct of a metric are other quantities.
    assert "dram__bytes_read.avg" not in metrics


def test_the_report_itself_gives_the_same_counters_as_its_page(connection: store.Connection) -> None:
    pytest.importorskip("ncu_report")
    driven(connection, ["row:staged:graph:4096x4096", "row:fused:graph:4096x4096"])
    ncu_csv.read(connection, DATA / "ncu_graph_whole_raw.csv", "ncu", METRICS)
    page_rows = rows(connection, "SELECT * EXCLUDE (original, reason) FROM counter ORDER BY ALL")
    connection.execute("DELETE FROM counter")
    ncu_rep.read(connection, DATA / "ncu_graph_whole.ncu-rep", "ncu", METRICS)
    assert rows(connection, "SELECT * EXCLUDE (original, reason) FROM counter ORDER BY ALL") == page_rows
    assert rows(connection, "SELECT format, rows, complete FROM report ORDER BY format DESC") == [
        ("ncu-rep", 4, True),
        ("ncu-csv", 4, True),
    ]


def test_what_a_program_s_own_ncu_prints_is_read_as_it_is(connection: store.Connection) -> None:
    """Straight from standard output: banners, the program's lines, ragged rows, rules, base units."""
    ncu_csv.read(connection, DATA / "ncu_live_details.csv", "live")
    chosen = "metric IN ('Duration', 'SM Frequency', 'Grid Size', 'Cluster Scheduling Policy')"
    found = f"SELECT section, metric, value, unit, text FROM counter WHERE {chosen} ORDER BY metric DESC"
    assert rows(connection, found) == [
        ("GPU Speed Of Light Throughput", "SM Frequency", 1_977_733_118.97, "hz", None),
        ("Launch Statistics", "Grid Size", 65_536, "", None),
        ("GPU Speed Of Light Throughput", "Duration", 49_760, "ns", None),
        ("Launch Statistics", "Cluster Scheduling Policy", None, "", "PolicySpread"),
    ]
    assert rows(connection, "SELECT count(*) FROM counter") == [50]
    assert rows(connection, "SELECT rule, kind, estimated_speedup FROM advice ORDER BY ALL") == [
        ("AchievedOccupancy", "OPT", 29.34),
        ("SOLBottleneck", "OPT", None),
    ]
    assert codes(connection) == []
    assert ncu_csv.policies(DATA / "ncu_live_details.csv").clock_control == "none"


def test_labels_of_a_real_details_page_keep_their_sections_and_ranges(connection: store.Connection) -> None:
    """Ranges of three domains, one with quotes in its name that ncu does not double; scaled units."""
    ncu_csv.read(connection, DATA / "ncu_ranges_details.csv", "ncu")
    found = "SELECT section, value, unit FROM counter WHERE metric = 'Memory Throughput' AND workload_id = 0"
    assert rows(connection, f"{found} ORDER BY section") == [
        ("GPU Speed Of Light Throughput", 48.99, "%"),
        ("Memory Workload Analysis", 2.36e12, "byte/s"),
    ]
    launches = "SELECT DISTINCT workload_id, name, range_name, invocation, grid FROM counter ORDER BY ALL"
    assert rows(connection, launches) == [
        (0, "copy_block(float *, const float *, int)", "outer", None, "65536,1,1"),
        (1, "void scale<float, 3>(T1 *, T1, int)", "inner", 7, "1,1,1"),
    ]
    assert codes(connection) == []


# -- ranges and invocations ------------------------------------------------------------------------


QUOTED = '457  "other:dom:lib, "call": f:Int64:-3:none:none:ASCII:lib, "call": f" '


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("", None),
        (in_range("row:fused:graph:4096x4096"), ("row:fused:graph:4096x4096", None)),
        (in_range("row:fused:graph:4096x4096", "int64:3"), ("row:fused:graph:4096x4096", 3)),
        (in_range("case", "INT64:12"), ("case", 12)),
        (in_range("case", "double:0.5"), ("case", None)),
        (in_range("other", domain="CCCL"), ("other", None)),
        ('457  "nsight_suite:a:int64:1:RGB:0xff:REGISTERED:a" "CCCL:b:none:none:none:none:ASCII:b" ', ("a", 1)),
        ('457  "<default domain>:epoch 1: train:none:none:none:none:none:none" ', ("epoch 1: train", None)),
        (QUOTED, ('lib, "call": f', -3)),
        ("nonsense", None),
    ],
)
def test_the_range_s_name_may_hold_colons_and_its_payload_is_the_invocation(
    cell: str, told: tuple[str, int | None] | None
) -> None:
    found = innermost(ranges(cell), [])
    assert (found and (found.name, found.payload)) == told


def test_the_suite_s_ranges_come_before_those_of_the_program_and_of_libraries() -> None:
    """ncu lists ranges domain by domain, so their nesting across domains cannot be told."""
    default, library = Range("<default domain>", "step", None), Range("CCCL", "reduce", None)
    whole = start_end_ranges(' "0:<default domain>:whole run:none:none:none:none:none:none" ')
    assert whole == [Range("<default domain>", "whole run", None)]
    assert innermost([default, Range("nsight_suite", "outer", 0), library], whole).name == "outer"  # type: ignore[union-attr]
    assert innermost([default, Range("<default domain>", "inner", 1), library], whole).name == "inner"  # type: ignore[union-attr]
    assert innermost([library], whole) == library
    assert innermost([], whole) == whole[0]
    assert innermost([], []) is None


@given(
    st.text(st.characters(exclude_characters='"\n\r', exclude_categories=["Cs"]), min_size=1)
    .map(str.strip)
    .filter(bool),
    st.integers(min_value=0, max_value=10**6),
)
def test_any_name_of_a_range_comes_back(name: str, payload: int) -> None:
    assert ranges(in_range(name, f"int64:{payload}")) == [Range("nsight_suite", name, payload)]


def test_payloads_tell_the_invocation(connection: store.Connection, tmp_path: Path) -> None:
    lines = [row(index, "1", cell=in_range("case", f"int64:{index // 2}")) for index in range(4)]
    read(connection, tmp_path, page(HEADER, UNITS, *lines))
    assert rows(connection, "SELECT invocation, ordinal FROM counter ORDER BY workload_id") == [
        *((0, 0), (0, 1), (1, 0), (1, 1)),
    ]


def test_without_payloads_a_repeating_sequence_tells_it(connection: store.Connection, tmp_path: Path) -> None:
    driven(connection, ["case"])
    lines = [row(index, "1", kernel="ab"[index % 2], cell=in_range("case")) for index in range(4)]
    read(connection, tmp_path, page(HEADER, UNITS, *lines))
    assert rows(connection, "SELECT invocation, ordinal FROM counter ORDER BY workload_id") == [
        *((0, 0), (0, 1), (1, 0), (1, 1)),
    ]


@pytest.mark.parametrize("kernels", ["aba", "abba", "abab_"], ids=["one lost", "swapped", "unknown count"])
def test_without_payloads_an_ambiguous_order_stays_unknown(
    connection: store.Connection, tmp_path: Path, kernels: str
) -> None:
    if not kernels.endswith("_"):
        driven(connection, ["case"])
    lines = [
        row(index, "1", kernel=name, cell=in_range("case")) for index, name in enumerate(kernels.strip("_"))
    ]
    read(connection, tmp_path, page(HEADER, UNITS, *lines))
    assert set(rows(connection, "SELECT invocation, ordinal FROM counter")) == {(None, None)}


# -- what a page may hold --------------------------------------------------------------------------


def test_banners_before_the_header_are_no_header(connection: store.Connection, tmp_path: Path) -> None:
    noise = '==WARNING== Note: clocks, "unlocked"\n==PROF== Connected to process 457 (python3)\ndone,"x"\n'
    read(connection, tmp_path, noise + page(HEADER, UNITS, row(0, "1,024")) + "==PROF== Disconnected\n")
    assert values(connection) == [1024]
    assert codes(connection) == []


def test_the_program_s_output_between_rows_is_told_and_swallows_none(
    connection: store.Connection, tmp_path: Path
) -> None:
    text = page(HEADER, UNITS, row(0, "1")) + 'loss = "0.5\nepoch 2, done\n' + page(row(1, "2"))
    read(connection, tmp_path, text)
    assert values(connection) == [1, 2]
    assert rows(connection, "SELECT code, subject FROM finding") == [("foreign-lines", "ncu.csv")]
    assert rows(connection, "SELECT complete FROM report") == [True]


def test_absent_values_are_null_with_a_reason_and_zero_is_zero(
    connection: store.Connection, tmp_path: Path
) -> None:
    printed = ["n/a", "(!) n/a", "nan", "-nan", "", "1,024", "0"]
    read(connection, tmp_path, page(HEADER, UNITS, *(row(index, text) for index, text in enumerate(printed))))
    assert values(connection) == [None] * 5 + [1024, 0]
    assert (
        rows(connection, "SELECT reason IS NULL FROM counter ORDER BY workload_id") == [False] * 5 + [True] * 2
    )
    assert rows(connection, "SELECT original FROM counter ORDER BY workload_id") == printed


def test_an_unknown_unit_gives_no_value(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, page(HEADER, [*UNITS[:-1], "furlong"], row(0, "3")))
    assert rows(connection, "SELECT value, unit, original, original_unit, reason FROM counter") == [
        (None, None, "3", "furlong", "the unit 'furlong' is not known")
    ]


def test_without_a_row_of_units_the_first_kernel_stays(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, page(HEADER, row(0, "67.11", kernel="copy_block_inst"), row(1, "1")))
    assert rows(connection, "SELECT name, value FROM counter ORDER BY workload_id") == [
        ("copy_block_inst", None),
        ("k", None),
    ]
    assert "no row of units" in rows(connection, "SELECT reason FROM counter")[0]


def test_texts_stay_texts(connection: store.Connection, tmp_path: Path) -> None:
    header, units = [*HEADER, "launch__cluster_scheduling_policy"], [*UNITS, ""]
    read(connection, tmp_path, page(header, units, [*row(0, "1"), "PolicySpread"]))
    found = "SELECT text, value, unit FROM counter WHERE metric LIKE 'launch%'"
    assert rows(connection, found) == [("PolicySpread", None, "")]


def test_kernel_names_keep_their_commas(connection: store.Connection, tmp_path: Path) -> None:
    name = "void cub::DeviceReduceKernel<cub::policy_hub<float, unsigned int, plus<void>>, float *>(T2, T5 *)"
    read(connection, tmp_path, page(HEADER, UNITS, row(0, "1", kernel=name)))
    assert rows(connection, "SELECT name FROM counter") == [name]


def test_a_kernel_called_graph_is_still_a_kernel(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, page(HEADER, UNITS, row(0, "1", kernel="graph")))
    assert rows(connection, "SELECT workload FROM counter") == ["kernel"]


def test_a_requested_metric_that_is_absent_is_told_by_name(
    connection: store.Connection, tmp_path: Path
) -> None:
    text = page(HEADER, UNITS, row(0, "1"))
    read(connection, tmp_path, text, ("dram__bytes_read.sum", "dram__bytes_write.sum"))
    assert rows(connection, "SELECT code, subject FROM finding") == [
        ("missing-metric", "dram__bytes_write.sum")
    ]
    assert values(connection) == [1]


def test_a_details_page_may_be_ragged(connection: store.Connection, tmp_path: Path) -> None:
    header = [
        "ID",
        "Kernel Name",
        "Section Name",
        "Metric Name",
        "Metric Unit",
        "Metric Value",
        "Rule Name",
        "Advice",
    ]
    text = page(
        header,
        ["0", "k", "Memory", "dram__bytes_read.sum", "Kbyte", "9.47"],
        ["0", "k", "Memory", "", "", "", "Bottleneck", 'more "bytes", fewer'],
        ["1", "k", "Memory", "dram__bytes_read.sum", "Gbyte", "1.5"],
    )
    read(connection, tmp_path, text)
    assert values(connection) == [9470, 1.5e9]
    assert codes(connection) == []


# -- cut off, or no page at all --------------------------------------------------------------------

WHOLE = page(HEADER, UNITS, row(0, "1,024"), row(1, "2,048"), row(2, "4,096"))


@pytest.mark.parametrize("cut", [1, 2, 5, 20, 30])
def test_a_page_cut_in_its_last_row_keeps_the_rows_before(
    connection: store.Connection, tmp_path: Path, cut: int
) -> None:
    read(connection, tmp_path, WHOLE[:-cut])
    # Without its last quote a value may be cut; without its line end alone it is whole.
    assert values(connection) == ([1024, 2048, 4096] if cut == 1 else [1024, 2048])
    assert rows(connection, "SELECT code, subject FROM finding") == [("truncated-report", "ncu.csv")]
    assert "line 5" in rows(connection, "SELECT reason FROM finding")[0]
    assert rows(connection, "SELECT complete FROM report") == [False]


def test_a_short_last_row_is_cut_even_with_a_line_end(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, page(HEADER, UNITS, row(0, "1"), row(1, "2")[:4]))
    assert values(connection) == [1]
    assert codes(connection) == ["truncated-report"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - no permission\n", "NVreg_RestrictProfiling"),
        ("done\n==WARNING== No kernels were profiled.\n", "no kernel matched"),
        ("==ERROR== Failed to load report file\n", "could not load the report"),
        ("just text\n", "no header with 'ID' and 'Kernel Name'"),
        (page(["ID", "Kernel Name", "Invocations", "Minimum", "Maximum", "Average"]), "summary page"),
    ],
)
def test_a_file_without_a_table_is_refused_by_what_it_holds(
    connection: store.Connection, tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(BadReport, match=r"ncu\.csv") as caught:
        read(connection, tmp_path, text)
    assert words in str(caught.value)
    assert rows(connection, "SELECT count(*) FROM report") == [0]


@pytest.mark.parametrize(("cut", "results"), [(1, 3), (100, 3), (5000, 2), (10_000, 1)])
def test_a_cut_report_keeps_its_whole_results(
    connection: store.Connection, tmp_path: Path, cut: int, results: int
) -> None:
    pytest.importorskip("ncu_report")
    path = tmp_path / "ncu.ncu-rep"
    path.write_bytes((DATA / "ncu_graph_whole.ncu-rep").read_bytes()[:-cut])
    ncu_rep.read(connection, path, "ncu", METRICS)
    assert rows(connection, "SELECT rows, complete FROM report") == [(results, False)]
    assert rows(connection, "SELECT count(DISTINCT workload_id) FROM counter") == [results]
    assert codes(connection) == ["truncated-report"]


@pytest.mark.parametrize("content", [b"", b"not a report", "half"])
def test_a_report_without_results_is_refused(
    connection: store.Connection, tmp_path: Path, content: bytes | str
) -> None:
    pytest.importorskip("ncu_report")
    path = tmp_path / "ncu.ncu-rep"
    half = (DATA / "ncu_graph_whole.ncu-rep").read_bytes()[:30_000]
    path.write_bytes(content if isinstance(content, bytes) else half)
    with pytest.raises(BadReport, match=r"ncu\.ncu-rep"):
        ncu_rep.read(connection, path, "ncu")
    assert rows(connection, "SELECT count(*) FROM counter") == [0]


def test_without_the_package_both_ways_out_are_told(
    connection: store.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ncu_report", None)
    with pytest.raises(BadReport) as caught:
        ncu_rep.read(connection, DATA / "ncu_graph_whole.ncu-rep", "ncu")
    assert "pip install '.[ncu]'" in str(caught.value)
    assert "ncu --import ncu_graph_whole.ncu-rep --csv --page raw --print-units base" in str(caught.value)
