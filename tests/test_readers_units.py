"""Numbers and units as ncu prints them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsight_suite.evidence.readers import units


@pytest.mark.parametrize(
    ("printed", "unit"),
    [
        ("1000", "ns"),
        ("1", "us"),
        ("1,000", "nsecond"),
        ("1", "usecond"),
        ("0.001", "msecond"),
        ("0.000001", "second"),
    ],
)
def test_every_spelling_of_time_is_a_thousand_ns(printed: str, unit: str) -> None:
    value = units.number(printed)
    assert value is not None
    assert units.to_base(value, unit) == (1000, "ns")


@pytest.mark.parametrize(
    ("printed", "unit", "base"),
    [
        ("9.47", "Kbyte", (9470, "byte")),
        ("40.02", "Mbyte", (40_020_000, "byte")),
        ("0", "byte", (0, "byte")),
        ("1.5", "Gbyte", (1_500_000_000, "byte")),
        ("1.98", "GHz", (1_980_000_000, "hz")),
        ("1.024", "Kbyte/block", (1024, "byte/block")),
        ("3.2", "Tbyte/s", (3_200_000_000_000, "byte/s")),
        ("3", "byte/ns", (3_000_000_000, "byte/s")),
        ("20", "register/thread", (20, "register/thread")),
        ("91.73", "%", (Decimal("91.73"), "%")),
        ("4096", "", (4096, "")),
        ("3.20", "cycle/nsecond", (3_200_000_000, "hz")),
        ("772656250", "cycle/second", (772_656_250, "hz")),
        ("1.5", "Gbyte/second", (1_500_000_000, "byte/s")),
        ("2", "sector/us", (2_000_000, "sector/s")),
        ("0.5", "%/Kbyte", (Decimal("0.0005"), "%/byte")),
        ("7", "sectors", (7, "sector")),
        ("7", "branches", (7, "branch")),
        ("132", "sm", (132, "SM")),
        ("0.68", "inst/cycle", (Decimal("0.68"), "inst/cycle")),
    ],
)
def test_units_are_scaled_by_thousands(printed: str, unit: str, base: tuple[Decimal, str]) -> None:
    value = units.number(printed)
    assert value is not None
    assert units.to_base(value, unit) == base


@pytest.mark.parametrize(
    "unit", ["furlong", "Kfurlong", "K", "byte/furlong", "M%", "/s", "byte/", "K%", "sss", "bytes/"]
)
def test_an_unknown_unit_is_refused_rather_than_taken_as_one(unit: str) -> None:
    assert units.to_base(Decimal(1), unit) is None


@pytest.mark.parametrize("text", ["n/a", "(!) n/a", "nan", "-nan", "-nan(ind)", "inf", "", "  "])
def test_absent_values_have_a_reason(text: str) -> None:
    assert units.absence(text)
    assert units.number(text) is None


@pytest.mark.parametrize("text", ["0", "1,024", "PolicySpread", "all", "graph"])
def test_present_values_have_none(text: str) -> None:
    assert units.absence(text) is None


@pytest.mark.parametrize(
    "text", ["1,5", "12,34", "1,0000", "1.2.3", ",", ".", "e5", "0x10", "(256, 1, 1)", "١٢"]
)
def test_what_only_looks_like_a_number_is_none(text: str) -> None:
    assert units.number(text) is None


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_grouped_integers_come_back_exactly(value: int) -> None:
    assert units.number(f"{value:,}") == value
    assert units.number(str(value)) == value


@given(
    st.decimals(min_value=0, max_value=10**9, places=6, allow_nan=False),
    st.sampled_from(["", "K", "M", "G", "T"]),
    st.sampled_from(["byte", "hz", "inst", "byte/block", "byte/s"]),
)
def test_scaling_and_back_gives_the_printed_value(value: Decimal, prefix: str, name: str) -> None:
    base = units.to_base(value, prefix + name)
    assert base is not None
    assert base[1] == name
    assert base[0] / Decimal(1000) ** ["", "K", "M", "G", "T"].index(prefix) == value


@given(st.text())
def test_no_text_breaks_the_reading_of_a_cell(text: str) -> None:
    value = units.number(text)
    assert value is None or units.absence(text) is None
    units.to_base(Decimal(1), text)
