"""The printed cells of an ncu report → rows of `counter`, in one sweep of DuckDB over all of them.

Python decides what each *shape* of a cell is (ncu_numbers.py) and what each unit stands for (units.py): some
hundred decisions. The SQL files beside this module carry them out, and keep numbers exact: digits and a power
of ten become one DOUBLE.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nsight_suite.evidence.notes import Doubt
from nsight_suite.evidence.readers import ncu_numbers, units
from nsight_suite.evidence.store import Connection, append

if TYPE_CHECKING:
    from nsight_suite.evidence.readers.workloads import Metric, Workload

# Numbers that can only be whole show which number format a file has.
_WHOLE = re.compile(
    r"device__attribute_.*|launch__(grid|block)_(size|dim_[xyz])|launch__thread_count|(Grid|Block) Size|Threads"
)
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
_SHAPE = {"shape": "VARCHAR", "decimals": "INTEGER", "reason": "VARCHAR"}
_TABLES = ("ncu_workload", "ncu_metric", "ncu_cell", "ncu_shape", "ncu_launch")


@dataclass(frozen=True)
class Source:
    """The cells of one report, in a CSV file of (workload, metric, position, instance, text).

    requested   the metrics that were asked for, None for all
    may_repeat  whether one cell may stand in the file twice
    formats     the number formats of the cells, None when they must be found out
    """

    file: str
    pass_name: str
    cells: Path
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
        _run(connection, "ncu_cells", {"file": str(source.cells)})
        if source.may_repeat:
            _run(connection, "ncu_repeats")
        doubts = [*_read_shapes(connection, source)]
        _run(connection, "ncu_order")
        _run(connection, "ncu_counters")
        if source.requested is None:
            _run(connection, "ncu_gpus")
        return [*doubts, *_unknown_units(connection, source.file), *_missing(connection, source)]
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


def _read_shapes(connection: Connection, source: Source) -> Iterator[Doubt]:
    """Decide what each shape of a cell is; the doubts are about the file's number format."""
    found = connection.execute(
        "SELECT ncu_shape_of(text) AS shape, bool_or(coalesce(unit, '') <> '') "
        "FROM ncu_cell JOIN ncu_metric USING (metric_id) "
        "WHERE length(text) <= getvariable('longest_number') GROUP BY shape ORDER BY shape"
    ).fetchall()
    formats = _decided(connection, found) if source.formats is None else source.formats
    readings = {shape: _reading(shape, formats) for shape, _ in found}
    rows = ({"shape": shape, **asdict(reading)} for shape, reading in readings.items() if reading)
    _create(connection, "ncu_shape", _SHAPE, rows)
    unsure = {reading.reason for shape, reading in readings.items() if reading and not units.absence(shape)}
    for reason in sorted(reason for reason in unsure if reason):
        told = f"{reason}, so the numbers concerned are unknown. Export {source.file} again, with LC_ALL=C set."
        yield ("number-format", source.file, told[0].upper() + told[1:])


def _decided(connection: Connection, found: Sequence[tuple[str, bool]]) -> tuple[ncu_numbers.Format, ...]:
    whole = connection.execute(
        "SELECT DISTINCT text FROM ncu_cell JOIN ncu_metric USING (metric_id) "
        "WHERE regexp_full_match(metric, $whole) AND length(text) <= getvariable('longest_number')",
        {"whole": _WHOLE.pattern},
    ).fetchall()
    # Texts have no unit, and may look like numbers: "0,1,2" are the ids of units.
    sure = [shape for shape, has_unit in found if has_unit]
    evidence = sure if any(ncu_numbers.is_evidence(shape) for shape in sure) else [shape for shape, _ in found]
    return ncu_numbers.decide(evidence, (text for (text,) in whole))


def _reading(shape: str, formats: Sequence[ncu_numbers.Format]) -> ncu_numbers.Reading | None:
    if reason := units.absence(shape):
        return ncu_numbers.Reading(reason=reason)
    return ncu_numbers.read(shape, formats)


def _unknown_units(connection: Connection, file: str) -> Iterator[Doubt]:
    """One doubt per unit that a number has and nobody knows, and one when the file has no units."""
    rows = connection.execute(
        "SELECT unit, count(DISTINCT metric), min(metric) FROM ncu_cell JOIN ncu_metric USING (metric_id) "
        "JOIN ncu_shape ON shape = ncu_shape_of(text) "
        "WHERE exponent IS NULL AND decimals IS NOT NULL GROUP BY unit ORDER BY unit"
    ).fetchall()
    for unit, metrics, example in rows:
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


def _missing(connection: Connection, source: Source) -> Iterator[Doubt]:
    """One doubt per metric that was asked for and that workloads lack."""
    if not source.requested:
        return
    count, graphs = connection.execute(
        "SELECT count(*), count(*) FILTER (kind = 'graph') FROM ncu_workload"
    ).fetchall()[0]
    there = dict(
        connection.execute(
            "SELECT metric, count(DISTINCT workload_id) FROM ncu_cell JOIN ncu_metric USING (metric_id) "
            "WHERE section IS NULL GROUP BY metric"
        ).fetchall()
    )
    for metric in source.requested:
        # ncu writes these for graph workloads only.
        if metric.startswith("launch__graph_") and not graphs:
            continue
        if absent := count - there.get(metric, 0):
            yield (
                "missing-metric",
                metric,
                f"{source.file} lacks {metric} for {absent} of {count} workloads, so it is unknown "
                "there. The GPU or this ncu may not know it: see ncu --query-metrics.",
            )
