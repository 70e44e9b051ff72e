"""The small parts of reading ncu: number formats, instances, the outer layout of reports."""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsight_suite.evidence.readers import ncu_blocks
from nsight_suite.evidence.readers.ncu_instances import instances
from nsight_suite.evidence.readers.ncu_launches import Launches
from nsight_suite.evidence.readers.ncu_numbers import DEFAULT, FORMATS, decide, read, shape
from nsight_suite.evidence.readers.ncu_shapes import Shapes
from nsight_suite.evidence.readers.zstd_frame import is_whole

REPORT = Path(__file__).parent / "data" / "ncu_graph_whole.ncu-rep"


def decimals(text: str, *others: str, whole: tuple[str, ...] = ()) -> int | None:
    """How many of a number's digits are decimals, in a file that also holds `others`."""
    reading = read(shape(text), decide(map(shape, (text, *others)), whole))
    assert reading is not None
    assert (reading.decimals is None) == bool(reading.reason)
    return reading.decimals


@pytest.mark.parametrize(
    ("text", "others", "expected"),
    [
        ("117.344", (), 3),
        ("117.344", ("65,77",), 0),
        ("117.344", ("27.595.520",), 0),
        ("117.344", ("1,234",), 3),
        ("117,344", (), 0),
        ("117,344", ("65,77",), 3),
        ("117,344", ("65,77", "1 234"), 3),
        ("117,344", ("0,5",), 3),
        ("117,344", ("-0,125",), 3),
        ("0,125", (), 3),
        ("117.344", ("0.125",), 3),
        ("0.125", ("65,77",), None),
        ("117'344", (), 0),
        ("1 234", ("0.5",), 0),
        ("12,34,567.5", (), 1),
        ("1.5e+09", (), 1),
        (".5", (), 1),
        ("5", ("1,2", "3.4"), 0),
        ("1.234.567", ("1,234,567",), None),
        ("1.234", ("1,234,567", "1.234.567"), None),
    ],
)
def test_one_number_is_read_by_what_else_the_file_holds(
    text: str, others: tuple[str, ...], expected: int | None
) -> None:
    assert decimals(text, *others) == expected


def test_a_grid_of_broken_blocks_rules_a_format_out() -> None:
    assert decimals("117.344", whole=("65.536",)) == 0
    assert decimals("117.344", whole=("65536.00",)) == 3
    assert decimals("117.344", whole=("256",)) == 3


@pytest.mark.parametrize("text", ["1.2.3", "(1, 1)", "0x10", "PolicySpread", "1,2.3,4", "--1", "1e", "", "٣"])
def test_no_format_reads_what_is_no_number(text: str) -> None:
    assert read(shape(text), FORMATS) is None


@given(st.decimals(-(10**15), 10**15, places=3))
def test_each_format_reads_its_own_numbers(number: Decimal) -> None:
    separators = (",.", ".,", " ,", " .", "'.", "',")
    for known, (thousands, decimal) in zip(FORMATS, separators, strict=True):
        text = f"{number:,}".translate(str.maketrans({",": thousands, ".": decimal}))
        assert known.decimals(shape(text)) == 3


@given(st.lists(st.integers(0, 10**12).map("{:,}".format)))
def test_ncu_s_own_format_is_taken_unless_something_speaks_against_it(texts: list[str]) -> None:
    assert decide(map(shape, texts)) == (DEFAULT,)


@given(
    st.lists(st.lists(st.text("019,.+-e \u00a0n/a\x1e\x1f", max_size=6), min_size=3, max_size=3), max_size=8)
)
def test_a_row_at_once_has_the_shapes_of_its_texts(texts: list[list[str]]) -> None:
    one_by_one, at_once = Shapes(), Shapes()
    for shapes in (one_by_one, at_once):
        for metric, unit in enumerate(("byte", "", "block")):
            shapes.begin_metric(metric, "launch__grid_size" if unit == "block" else "a__b.sum", unit)
    for row in texts:
        found = at_once.of_row(range(3), row)
        assert found == [one_by_one.of(metric, text) for metric, text in enumerate(row)]
    assert at_once == one_by_one


@given(st.text())
def test_no_text_breaks_the_reading_of_instances(text: str) -> None:
    for candidate in (text, f"{text})", f"1 ({text})", f"({text}: 1; 2)"):
        found = instances(candidate)
        assert found is None or list(found.values())


def test_launches_that_look_alike_are_placed_at_once() -> None:
    """Each was compared with all before it."""
    launches, key = Launches(), ("0", "457", "saxpy", "(1, 1, 1)", "(1, 1, 1)")
    launches.begin_table("raw")
    started = time.process_time()
    assert [launches.place(key)[0] for _ in range(100_000)] == list(range(100_000))
    assert time.process_time() - started < 5
    assert launches.repeated == 99_999


def test_a_report_tells_of_its_session() -> None:
    made = ncu_blocks.session(REPORT)
    assert made.tool_version is not None
    assert made.tool_version.startswith("2025.3.1.0")
    assert made.gpus == {"NVIDIA H200"}
    assert len(made.process_ids) == 1


@pytest.mark.parametrize(
    "content", [b"", b"NVR", b"NVR\0", b"NVR\0\xff\xff\xff\x7f", b"\x28\xb5\x2f\xfd", b"text"]
)
def test_what_is_no_report_tells_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.ncu-rep"
    path.write_bytes(content)
    assert ncu_blocks.session(path) == ncu_blocks.Session()
    found = ncu_blocks.extent(path)
    assert found is None or found.results in (0, None)


def test_a_compressed_file_is_whole_or_not() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for content in (b"", b"a" * 200_000, bytes(range(256)) * 2000):
        whole = pyarrow.compress(content, codec="zstd", asbytes=True)
        assert is_whole(whole)
        assert is_whole(whole + whole)
        assert is_whole(b"\x50\x2a\x4d\x18\x02\0\0\0xx" + whole)  # a skippable frame first
        assert not any(
            is_whole(whole[:length]) for length in range(len(whole)) if length < 40 or length % 97 == 0
        )
        assert not is_whole(whole + b"x")
