"""Random ncu pages: whole ones come back exactly, damaged ones give right values, or say what is wrong."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ncu_pages import BANNERS, LAUNCH, METRIC, SHAPE, launch, text_of

from nsight_suite.errors import BadReport
from nsight_suite.evidence import store
from nsight_suite.evidence.readers import ncu_csv, ncu_rep, nsight_python_csv
from nsight_suite.evidence.tables import tables

DATA = Path(__file__).parent / "data"
# Unit as printed, its power of ten, the base unit.
UNITS = [
    *(("byte", 0, "byte"), ("Kbyte", 3, "byte"), ("Mbyte", 6, "byte"), ("Gbyte/s", 9, "byte/s")),
    *(("us", 3, "ns"), ("nsecond", 0, "ns"), ("second", 9, "ns"), ("cycle/nsecond", 9, "hz"), ("Ghz", 9, "hz")),
    *(
        ("%", 0, "%"),
        ("", 0, ""),
        ("%/Kbyte", -3, "%/byte"),
        ("sectors", 0, "sector"),
        ("sector/ms", 3, "sector/s"),
    ),
]
# Between thousands, before decimals, and a number that tells the format.
FORMATS = [
    *((",", ".", "1,398,170.67"), (".", ",", "1.398.170,67"), ("\u00a0", ",", "1\u00a0398\u00a0170,67")),
    *(
        ("'", ".", "1'398'170.67"),
        ("", ".", "1398170.67"),
        ("", ",", "1398170,67"),
        ("\u202f", ",", "1\u202f398\u202f170,67"),
    ),
]
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(str.strip)
NUMBERS = st.decimals(-(10**12), 10**12, places=2) | st.integers(-(2**53), 2**53).map(Decimal)


@dataclass(frozen=True)
class Page:
    """A page, and the values that a reader must find in it: launch and metric → value and unit."""

    text: str
    names: dict[int, str]
    values: dict[tuple[int, str], tuple[float, str]]


@st.composite
def pages(draw: st.DrawFn) -> Page:
    thousands, decimal, telling = draw(st.sampled_from(FORMATS))
    kernels = dict(enumerate(draw(st.lists(NAMES, min_size=1, max_size=4))))
    units = draw(st.lists(st.sampled_from(UNITS), min_size=1, max_size=5))
    metrics = {f"unit{index}__name.sum": unit for index, unit in enumerate(units)}
    numbers = {(k, m): draw(NUMBERS) for k in kernels for m in metrics}

    def printed(number: Decimal) -> str:
        text = f"{number:,}" if thousands else str(number)
        return text.translate(str.maketrans({",": thousands, ".": decimal}))

    cells = {key: printed(number) for key, number in numbers.items()}
    if draw(st.booleans()):
        head = [*LAUNCH, *SHAPE, "telling__metric.avg", *metrics]
        below = [""] * 11 + ["byte", *(unit[0] for unit in metrics.values())]
        rows = [[*launch(k, name), telling, *(cells[k, m] for m in metrics)] for k, name in kernels.items()]
        text = text_of(head, below, *rows)
    else:
        section = "Command line profiler metrics"
        rows = [
            [*launch(k, name), section, metric, unit, value]
            for k, name in kernels.items()
            for metric, unit, value in (
                ("telling__metric.avg", "byte", telling),
                *((m, unit[0], cells[k, m]) for m, unit in metrics.items()),
            )
        ]
        text = text_of([*LAUNCH, *SHAPE, *METRIC], *rows)
    values = {
        (k, m): (float(number.scaleb(metrics[m][1])), metrics[m][2]) for (k, m), number in numbers.items()
    }
    return Page(draw(st.sampled_from(["", BANNERS])) + text, kernels, values)


@dataclass(frozen=True)
class Read:
    """What came of a file: rows of `counter`, and whether anything was said against it."""

    counters: list[tuple[int, str, str, float | None, str | None, str | None]]
    told: list[str]


def outcome(content: str | bytes, reader: Callable[[store.Connection, Path, str], None], name: str) -> Read:
    with tempfile.TemporaryDirectory() as folder, store.empty_store() as connection:
        path = Path(folder) / name
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        try:
            reader(connection, path, "ncu")
        except BadReport as error:
            counted = [
                connection.execute(f'SELECT count(*) FROM "{table}"').fetchall()[0][0] for table in tables()
            ]
            assert not any(counted), "a refused report leaves nothing behind"
            assert name in str(error)  # noqa: PT017 - a refusal is as fine as rows, a traceback is not
            return Read([], ["refused"])
        counters = connection.execute(
            "SELECT workload_id, name, metric, value, unit, reason FROM counter ORDER BY ALL"
        ).fetchall()
        return Read(counters, [row[0] for row in connection.execute("SELECT code FROM finding").fetchall()])


@settings(max_examples=15, deadline=None)
@given(pages())
def test_a_whole_page_comes_back_exactly(page: Page) -> None:
    found = outcome(page.text, ncu_csv.read, "ncu.csv")
    assert found.told == []
    assert {number: name for number, name, *_ in found.counters} == page.names
    got = {(k, m): (value, unit) for k, _, m, value, unit, _ in found.counters if m != "telling__metric.avg"}
    assert got == page.values


@st.composite
def damages(draw: st.DrawFn) -> Callable[[str], str]:
    """A way to break a text that leaves each number whole or unreadable: no digit turns into another."""
    kind = draw(st.sampled_from(["cut", "line", "quote", "cell", "foreign", "twice", "no line end"]))
    place = draw(st.floats(0, 1, exclude_max=True))
    stray = draw(st.text(st.characters(exclude_categories=["Cs", "Nd"]), max_size=40))

    def damage(text: str) -> str:
        lines = text.splitlines(keepends=True)
        line = int(place * len(lines))
        before, here, after = lines[:line], lines[line], lines[line + 1 :]
        quotes = [index for index, character in enumerate(text) if character == '"']
        quote = quotes[int(place * len(quotes))]
        cells = text.split('","')
        del cells[int(place * len(cells))]
        return {
            "cut": text[: int(place * len(text))],
            "line": "".join(before + after),
            "quote": text[:quote] + text[quote + 1 :],
            "cell": '","'.join(cells),
            "foreign": "".join([*before, stray + "\n", here, *after]),
            "twice": "".join([*before, here, *after, here, *after]),
            "no line end": "".join([*before, here.rstrip("\n"), *after]),
        }[kind]

    return damage


@settings(max_examples=25, deadline=None)
@given(pages(), damages())
def test_damage_gives_no_wrong_value_unless_something_is_said(page: Page, damage: Callable[[str], str]) -> None:
    found = outcome(damage(page.text), ncu_csv.read, "ncu.csv")
    right = {(metric, value) for (_, metric), value in page.values.items()}
    wrong = [
        row
        for row in found.counters
        if row[3] is not None and row[2] != "telling__metric.avg" and (row[2], (row[3], row[4])) not in right
    ]
    assert found.told or not wrong
    assert all(row[3] is not None or row[5] for row in found.counters), "what is missing has a reason"


@settings(max_examples=7, deadline=None)
@given(pages(), st.binary(max_size=60), st.floats(0, 1))
def test_no_bytes_break_the_reader(page: Page, stray: bytes, place: float) -> None:
    whole = page.text.encode()
    at = int(place * len(whole))
    for content in (stray, whole[:at] + stray + whole[at:], stray + whole):
        outcome(content, ncu_csv.read, "ncu.csv")
        assert isinstance(ncu_csv.recognises(content.decode("utf-8", "replace")), bool)


@settings(max_examples=10, deadline=None)
@given(st.text(st.sampled_from('",\n\r=ID0 1.2:;()\u00a0'), max_size=200))
def test_no_text_of_a_page_s_characters_breaks_the_reader(text: str) -> None:
    head = text_of([*LAUNCH, *SHAPE, "a__b.sum"], [""] * 11 + ["byte"])
    for content in (text, head + text, head + text_of([*launch(), "1"]) + text):
        outcome(content, ncu_csv.read, "ncu.csv")


@settings(max_examples=5, deadline=None)
@given(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=8))
def test_a_damaged_report_is_refused_or_read(place: float, stray: bytes) -> None:
    pytest.importorskip("ncu_report")
    whole = (DATA / "ncu_graph_whole.ncu-rep").read_bytes()
    at = int(place * len(whole))
    replaced, removed = whole[:at] + stray + whole[at + len(stray) :], whole[:at] + whole[at + len(stray) :]
    # Of bytes that are missing in between the package would end the process.
    for content in (whole[:at], replaced, removed):
        found = outcome(content, ncu_rep.read, "ncu.ncu-rep")
        assert len({row[0] for row in found.counters}) <= 4


def _fields() -> Iterator[str]:
    yield from ("Annotation", "Metric", "n", "AvgValue", "StdDev", "NumRuns", "Unit", "Kernel", "Normalized")


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.lists(st.text(max_size=8) | st.floats().map(repr), min_size=9, max_size=9), max_size=4),
    st.text(),
)
def test_no_table_of_nsight_python_breaks_its_reader(rows: list[list[str]], stray: str) -> None:
    found = outcome(text_of([*_fields()], *rows) + stray, nsight_python_csv.read, "processed_data-f-0.csv")
    assert found.counters == []
