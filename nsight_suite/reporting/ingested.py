"""Which queries the report of an ingested run shows, and what is behind them. Nothing is known of cases."""

from __future__ import annotations

from collections.abc import Mapping

from nsight_suite.reporting.behind import Behind
from nsight_suite.reporting.selection import Shown

# A report may hold millions of anything; a query gives them all.
MOST_ROWS = 50

INGESTED_TABLES = (
    Shown(
        "report_completeness",
        "What each report holds, and what it cannot tell",
        {
            "pass": "report",
            "format": "format",
            "complete": "complete",
            "kernels_told": "kernels told",
            "kernels": "kernels",
            "kernels_outside_ranges": "outside ranges",
            "launches": "launches",
            "launches_without_records": "without records",
            "replays_without_nodes": "replays without nodes",
            "ranges": "ranges",
            "open_ranges": "never closed",
            "workloads": "workloads, ncu",
            "missing_values": "values missing",
            "findings": "doubts",
        },
    ),
    Shown(
        "kernel_summary",
        "Kernels, by time on the device",
        {
            "kernel": "kernel",
            "pass": "report",
            "kernels": "runs",
            "total_ns": "together",
            "share": "share",
            "p50_ns": "median",
            "p10_ns": "p10",
            "p90_ns": "p90",
            "min_ns": "shortest",
            "max_ns": "longest",
        },
        only_if=bool,
    ),
    Shown(
        "range_summary",
        "NVTX ranges",
        {
            "range": "range",
            "pass": "report",
            "instances": "instances",
            "never_closed": "never closed",
            "kernels": "kernels inside",
            "host_total_ns": "on the host",
            "host_p50_ns": "median, host",
            "device_total_ns": "on the device",
            "projected_p50_ns": "median, projected",
            "projected_p90_ns": "p90, projected",
        },
        only_if=bool,
    ),
    Shown(
        "api_summary",
        "CUDA calls on the host",
        {
            "api": "call",
            "pass": "report",
            "kind": "kind",
            "calls": "calls",
            "total_ns": "together",
            "share": "share",
            "p50_ns": "median",
            "p90_ns": "p90",
            "max_ns": "longest",
        },
        only_if=bool,
    ),
    Shown(
        "memcpy_summary",
        "Copies",
        {
            "direction": "direction",
            "pass": "report",
            "copies": "copies",
            "bytes": "bytes",
            "total_ns": "together",
        },
        only_if=bool,
    ),
    Shown(
        "ncu_workloads",
        "Workloads that ncu profiled",
        {
            "kernel": "kernel",
            "pass": "report",
            "workload": "measured as",
            "range": "range",
            "grid": "grid",
            "block": "block",
            "duration_ns": "duration under ncu",
            "cache_control": "cache control",
            "metrics": "metrics",
        },
        only_if=bool,
    ),
)

_FEW = 16

INGESTED_BEHIND: Mapping[str, tuple[Behind, ...]] = {
    "kernel_summary": (
        Behind(
            "Executions",
            "SELECT pass, device, name AS kernel, kernel_id, stream, start_ns, "
            "end_ns - start_ns AS duration_ns FROM kernel ORDER BY ALL",
            ("pass", "device", "kernel"),
            most=_FEW,
        ),
    ),
    "range_summary": (
        Behind(
            "Instances",
            'SELECT pass, domain, name AS "range", style, range_id, thread, start_ns, '
            'end_ns - start_ns AS duration_ns FROM "range" ORDER BY ALL',
            ("pass", "domain", "range", "style"),
            most=_FEW,
        ),
    ),
    "memcpy_summary": (
        Behind(
            "Copies",
            "SELECT pass, device, direction, source_memory, target_memory, start_ns, "
            "end_ns - start_ns AS duration_ns, bytes FROM memory_operation WHERE kind = 'memcpy' ORDER BY ALL",
            ("pass", "device", "direction", "source_memory", "target_memory"),
            most=_FEW,
        ),
    ),
    "ncu_workloads": (
        Behind(
            "Metrics",
            "SELECT pass, workload_id, metric, instance, value, unit FROM counter ORDER BY ALL",
            ("pass", "workload_id"),
            most=_FEW,
        ),
    ),
}
