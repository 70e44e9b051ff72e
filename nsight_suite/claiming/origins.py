"""How the columns of the named queries were had: what `reconciliation.inference` must know to refuse.

A column that stands in no table here is told by the pass of its row; where that tells nothing either, its
method is empty, and operations that depend on it say so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

HOST, QUANTILE, NSYS, NCU = "host-clock", "quantile-of-repeats", "nsys-device", "ncu-device"
PROFILED, EVENTS, COUNTER, DRAM = "host-clock-under-nsys", "cuda-events", "ncu-counter", "dram-counter"
DECLARED, LIMIT, EARLY, TRACE = "declared", "occupancy-limit", "early-start-count", "device-trace"
PAIRED, RATE = "paired-ratio", "logical-rate"

_SPREAD = re.compile(r"(?:^|_)(?:p\d+|min|max|low|high|stddev)(?:_|$)")


@dataclass(frozen=True)
class Origin:
    """How a value was had; see `inference.Measured`. `pass_name` is the pass that it is from, where known."""

    method: str = ""
    scope: str = "invocation"
    caches: str = ""
    pass_name: str = ""


_HOST_QUERIES = (
    *(
        "host_completion",
        "session_completion",
        "empty_baseline",
        "first_replay",
        "graph_setup",
        "session_means",
    ),
    *("pilot_choices", "headline", "controls"),
)
_NSYS_KERNELS = ("kernel_summary", "kernel_by_path", "kernel_by_range", "graph_node_times", "timeline")
_TRACED = ("tasks", "task_tail", "multiprocessor_load", "task_violations", "before_last_summary")
_LIMIT_QUERIES = ("occupancy", "occupancy_limits", "resources", "reservation")
# Columns whose query alone does not tell.
_COLUMNS = {
    ("batch", "event_interval_ns"): Origin(EVENTS, "batch", pass_name="timing"),
    ("batch", "completion_ns"): Origin(HOST, "batch", pass_name="timing"),
    ("batch", "enqueue_ns"): Origin(HOST, "batch", pass_name="timing"),
    ("limits", "completion_ns"): Origin(HOST, pass_name="timing"),
    ("limits", "busy_ns"): Origin(NSYS, pass_name="nsys"),
    ("limits", "floor_ns"): Origin(DECLARED),
    ("limits", "logical_bytes"): Origin(DECLARED),
    ("limits", "logical_bytes_per_second"): Origin(RATE, pass_name="nsys"),
    ("profiler_overhead", "unprofiled_ns"): Origin(HOST, pass_name="timing"),
    ("profiler_overhead", "profiled_ns"): Origin(PROFILED, pass_name="nsys"),
    ("kernel_time", "nsys_ns"): Origin(NSYS, "kernel", pass_name="nsys"),
    ("kernel_time", "nsys_min_ns"): Origin(NSYS, "kernel", pass_name="nsys"),
    ("kernel_time", "nsys_max_ns"): Origin(NSYS, "kernel", pass_name="nsys"),
    ("kernel_time", "ncu_flushed_ns"): Origin(NCU, "kernel", "flushed", "ncu"),
    ("kernel_time", "ncu_warm_ns"): Origin(NCU, "kernel", "warm", "ncu-warm"),
    ("early_starts", "early"): Origin(EARLY),
    ("roofline_inputs", "duration_ns"): Origin(NCU, "kernel"),
    ("paired_speedup", "speedup"): Origin(PAIRED, pass_name="timing"),
    ("headline", "ratio"): Origin(PAIRED),
    ("controls", "relative"): Origin(PAIRED),
    ("profiler_overhead", "factor"): Origin("profiler-factor"),
}
_SPLIT_DEVICE = ("kernel_union_ns", "memory_ns", "device_union_ns", "kernel_sum_ns")
_SAMPLES = {"completion": HOST, "empty_sync": HOST, "batch_event_interval": EVENTS}
_CACHES = {"all": "flushed", "none": "warm"}


def is_spread(column: str) -> bool:
    """Whether a column holds a quantile or an extreme of repeats."""
    return bool(_SPREAD.search(column))


def origin_of(query: str, column: str, row: Mapping[str, Any], policies: Mapping[str, str]) -> Origin:
    """How the value of a row was had. `policies` is ncu's cache control, by pass."""
    pass_name = str(row.get("pass") or "")
    caches = _CACHES.get(str(row.get("cache_control") or policies.get(pass_name, "")), "")
    known = _COLUMNS.get((query, column))
    if known and known.method == NCU and not known.caches:
        known = replace(known, caches=caches, pass_name=pass_name)
    return (
        known
        or _of_own_query(query, column, row, pass_name)
        or _of_counter(query, column, row, Origin("", _scope(row, "kernel"), caches, pass_name))
        or Origin(
            _of_pass(query, pass_name) if column.endswith("_ns") else "",
            _scope(row, "invocation"),
            caches,
            pass_name,
        )
    )


def _of_own_query(query: str, column: str, row: Mapping[str, Any], pass_name: str) -> Origin | None:
    """Columns of queries that tell of one kind of evidence."""
    is_time = column.endswith("_ns")
    method = None
    if query in _HOST_QUERIES and is_time:
        method, pass_name = QUANTILE if is_spread(column) else HOST, pass_name or "timing"
    elif query == "paired_speedup":
        method, pass_name = QUANTILE if is_spread(column) else HOST if is_time else "", "timing"
    elif query.startswith("launch_split"):
        method, pass_name = NSYS if column in _SPLIT_DEVICE else PROFILED, "nsys"
    elif query in _LIMIT_QUERIES:
        method = _of_occupancy(column)
    elif query in _TRACED and is_time:
        method = TRACE
    elif query == "samples":
        method = _SAMPLES.get(str(row.get("quantity")), "")
        method = PROFILED if method == HOST and pass_name == "nsys" else method
    return None if method is None else Origin(method, pass_name=pass_name)


def _of_counter(query: str, column: str, row: Mapping[str, Any], told: Origin) -> Origin | None:
    """Columns of bytes and counters; `told` is what the row tells but the method."""
    if query == "traffic":
        return _of_traffic(column, row)
    if "metric" in row:
        return replace(told, method=_of_metric(str(row["metric"])))
    if column.startswith(("logical_", "reread_")):
        return Origin(DECLARED)
    if query in ("dram_bytes", "dram_by_kernel") or column == "dram_bytes":
        return replace(told, method=DRAM)
    return None


def _scope(row: Mapping[str, Any], usual: str) -> str:
    if row.get("scope"):
        return str(row["scope"])
    return "whole-graph" if row.get("workload") == "graph" else "kernel" if "kernel" in row else usual


def _of_occupancy(column: str) -> str:
    if column == "achieved_pct":
        return COUNTER
    limits = ("limit_", "resident_", "active_", "fewest_active", "most_active", "theoretical")
    return LIMIT if column.startswith(limits) else ""


def _of_traffic(column: str, row: Mapping[str, Any]) -> Origin:
    if column.startswith("flushed_"):
        return Origin(DRAM, "kernel-sum", "flushed", "ncu")
    if column.startswith("warm_"):
        return Origin(DRAM, str(row.get("warm_scope") or ""), "warm", "ncu-warm")
    return Origin(DECLARED)


def _of_metric(metric: str) -> str:
    if metric.startswith("gpu__time_duration"):
        return NCU
    if metric.startswith("dram__bytes"):
        return DRAM
    return LIMIT if "occupancy_limit" in metric or "maximum_warps" in metric else COUNTER


def _of_pass(query: str, pass_name: str) -> str:
    if pass_name.startswith("ncu"):
        return NCU
    if query in _NSYS_KERNELS or query.startswith(("memcpy", "memset")):
        return NSYS
    return PROFILED if pass_name.startswith("nsys") else ""
