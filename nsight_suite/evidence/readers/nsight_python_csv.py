"""The tables of nsight-python (`output_csv=True`) → measurements: its averages, or the values of single runs.

Of the machine (column Host) nothing enters the evidence, and of what a user's own collectors added neither:
configurations are the columns where nsight-python puts the parameters of the decorated function.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from nsight_suite.errors import BadReport
from nsight_suite.evidence.notes import Doubt, note_doubts, note_report
from nsight_suite.evidence.paths import without_paths
from nsight_suite.evidence.readers import units
from nsight_suite.evidence.readers.long_cells import cells_of_any_length
from nsight_suite.evidence.readers.ncu_page import encoding_of
from nsight_suite.evidence.readers.workloads import LONGEST_CELL
from nsight_suite.evidence.store import Connection, insert_rows

_AVERAGES = {
    "AvgValue": "mean",
    "StdDev": "standard deviation",
    "MinValue": "minimum",
    "MaxValue": "maximum",
    "CI95_Lower": "lower bound of the mean at 95 %",
    "CI95_Upper": "upper bound of the mean at 95 %",
    "RelativeStdDevPct": "relative standard deviation",
    "NormalizationValue": "mean of the baseline",
    "Geomean": "geometric mean over the configurations",
}
_SINGLE = {"Value": "value"}
# With a baseline these are ratios, and the unit is that of what was divided.
_NORMALIZED = ("AvgValue", "Geomean")
_UNKNOWN_UNIT = "the unit "
_RESERVED = frozenset(
    {
        *("Annotation", "Metric", "Kernel", "GPU", "Host", "ComputeClock", "MemoryClock", "Unit", "NumRuns"),
        *("StableMeasurement", "Normalized", *_AVERAGES, *_SINGLE),
    }
)


def recognises(header: Sequence[str]) -> bool:
    """Whether these are the columns of one of nsight-python's tables."""
    names = set(header)
    return {"Annotation", "Metric"} <= names and ("AvgValue" in names or {"Value", "Kernel"} <= names)


def read(connection: Connection, path: Path, pass_name: str) -> None:
    """Insert the measurements of one table. Raises BadReport for a file that is none."""
    found = _Found()
    try:
        with path.open("rb") as file:
            encoding = "utf-8-sig" if encoding_of(file.read(2)) == "utf-8" else "utf-16"
        with path.open(encoding=encoding, errors="replace", newline="") as file, cells_of_any_length():
            lines = csv.reader(line.replace("\0", "\ufffd") for line in file)
            header = next(lines, None)
            if header is None:
                raise BadReport(f"{path.name} is empty.", "Run nsight-python again with output_csv=True.")
            if not recognises(header):
                told = (
                    f"{path.name} is no table of nsight-python: it lacks Annotation, Metric, AvgValue or Value."
                )
                raise BadReport(told, "Give the file that nsight-python wrote with output_csv=True.")
            # Nothing is inserted before the last line is read.
            measured = _all_measurements(header, lines, found)
            insert_rows(connection, "measurement", ({"pass": pass_name, **one} for one in measured))
    except (OSError, csv.Error) as error:
        raise BadReport(f"{path.name} cannot be read: {error}.") from error
    insert_rows(connection, "gpu", ({"pass": pass_name, "name": gpu} for gpu in sorted(found.gpus - {""})))
    note_report(connection, pass_name, path, "nsight-python-csv", rows=found.rows, complete=not found.broken)
    note_doubts(connection, pass_name, _doubts(path.name, found))


@dataclass
class _Found:
    """What is known of a table when all its rows have been read."""

    rows: int = 0
    broken: int = 0
    gpus: set[str] = field(default_factory=set)
    unknown_units: set[str] = field(default_factory=set)


def _all_measurements(
    header: Sequence[str], lines: Iterable[Sequence[str]], found: _Found
) -> Iterator[dict[str, object]]:
    parameters = _parameters(header)
    for line in filter(None, lines):
        if len(line) != len(header):
            found.broken += 1
            continue
        row = {name: cell[:LONGEST_CELL] for name, cell in zip(header, line, strict=True)}
        found.gpus.add(row.get("GPU", ""))
        for one in _measurements(row, found.rows, parameters):
            if str(one.get("reason")).startswith(_UNKNOWN_UNIT):
                found.unknown_units.add(row["Unit"])
            yield one
        found.rows += 1


def _parameters(header: Sequence[str]) -> list[str]:
    """The columns of the decorated function's parameters: before the averages, or behind the other columns."""
    if "AvgValue" in header:
        chosen = header[: header.index("AvgValue")]
    else:
        chosen = header[max(index for index, name in enumerate(header) if name in _RESERVED) :]
    return [name for name in chosen if name and name not in _RESERVED]


def _measurements(
    row: Mapping[str, str], number: int, parameters: Sequence[str]
) -> Iterator[dict[str, object]]:
    normalized = row.get("Normalized", "False") not in ("False", "")
    for column, statistic in (_AVERAGES | _SINGLE).items():
        if column not in row:
            continue
        is_ratio = normalized and column in _NORMALIZED
        unit = "%" if column == "RelativeStdDevPct" else "" if is_ratio else row.get("Unit", "")
        yield {
            "row": number,
            "annotation": row["Annotation"],
            "configuration": json.dumps({name: without_paths(row[name]) for name in parameters}),
            "kernel": row.get("Kernel") or None,
            "metric": row["Metric"],
            "statistic": f"{statistic}, as a ratio to {row['Normalized']}" if is_ratio else statistic,
            "runs": int(runs) if re.fullmatch("[0-9]{1,18}", runs := row.get("NumRuns", "")) else None,
            "original": row[column],
            **_value(row[column], unit, is_number=bool(unit) or is_ratio),
        }


def _value(text: str, unit: str, *, is_number: bool) -> dict[str, object]:
    """Value and base unit. A metric that its author derived may have no unit: then the unit is unknown."""
    if reason := units.absence(text):
        return {"reason": reason}
    number = units.number(text)
    if number is None:
        return {"reason": f"'{text}' is not a number"}
    if unit in ("nan", "NaN"):
        unit, is_number = "", False
    scale = units.scale(unit)
    if scale is None:
        return {"reason": f"{_UNKNOWN_UNIT}'{unit}' is not known"}
    value = float(number * Decimal(10) ** scale.exponent)
    if not math.isfinite(value):
        return {"reason": f"'{text}' is too large"}
    return {"value": value, "unit": scale.base if is_number else None}


def _doubts(name: str, found: _Found) -> Iterator[Doubt]:
    if found.broken:
        told = f"{found.broken} rows of {name} do not have as many cells as its header and were left out."
        yield ("ragged-rows", name, f"{told} The file was cut off or changed.")
    for unit in sorted(found.unknown_units):
        told = f"{name} has metrics in '{unit}'. That unit is not known, so their values are left out"
        yield ("unknown-unit", unit, f"{told}; `original` has them as printed.")
