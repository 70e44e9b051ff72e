"""The printed cells of an ncu report → rows of `counter`, in sweeps of DuckDB over one file of cells at a time.

Python decides what each *shape* of a cell is (ncu_numbers.py) and what each unit stands for (units.py): some
hundred decisions. The SQL files beside this module carry them out, and keep numbers exact: digits and a power
of ten become one DOUBLE.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from nsight_suite.evidence.notes import Doubt
from nsight_suite.evidence.readers import ncu_numbers, units
from nsight_suite.evidence.readers.ncu_shapes import Shapes
from nsight_suite.evidence.store import Connection, append

if TYPE_CHECKING:
    from nsight_suite.evidence.readers.workloads import Metric, Workload

# A shape whose digits stay when these two are taken out.
_PLAIN = re.compile(f"[0{ncu_numbers.ZERO}.,]+")
_WORKLOAD = {
    **dict.fromkeys(
        ("workload_id", "process", "device", "context", "stream", "invocation", "ordinal"), "BIGINT"
    ),
    **dict.fromkeys(("name", "grid", "block", "kind", "range_name"), "VARCHAR"),
}
_METRIC = {
    **dict.fromkeys(("metric_id", "exponent"), "INTEGER"),
    **dict.fromkeys(("section", "metric", "unit", "base"), "VARCHAR"),
}
_SHAPE = {"shape_id": "INTEGER", "plain": "BOOLEAN", "decimals": "INTEGER", "reason": "VARCHAR"}
# Each of so many units is told by name.
_MOST_UNITS = 20
_TABLES = ("ncu_workload", "ncu_metric", "ncu_cell", "ncu_shape", "ncu_launch")


@dataclass(frozen=True)
class Source:
    """The cells of one report.

    cells       CSV files of (workload, metric, shape, position, instance, text), no workload in two of them
    shapes      the shapes of the cells
    requested   the metrics that were asked for, None for all
    may_repeat  whether one cell may stand in a file twice
    formats     the number formats of the cells, None when they must be found out
    """

    file: str
    pass_name: str
    cells: Sequence[Path]
    shapes: Shapes
    requested: Sequence[str] | None
    may_repeat: bool
    formats: Sequence[ncu_numbers.Format] | None


def insert_counters(
    connection: Connection, source: Source, workloads: Iterable[Workload], metrics: Mapping[Metric, int]
) -> list[Doubt]:
    """Insert the counters of a report, and with all metrics its GPUs; gives what is doubtful in them."""
    try:
        _create(connection, "ncu_workload", _WORKLOAD, (asdict(workload) for workload in workloads))
        _create(connection, "ncu_metric", _METRIC, (_scaled(*item) for item in metrics.items()))
        connection.execute("SET VARIABLE pass_name = $name", {"name": source.pass_name})
        _run(connection, "ncu_functions")
        doubts = [*_read_shapes(connection, source)]
        _run(connection, "ncu_order")
        met = _Met()
        for file in source.cells:
            _load(connection, file)
            if source.may_repeat:
                _run(connection, "ncu_repeats")
            _run(connection, "ncu_counters")
            met.look(connection, source)
        if source.requested is None:
            _run(connection, "ncu_gpus")
        return [*doubts, *_unknown_units(met, source.file), *_missing(connection, met, source)]
    finally:
        for table in _TABLES:
            connection.execute(f"DROP TABLE IF EXISTS {table}")


def _create(
    connection: Connection, table: str, columns: Mapping[str, str], rows: Iterable[Mapping[str, object]]
) -> None:
    connection.execute(f"CREATE TEMP TABLE {table} ({', '.join(f'{n} {kind}' for n, kind in columns.items())})")
    append(connection, table, columns, rows)


def _run(connection: Connection, name: str, parameters: Mapping[str, object] | None = None) -> None:
    connection.execute(Path(__file__).with_name(f"{name}.sql").read_text(encoding="utf-8"), parameters or {})


def _scaled(metric: Metric, number: int) -> dict[str, object]:
    known = None if metric.unit is None else units.scale(metric.unit)
    row: dict[str, object] = {"metric_id": number, "section": metric.section, "metric": metric.name}
    scaled = {} if known is None else {"exponent": known.exponent, "base": known.base}
    return {**row, "unit": metric.unit, **scaled}


def _load(connection: Connection, file: Path) -> None:
    """Put the cells of one file in the place of those of another."""
    connection.execute("DROP TABLE IF EXISTS ncu_cell")
    _run(connection, "ncu_cells", {"file": str(file)})


def _read_shapes(connection: Connection, source: Source) -> Iterator[Doubt]:
    """Decide what each shape of a cell is; the doubts are about the file's number format."""
    shapes = source.shapes
    formats = _decided(shapes) if source.formats is None else source.formats
    readings = {shape: _reading(shape, formats) for shape in sorted(shapes.numbers)}
    rows = (
        {
            "shape_id": shapes.numbers[shape],
            "plain": _PLAIN.fullmatch(shape) is not None,
            **asdict(reading),
        }
        for shape, reading in readings.items()
        if reading
    )
    _create(connection, "ncu_shape", _SHAPE, rows)
    unsure = {reading.reason for shape, reading in readings.items() if reading and not units.absence(shape)}
    for reason in sorted(reason for reason in unsure if reason):
        told = f"{reason}, so the numbers concerned are unknown. Export {source.file} again, with LC_ALL=C set."
        yield ("number-format", source.file, told[0].upper() + told[1:])


def _decided(shapes: Shapes) -> tuple[ncu_numbers.Format, ...]:
    # Texts have no unit, and may look like numbers: "0,1,2" are the ids of units.
    sure = [shape for shape, number in shapes.numbers.items() if number in shapes.with_unit]
    evidence = sure if any(ncu_numbers.is_evidence(shape) for shape in sure) else shapes.numbers
    return ncu_numbers.decide(evidence, shapes.whole)


def _reading(shape: str, formats: Sequence[ncu_numbers.Format]) -> ncu_numbers.Reading | None:
    if reason := units.absence(shape):
        return ncu_numbers.Reading(reason=reason)
    return ncu_numbers.read(shape, formats)


@dataclass
class _Met:
    """What doubts need to know of all files of cells.

    unscaled   metrics with numbers whose unit is not known, by that unit
    workloads  how many workloads have a metric that was asked for
    """

    unscaled: dict[str | None, set[str]] = field(default_factory=dict)
    workloads: Counter[str] = field(default_factory=Counter)

    def look(self, connection: Connection, source: Source) -> None:
        """Take note of the cells that are loaded."""
        for unit, metric in connection.execute(
            "SELECT DISTINCT unit, metric FROM ncu_cell JOIN ncu_metric USING (metric_id) "
            "JOIN ncu_shape USING (shape_id) WHERE exponent IS NULL AND decimals IS NOT NULL"
        ).fetchall():
            self.unscaled.setdefault(unit, set()).add(metric)
        if source.requested:
            counted = connection.execute(
                "SELECT metric, count(DISTINCT workload_id) FROM ncu_cell JOIN ncu_metric USING (metric_id) "
                "WHERE section IS NULL GROUP BY metric"
            ).fetchall()
            self.workloads.update(dict(counted))


def _unknown_units(met: _Met, file: str) -> Iterator[Doubt]:
    """A doubt for each unit that a number has and nobody knows, and one when the file has no units."""
    unscaled = sorted(met.unscaled, key=lambda unit: (unit is not None, unit or ""))
    for unit in unscaled[:_MOST_UNITS]:
        metrics, example = len(met.unscaled[unit]), min(met.unscaled[unit])
        if unit is None:
            told = f"{file} has no row of units, so the scale of its {metrics} metrics is unknown."
            yield ("no-units", file, f"{told} Export it again with the units.")
        else:
            told = f"{file} has {metrics} metrics in '{unit}', such as {example}. That unit is not known"
            yield (
                "unknown-unit",
                unit,
                f"{told}, so their values are left out; `original` has them as printed.",
            )
    if (more := len(met.unscaled) - _MOST_UNITS) > 0:
        yield ("unknown-unit", file, f"{file} has metrics in {more} more units that are not known.")


def _missing(connection: Connection, met: _Met, source: Source) -> Iterator[Doubt]:
    """One doubt per metric that was asked for and that workloads lack."""
    if not source.requested:
        return
    count, graphs = connection.execute(
        "SELECT count(*), count(*) FILTER (kind = 'graph') FROM ncu_workload"
    ).fetchall()[0]
    for metric in source.requested:
        # ncu writes these for graph workloads only.
        if metric.startswith("launch__graph_") and not graphs:
            continue
        if absent := count - met.workloads[metric]:
            yield (
                "missing-metric",
                metric,
                f"{source.file} lacks {metric} for {absent} of {count} workloads, so it is unknown "
                "there. The GPU or this ncu may not know it: see ncu --query-metrics.",
            )
