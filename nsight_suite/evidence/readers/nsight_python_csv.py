"""The tables of nsight-python (`output_csv=True`) → measurements: its averages, or the values of single runs.

Of the machine (column Host) nothing enters the evidence, and of what a user's own collectors added neither:
configurations are the columns where nsight-python puts the parameters of the decorated function.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from nsight_suite.errors import BadReport
from nsight_suite.evidence.notes import Doubt, note_doubts, note_report
from nsight_suite.evidence.paths import without_paths
from nsight_suite.evidence.readers import units
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
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            header, *rows = csv.reader(line.replace("\0", "\ufffd") for line in file)
    except ValueError:
        raise BadReport(f"{path.name} is empty.", "Run nsight-python again with output_csv=True.") from None
    except (OSError, csv.Error) as error:
        raise BadReport(f"{path.name} cannot be read: {error}.") from error
    if not recognises(header):
        raise BadReport(
            f"{path.name} is no table of nsight-python: it lacks Annotation, Metric, AvgValue or Value.",
            "Give the file that nsight-python wrote with output_csv=True.",
        )
    whole = [dict(zip(header, row, strict=True)) for row in rows if len(row) == len(header)]
    parameters = _parameters(header)
    found = [one for number, row in enumerate(whole) for one in _measurements(row, number, parameters)]
    insert_rows(connection, "measurement", ({"pass": pass_name, **one} for one in found))
    gpus = sorted({row.get("GPU", "") for row in whole} - {""})
    insert_rows(connection, "gpu", ({"pass": pass_name, "name": gpu} for gpu in gpus))
    broken = len(rows) - len(whole)
    note_report(connection, pass_name, path, "nsight-python-csv", rows=len(whole), complete=not broken)
    note_doubts(connection, pass_name, _doubts(path.name, found, broken))


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
        return {"reason": f"the unit '{unit}' is not known"}
    value = float(number * Decimal(10) ** scale.exponent)
    if not math.isfinite(value):
        return {"reason": f"'{text}' is too large"}
    return {"value": value, "unit": scale.base if is_number else None}


def _doubts(name: str, found: Sequence[Mapping[str, object]], broken: int) -> Iterator[Doubt]:
    if broken:
        told = f"{broken} rows of {name} do not have as many cells as its header and were left out."
        yield ("ragged-rows", name, f"{told} The file was cut off or changed.")
    unknown = sorted({str(one["reason"]) for one in found if "the unit '" in str(one.get("reason"))})
    for reason in unknown:
        unit = reason.split("'")[1]
        told = f"{name} has metrics in '{unit}'. That unit is not known, so their values are left out"
        yield ("unknown-unit", unit, f"{told}; `original` has them as printed.")
