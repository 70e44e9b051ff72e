"""Which named queries a report shows, and which of their columns under which heading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Shown:
    """One table of the report.

    `columns` maps the query's columns to headings, in order. `noted` names columns whose distinct values are
    printed below the table instead, the last of them being the note and the others what it is about. `only_if`
    says of a row whether it is worth the table: without any such row the table is left out.
    """

    query: str
    title: str
    columns: Mapping[str, str]
    noted: tuple[str, ...] = ()
    only_if: Callable[[Mapping[str, Any]], bool] | None = None


_CASE = {"case_id": "case"}

KEY_TABLES = (
    Shown(
        "kernel_counts",
        "Kernels per invocation",
        {
            **_CASE,
            "expected_kernels": "declared",
            "kernels_per_invocation": "nsys",
            "nsys_invocations": "invocations, nsys",
            "ncu_min": "ncu, fewest",
            "ncu_max": "ncu, most",
            "ncu_invocations": "invocations, ncu",
            "expected_memsets": "memsets declared",
            "nsys_memsets_min": "memsets, nsys, fewest",
            "nsys_memsets_max": "memsets, nsys, most",
        },
    ),
    Shown(
        "graph_nodes",
        "Nodes of each CUDA graph",
        {
            **_CASE,
            "expected_nodes": "declared",
            "api_nodes": "graph API",
            "dot_nodes": "DOT dump",
            "nsys_nodes_per_replay": "nsys, per replay",
            "other_nodes": "nodes of other kinds",
            "expected_memsets": "memsets declared",
            "api_memsets": "memsets, graph API",
            "dot_memsets": "memsets, DOT dump",
            "nsys_memsets_per_replay": "memsets, nsys, per replay",
        },
    ),
    Shown(
        "planned_launches",
        "Launches as the drivers prepared them",
        {
            **_CASE,
            "ordinal": "launch",
            "kind": "kind",
            "name": "name",
            "grid": "grid",
            "block": "block",
            "dynamic_shared_bytes": "dynamic shared",
            "cooperative": "cooperative",
            "bytes": "bytes set",
            "passes": "passes",
        },
        only_if=bool,
    ),
    Shown(
        "dram_bytes",
        "DRAM bytes per invocation",
        {
            **_CASE,
            "cache_control": "cache control",
            "scope": "measured as",
            "dram_read_bytes": "DRAM reads",
            "dram_read_min_bytes": "fewest reads",
            "dram_read_max_bytes": "most reads",
            "logical_read_bytes": "logical reads",
            "read_ratio": "read ratio",
            "dram_write_bytes": "DRAM writes",
            "dram_write_min_bytes": "fewest writes",
            "dram_write_max_bytes": "most writes",
            "logical_write_bytes": "logical writes",
            "write_ratio": "write ratio",
        },
        noted=("cache_control", "scope", "caveat"),
    ),
    Shown(
        "host_completion",
        "Host completion, unprofiled",
        {
            **_CASE,
            "median_ns": "median",
            "p10_ns": "p10",
            "p90_ns": "p90",
            "min_ns": "smallest",
            "max_ns": "largest",
            "samples": "samples",
        },
    ),
    Shown(
        "session_completion",
        "Host completion, session by session",
        {
            **_CASE,
            "pass": "session",
            "uuid": "GPU",
            "median_ns": "median",
            "p10_ns": "p10",
            "p90_ns": "p90",
            "samples": "samples",
            "mean_of_medians_ns": "mean of the medians",
        },
        only_if=lambda row: row["sessions"] > 1,
    ),
    Shown(
        "pilot_choices",
        "What the pilot chose",
        {
            "group_name": "choice",
            "shape": "shape",
            "submission": "submission",
            "variant": "candidate",
            "median_ns": "median",
            "rounds": "samples",
            "chosen": "chosen",
            "before_sessions": "before the sessions",
        },
        only_if=bool,
    ),
    Shown(
        "early_starts",
        "Tasks that began before the stage before had ended",
        {
            **_CASE,
            "invocation": "invocation",
            "stage": "stage",
            "tasks": "tasks",
            "early": "early",
            "first_start_ns": "first start",
            "last_end_ns": "last end",
        },
        only_if=bool,
    ),
    Shown(
        "task_coverage",
        "Tasks planned and recorded",
        {
            **_CASE,
            "invocation": "invocation",
            "stage": "stage",
            "planned": "planned",
            "recorded": "recorded",
            "missing": "missing",
            "repeated": "repeated",
            "unplanned": "unplanned",
            "backwards": "backwards",
        },
        only_if=bool,
    ),
    Shown(
        "task_tail",
        "Tasks of a traced invocation together",
        {
            **_CASE,
            "invocation": "invocation",
            "tasks": "tasks",
            "workers": "workers",
            "multiprocessors": "multiprocessors",
            "span_ns": "span",
            "busy_ns": "busy, all tasks",
            "tail_ns": "tail",
            "tail_share": "tail / span",
        },
        only_if=bool,
    ),
    Shown(
        "launch_split",
        "Where the completion of a profiled invocation goes",
        {
            **_CASE,
            "completion_ns": "completion",
            "api_ns": "launching",
            "queue_ns": "queue",
            "kernel_union_ns": "kernels",
            "memory_ns": "copies, fills",
            "gap_in_api_ns": "gaps, launching",
            "gap_idle_ns": "gaps, idle",
            "return_ns": "synchronise",
            "completion_remainder_ns": "remainder",
            "range_ns": "its range",
            "launches": "launching calls",
        },
    ),
    Shown(
        "profiler_overhead",
        "What nsys costs",
        {
            **_CASE,
            "unprofiled_ns": "unprofiled",
            "profiled_ns": "under nsys",
            "extra_ns": "extra",
            "factor": "factor",
        },
    ),
    Shown(
        "batch",
        "Invocations back to back, each",
        {
            **_CASE,
            "enqueue_ns": "enqueue",
            "completion_ns": "completion",
            "event_interval_ns": "event interval",
            "invocations": "in a batch",
            "batches": "batches",
        },
    ),
    Shown(
        "first_replay",
        "First replay of each graph",
        {**_CASE, "first_replay_ns": "first", "steady_ns": "steady", "ratio": "ratio", "samples": "samples"},
    ),
    Shown(
        "graph_setup",
        "Making each graph ready",
        {
            **_CASE,
            "step": "step",
            "median_ns": "median",
            "min_ns": "smallest",
            "max_ns": "largest",
            "repeats": "repeats",
        },
    ),
    Shown(
        "limits",
        "Against a copy of as many bytes",
        {
            **_CASE,
            "logical_bytes": "logical bytes",
            "floor_ns": "copy floor",
            "busy_ns": "device busy",
            "completion_ns": "completion",
            "floor_over_busy": "floor / busy",
            "busy_over_completion": "busy / completion",
            "answer": "so it is",
        },
    ),
    Shown(
        "resources",
        "Resources of each kernel",
        {
            "kernel": "kernel",
            "variant": "variant",
            "shape": "shape",
            "build_registers": "registers, assembler",
            "nsys_registers": "nsys",
            "ncu_registers": "ncu",
            "static_shared_bytes": "static shared",
            "dynamic_shared_bytes": "dynamic shared",
            "local_bytes": "local, per thread",
            "threads_per_block": "threads a block",
            "blocks": "blocks",
            "resident_blocks_limit": "resident blocks, at most",
            "bound_by": "bound by",
        },
    ),
    Shown(
        "kernel_build_agreement",
        "Registers and memory of each compiled kernel, by three tools",
        {
            "kernel": "kernel",
            "variant": "source",
            "build_registers": "registers, assembler",
            "nsys_registers": "registers, nsys",
            "ncu_registers": "registers, ncu",
            "build_static_bytes": "static shared, assembler",
            "nsys_static_bytes": "static shared, nsys",
            "ncu_static_bytes": "static shared, ncu",
            "build_local_bytes": "local, assembler",
            "nsys_local_bytes": "local, nsys",
            "agree": "agree",
        },
    ),
    Shown(
        "occupancy",
        "Blocks that fit, by the occupancy API",
        {
            "kernel": "kernel",
            "block_threads": "threads a block",
            "dynamic_shared_bytes": "dynamic shared",
            "active_blocks": "blocks, per multiprocessor",
            "resident_blocks": "blocks, whole device",
            "passes": "passes",
        },
        only_if=bool,
    ),
    Shown(
        "same_binary",
        "Variants of the same machine code",
        {
            "kernel": "kernel",
            "source": "source",
            "variants": "variants",
            "cases": "cases",
            "cubins": "machine codes",
            "same_binary": "the same",
        },
        only_if=lambda row: row["same_binary"] is not None,
    ),
    Shown(
        "unattributed",
        "What ran outside every measured invocation",
        {
            "name": "name",
            "kind": "kind",
            "place": "place",
            "records": "records",
            "total_ns": "time",
            "share": "share of its kind",
        },
    ),
)

ENVIRONMENT = (
    Shown("tools", "Programs and libraries", {"name": "name", "version": "version", "passes": "passes"}),
    Shown(
        "device",
        "The GPU and its state, as found",
        {
            "pass": "pass",
            "moment": "moment",
            "name": "name",
            "driver_version": "driver",
            "sm_clock_mhz": "SM clock, MHz",
            "memory_clock_mhz": "memory clock, MHz",
            "power_mw": "power, mW",
            "temperature_c": "temperature, °C",
            "throttle_reasons": "throttling",
            "ecc": "ECC",
        },
    ),
    Shown(
        "passes",
        "Passes, each a process of its own",
        {
            "pass": "pass",
            "state": "state",
            "duration_ns": "duration",
            "cases": "cases",
            "cache_control": "cache control",
            "clock_control": "clock control",
            "graph_trace": "graph trace",
            "graph_profiling": "graph profiling",
            "reason": "reason",
        },
    ),
    Shown(
        "sources",
        "Reports that the evidence was read from",
        {
            "file": "file",
            "format": "format",
            "tool_version": "written by version",
            "schema_version": "schema",
            "rows": "records",
            "complete": "complete",
            "sha256": "SHA-256",
        },
    ),
)

CHECKS = (
    Shown(
        "validation_counts",
        "Arrays checked",
        {
            "pass": "pass",
            "variant": "variant",
            "cases": "cases",
            "fixtures": "inputs",
            "arrays": "arrays",
            "arrays_checked": "arrays checked",
            "checks": "checks",
            "held_out": "held out",
            "failed": "failed",
        },
    ),
    Shown("sanitizer", "compute-sanitizer", {"tool": "tool", "errors": "errors", "summary": "its own summary"}),
)

DOUBTS = (
    Shown(
        "findings",
        "What the readers of the reports could not have",
        {
            "code": "code",
            "pass": "pass",
            "case_id": "case",
            "subject": "subject",
            "reason": "why, and what to do",
        },
        only_if=bool,
    ),
)
