"""An `.ncu-rep`, read with NVIDIA's `ncu-report` package → counters. Values come in base units, unrounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nsight_suite.errors import BadReport
from nsight_suite.evidence.notes import note_doubts, note_report
from nsight_suite.evidence.readers.ncu_blocks import extent
from nsight_suite.evidence.readers.workloads import Cell, Workload, insert, wanted
from nsight_suite.evidence.store import Connection
from nsight_suite.protocol import DOMAIN


def read(connection: Connection, path: Path, pass_name: str, requested: Sequence[str] = ()) -> None:
    """Insert the counters of one report. `requested` are the metrics that the protocol asks for, by exact name.

    Raises BadReport when the report cannot be loaded, and when ncu-report is not installed.
    """
    try:
        import ncu_report
    except ImportError as error:
        raise BadReport(
            f"{path.name} needs the package ncu-report, which is not installed.",
            "Install it (in the checkout: pip install '.[ncu]'), or print the report as CSV: "
            f"ncu --import {path.name} --csv --page raw --print-units base --log-file {path.stem}.csv",
        ) from error
    try:
        announced = extent(path)
        # The package tells of damage by any exception of its own, or not at all.
        context = ncu_report.load_report(str(path))
        found = list(_workloads(ncu_report, context, requested))
    except Exception as error:
        raise BadReport(
            f"{path.name} cannot be loaded: {error}.", "It is cut off, or of a newer ncu than ncu-report knows."
        ) from error
    cut = announced is not None and not announced.whole
    if announced and cut:
        found = found[: announced.results]  # the package would load a cut result too
    if not found:
        raise BadReport(
            f"{path.name} holds no whole result of a profiled kernel.",
            "It is cut off, or no Nsight Compute report.",
        )
    count = insert(connection, path, pass_name, found, requested)
    complete = None if announced is None else not cut
    note_report(connection, pass_name, path, "ncu-rep", rows=count, complete=complete)
    if cut:
        told = f"{path.name} is cut off after {count} whole results. They are kept. Copy it again."
        note_doubts(connection, pass_name, [("truncated-report", path.name, told)])


def _workloads(ncu_report: Any, context: Any, requested: Sequence[str]) -> Iterator[Workload]:
    workload_id = 0
    for range_index in range(context.num_ranges()):
        results = context.range_by_idx(range_index)
        for index in range(results.num_actions()):
            action = results.action_by_idx(index)
            range_name, invocation = _innermost_range(ncu_report, action)
            yield Workload(
                workload_id=workload_id,
                name=action.name(action.NameBase_DEMANGLED),
                is_graph=action.workload_type() == action.WorkloadType_GRAPH,
                range_name=range_name,
                invocation=invocation,
                metrics={
                    name: _cell(action.metric_by_name(name))
                    for name in action.metric_names()
                    if wanted(name, requested)
                },
            )
            workload_id += 1


def _cell(metric: Any) -> Cell:
    value = metric.value()
    return Cell("" if value is None else str(value), metric.unit() or "")


def _innermost_range(ncu_report: Any, action: Any) -> tuple[str | None, int | None]:
    state = action.nvtx_state()
    for number in state.domains() if state else ():
        domain = state.domain_by_id(number)
        names = domain.push_pop_ranges()
        if domain.name() == DOMAIN and names:
            innermost = domain.push_pop_range(len(names) - 1)
            kinds = ncu_report.INvtxRange
            whole = (
                kinds.PayloadType_PAYLOAD_INT32,
                kinds.PayloadType_PAYLOAD_INT64,
                kinds.PayloadType_PAYLOAD_UINT32,
                kinds.PayloadType_PAYLOAD_UINT64,
            )
            has_payload = innermost.payload_type() in whole
            return innermost.name(), int(innermost.payload_as_uint64()) if has_payload else None
    return None, None
