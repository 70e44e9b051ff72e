"""Query results as text for people: units in the heading, one scale per column, a dash for what is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MISSING = "–"

# Columns end in their unit. A column takes the first scale (factor, unit, up to) that holds its largest value.
_SCALES: Mapping[str, tuple[tuple[float, str, float], ...]] = {
    "_ns": ((1e3, "µs", 1e4), (1e6, "ms", 1e3), (1e9, "s", float("inf"))),
    "_bytes": ((1.0, "B", 1e4), (1e3, "kB", 1e3), (1e6, "MB", 1e4), (1e9, "GB", float("inf"))),
}


@dataclass(frozen=True)
class Heading:
    """A column as it is printed. `unit` is empty for a plain number or a text."""

    text: str
    unit: str
    numeric: bool


@dataclass(frozen=True)
class TextTable:
    """A table ready to print. `query` is the named query that gives it whole, in base units."""

    title: str
    query: str
    about: str
    columns: tuple[Heading, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def text_table(
    title: str,
    query: str,
    about: str,
    rows: Sequence[Mapping[str, object]],
    columns: Mapping[str, str],
    *,
    noted: Sequence[str] = (),
) -> TextTable:
    """Rows of a query as a table: `columns` maps the columns to print to their headings, in order.

    Distinct values of the columns `noted` become notes: the last column is the note, the others say of what.
    """
    formatted = [_column(name, heading, [row[name] for row in rows]) for name, heading in columns.items()]
    cells = tuple(zip(*(values for _, values in formatted), strict=True)) if rows else ()
    notes = dict.fromkeys(tuple(_text(row[name]) for name in noted) for row in rows) if noted else {}
    return TextTable(
        title,
        query,
        about,
        tuple(head for head, _ in formatted),
        cells,
        tuple(f"{', '.join(what)}: {note}" for *what, note in notes if note != MISSING),
    )


def in_unit(value: float, unit: str) -> str:
    """A value in base units as it stands in a column of that unit, the unit added: `7.61 µs`."""
    factors = {name: factor for scales in _SCALES.values() for factor, name, _ in scales}
    return f"{_scaled(value, factors[unit])} {unit}" if unit else _text(value)


def exact(value: object) -> str:
    """A value as the evidence holds it: nothing scaled, nothing rounded, NULL where there is none."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return f"[{', '.join(map(exact, value))}]"
        case dict():
            return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _column(name: str, heading: str, values: Sequence[object]) -> tuple[Heading, list[str]]:
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    numeric = bool(numbers) and all(value is None or value in numbers for value in values)
    for suffix, scales in _SCALES.items():
        if numeric and name.endswith(suffix):
            largest = max(abs(number) for number in numbers)
            factor, unit = next((factor, unit) for factor, unit, most in scales if largest / factor < most)
            return Heading(heading, unit, True), [_scaled(value, factor) for value in values]
    return Heading(heading, "", numeric), [_text(value) for value in values]


def _scaled(value: object, factor: float) -> str:
    """Two places after the point, or three digits where that would make a small value look like none."""
    if not isinstance(value, int | float):
        return MISSING
    scaled = value / factor
    if factor == 1.0 or scaled == 0:
        return f"{value:.0f}"
    return f"{scaled:.2f}" if abs(scaled) >= 1 else f"{scaled:.3g}"


def _real(value: float) -> str:
    """Three places after the point, or two digits where that would make a small value look like none."""
    if value == 0:
        return "0"
    return f"{value:.3f}" if 0.001 <= abs(value) < 1e4 else f"{value:.3g}"


def _text(value: object) -> str:
    match value:
        case None:
            return MISSING
        case bool():
            return "yes" if value else "no"
        case float():
            return _real(value)
        case list() | tuple():
            return ", ".join(map(_text, value))
        case dict():
            return json.dumps(value, ensure_ascii=False)
    return str(value)
