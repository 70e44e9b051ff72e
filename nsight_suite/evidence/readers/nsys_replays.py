"""Whether an nsys capture left out what ran inside replays of CUDA graphs, told without reading all of it.

A whole reading tells it from its launches; what stands here costs some milliseconds, for questions about
kernels or ranges alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nsight_suite.evidence.readers.nsys_diagnosis import Origin
from nsight_suite.evidence.readers.nsys_export import BIGINT, Export, SqliteExport, find, strings_table
from nsight_suite.evidence.readers.nsys_records import OPERATIONS, process_of
from nsight_suite.evidence.readers.sqlite_pages import Batch, Cells
from nsight_suite.evidence.sqltext import quoted

_API = "CUPTI_ACTIVITY_KIND_RUNTIME"
_LAUNCHES = ("cudaGraphLaunch", "cuGraphLaunch")


def replays_untraced(export: Export, origin: Origin) -> bool:
    """Whether graphs were replayed whose kernels have no record: traced as a whole, or not at all.

    A capture that says it traced nodes is believed; that its records are all there is for a whole reading to
    tell.
    """
    whole = find(export, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
    if whole and export.size(whole):
        return True
    names = _names_of_launches(export)
    if not names or origin.graph_trace == "node":
        return False
    if origin.graph_trace == "graph":
        return True
    # Exports of some versions do not say how graphs were traced.
    return not _has_nodes(export) and _launches_without_records(export, names)


def _names_of_launches(export: Export) -> list[int]:
    """The ids of the strings that name a launch of a graph."""
    if isinstance(export, SqliteExport):
        if (table := strings_table(export)) is None:
            return []
        # Its version and default stream stand behind the name.
        like = " OR ".join(f"value GLOB '{name}' OR value GLOB '{name}_*'" for name in _LAUNCHES)
        return [row[0] for row in export.connection.execute(f"SELECT id FROM {quoted(table)} WHERE {like}")]
    api = find(export, _API)
    if api is None or "nameId" not in export.columns_of(api):
        return []
    seen = set().union(*export.mapped(api, {"nameId": BIGINT}, lambda batch, _: _distinct(batch["nameId"])))
    return [number for number, text in export.strings(seen) if text.partition("_")[0] in _LAUNCHES]


def _has_nodes(export: Export) -> bool:
    """Whether any kernel tells the graph node that it ran for."""
    table = find(export, OPERATIONS[0])
    if table is None or "graphNodeId" not in export.columns_of(table):
        return False
    if isinstance(export, SqliteExport):
        found = f"SELECT 1 FROM {quoted(table)} WHERE graphNodeId IS NOT NULL LIMIT 1"
        return export.connection.execute(found).fetchone() is not None
    return any(
        export.mapped(table, {"graphNodeId": BIGINT}, lambda batch, _: bool(_valid(batch["graphNodeId"]).any()))
    )


def _launches_without_records(export: Export, names: Sequence[int]) -> bool:
    """Whether graphs were launched, and no device record carries the correlation id of such a launch."""
    columns = dict.fromkeys(("nameId", "correlationId", "globalTid"), BIGINT)

    def launched(batch: Batch, first: int) -> set[tuple[int, int]]:
        here = np.isin(batch["nameId"].values, names)
        for name in columns:
            here &= _valid(batch[name])
        threads, ids = batch["globalTid"].values[here].tolist(), batch["correlationId"].values[here].tolist()
        return {(process_of(thread), number) for thread, number in zip(threads, ids, strict=True)}

    launches = set().union(*export.mapped(find(export, _API) or "", columns, launched))
    wanted = np.array([number for _, number in launches], np.int64)

    def recorded(batch: Batch, first: int) -> bool:
        here = _valid(batch["correlationId"]) & np.isin(batch["correlationId"].values, wanted)
        processes, ids = batch["globalPid"].values[here].tolist(), batch["correlationId"].values[here].tolist()
        return not launches.isdisjoint(zip(processes, ids, strict=True))

    tables = (find(export, table) or "" for table in OPERATIONS)
    of_record = dict.fromkeys(("correlationId", "globalPid"), BIGINT)
    return bool(launches) and not any(any(export.mapped(table, of_record, recorded)) for table in tables)


def _distinct(cells: Cells) -> set[int]:
    return set(np.unique(cells.values if cells.valid is None else cells.values[cells.valid]).tolist())


def _valid(cells: Cells) -> NDArray[np.bool_]:
    return np.ones(len(cells.values), np.bool_) if cells.valid is None else cells.valid
