"""What both forms of an ncu report become: profiled workloads with their metrics → `counter` rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nsight_suite.evidence.notes import Doubt, note_doubts
from nsight_suite.evidence.readers import units
from nsight_suite.evidence.store import Connection, insert_rows

# What every report is asked for besides the protocol's metrics: how the workload was launched and replayed.
_ALWAYS = ("launch__", "profiler__replayer_passes")


@dataclass(frozen=True)
class Cell:
    """A metric's value as the report prints it. `unit` is None when the report does not tell units."""

    text: str
    unit: str | None


@dataclass(frozen=True)
class Workload:
    """One row of an ncu report: a kernel, or a whole graph replay."""

    workload_id: int
    name: str
    is_graph: bool
    range_name: str | None
    invocation: int | None
    metrics: Mapping[str, Cell] = field(repr=False)


def wanted(metric: str, requested: Sequence[str]) -> bool:
    """Whether a metric enters the evidence: exact names only, since .avg and .pct are other quantities."""
    return metric in requested or metric.startswith(_ALWAYS)


def insert(
    connection: Connection, path: Path, pass_name: str, workloads: Sequence[Workload], requested: Sequence[str]
) -> int:
    """Insert a report's counters, and a finding per requested metric that it lacks; count its workloads."""
    insert_rows(
        connection,
        "counter",
        (row for workload in workloads for row in _rows(workload, pass_name, requested)),
    )
    note_doubts(connection, pass_name, _missing(workloads, path, requested))
    connection.execute("SET VARIABLE pass_name = $name", {"name": pass_name})
    connection.execute(Path(__file__).with_name("ncu_order.sql").read_text(encoding="utf-8"))
    return len(workloads)


def _rows(workload: Workload, pass_name: str, requested: Sequence[str]) -> Iterator[dict[str, object]]:
    for metric, cell in workload.metrics.items():
        if wanted(metric, requested):
            yield {
                "pass": pass_name,
                "workload_id": workload.workload_id,
                "workload": "graph" if workload.is_graph else "kernel",
                "name": workload.name,
                "range_name": workload.range_name,
                "invocation": workload.invocation,
                "metric": metric,
                "original": cell.text,
                "original_unit": cell.unit,
                **_value(cell),
            }


def _value(cell: Cell) -> dict[str, object]:
    if reason := units.absence(cell.text):
        return {"reason": reason}
    printed = units.number(cell.text)
    if printed is None:
        if cell.unit:
            return {"reason": f"'{cell.text}' is not a number of {cell.unit}"}
        return {"text": cell.text, "unit": cell.unit}
    if cell.unit is None:
        return {"reason": "the report has no row of units, so the value's scale is unknown"}
    base = units.to_base(printed, cell.unit)
    if base is None:
        return {"reason": f"the unit '{cell.unit}' is not known"}
    return {"value": float(base[0]), "unit": base[1]}


def _missing(workloads: Sequence[Workload], path: Path, requested: Sequence[str]) -> Iterator[Doubt]:
    graphs = any(workload.is_graph for workload in workloads)
    for metric in requested:
        # ncu writes these for graph workloads only.
        if metric.startswith("launch__graph_") and not graphs:
            continue
        absent = sum(metric not in workload.metrics for workload in workloads)
        if absent:
            yield (
                "missing-metric",
                metric,
                f"{path.name} lacks {metric} for {absent} of {len(workloads)} workloads, so it is unknown "
                "there. The GPU or this ncu may not know it: see ncu --query-metrics.",
            )
