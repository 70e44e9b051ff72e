"""Which raw rows stand behind each row of a table: the samples of a median, the kernels that were counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Behind:
    """Raw rows behind the rows of one query.

    sql      SQL text, or the name of a query, that gives the raw rows of all its rows, in order
    keys     columns that both have and by which they go together; without any, they are those of all rows
    values   columns of the query that sum up a raw column, each with that column
    per      raw column that these values are divided by: invocations of a batch
    home     query whose rows show the same raw rows, so that they are not told twice; `home_keys` are the keys
             by which its rows are found, where they are not all of `keys`
    most     raw rows of one row that are printed; a command gives the others
    """

    title: str
    sql: str
    keys: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    per: str = ""
    home: str = ""
    home_keys: tuple[str, ...] = ()
    most: int = 60


_CASE = ("case_id",)
_TASKS = ("pass", "case_id", "invocation", "stage")
# An invocation may be thousands of tasks.
_FEW = 16
_EACH_TASK = (
    "SELECT pass, case_id, invocation, stage, job, tile, worker, multiprocessor, start_ns, end_ns FROM task "
    "ORDER BY ALL"
)
# What an invocation is split into; each column of launch_split is the median of the column of that name.
_SPLIT = (
    *("completion_ns", "api_ns", "queue_ns", "kernel_union_ns", "memory_ns", "gap_in_api_ns", "gap_idle_ns"),
    *("return_ns", "completion_remainder_ns", "range_ns"),
)


def _samples(condition: str, *columns: str) -> str:
    return f"SELECT {', '.join(columns)} FROM sample WHERE {condition} ORDER BY ALL"


_TIMING = "pass = 'timing' AND quantity = 'completion'"
_COMPLETIONS = _samples(_TIMING, "case_id", "round", "position", "duration_ns")

BEHIND: Mapping[str, tuple[Behind, ...]] = {
    "kernel_counts": (
        Behind("Invocations that nsys recorded", "invocations", _CASE),
        Behind(
            "Kernels that nsys recorded",
            "SELECT case_id, invocation, ordinal, kernel_id, short_name AS kernel, duration_ns "
            "FROM invocation_kernel ORDER BY ALL",
            _CASE,
        ),
        Behind(
            "Workloads that ncu profiled one by one",
            "SELECT case_id, invocation, ordinal, workload_id, short_name AS kernel FROM workload "
            "WHERE pass = 'ncu' AND workload = 'kernel' ORDER BY ALL",
            _CASE,
        ),
    ),
    "graph_nodes": (
        Behind(
            "Nodes by the graph API",
            "SELECT case_id, pass, ordinal, kind, name FROM graph_node ORDER BY ALL",
            _CASE,
        ),
        Behind("Nodes by the DOT dump", "SELECT case_id, pass, kind, nodes FROM graph_dot ORDER BY ALL", _CASE),
    ),
    "dram_bytes": (
        Behind(
            "Counters of each workload",
            "SELECT case_id, pass, "
            "CASE workload WHEN 'graph' THEN 'whole-graph' ELSE 'kernel-sum' END AS scope, "
            "invocation, ordinal, workload_id, short_name AS workload, dram_read_bytes, dram_write_bytes, "
            "l2_bytes FROM workload ORDER BY ALL",
            ("case_id", "pass", "scope"),
        ),
    ),
    "host_completion": (Behind("Every sample", _COMPLETIONS, _CASE, {"median_ns": "duration_ns"}),),
    "session_completion": (
        Behind(
            "Every sample of the first session",
            _samples(_TIMING, "case_id", "pass", "round", "position", "duration_ns"),
            ("case_id", "pass"),
            {"median_ns": "duration_ns"},
            home="host_completion",
            home_keys=_CASE,
        ),
        Behind(
            "Every sample of the second session",
            _samples(
                "pass = 'timing-2' AND quantity = 'completion'",
                *("case_id", "pass", "round", "position", "duration_ns"),
            ),
            ("case_id", "pass"),
            {"median_ns": "duration_ns"},
        ),
    ),
    "pilot_choices": (
        Behind(
            "Every sample of the pilot",
            _samples(
                "pass = 'pilot' AND quantity = 'completion'",
                *("pass", "case_id", "round", "position", "duration_ns"),
            ),
            ("pass", "case_id"),
            {"median_ns": "duration_ns"},
        ),
    ),
    "early_starts": (Behind("Tasks of the stage", _EACH_TASK, _TASKS, most=_FEW),),
    "task_coverage": (Behind("Tasks of the stage", _EACH_TASK, _TASKS, home="early_starts", most=_FEW),),
    "task_tail": (Behind("Tasks of the invocation", _EACH_TASK, _TASKS[:-1], most=_FEW),),
    "launch_split": (
        Behind(
            "Every profiled invocation",
            "launch_split_invocations",
            _CASE,
            {name: name for name in _SPLIT},
        ),
    ),
    "profiler_overhead": (
        Behind(
            "Samples unprofiled", _COMPLETIONS, _CASE, {"unprofiled_ns": "duration_ns"}, home="host_completion"
        ),
        Behind(
            "Samples under nsys",
            _samples(
                "pass = 'nsys' AND quantity = 'completion'", "case_id", "round", "position", "duration_ns"
            ),
            _CASE,
            {"profiled_ns": "duration_ns"},
        ),
    ),
    "batch": (
        Behind(
            "Every batch, not divided",
            "SELECT case_id, round, invocations, "
            "max(duration_ns) FILTER (quantity = 'batch_enqueue') AS enqueue_ns, "
            "max(duration_ns) FILTER (quantity = 'batch_completion') AS completion_ns, "
            "max(duration_ns) FILTER (quantity = 'batch_event_interval') AS event_interval_ns "
            "FROM sample WHERE pass = 'timing' AND quantity LIKE 'batch_%' AND invocations > 0 "
            "GROUP BY ALL ORDER BY ALL",
            _CASE,
            {name: name for name in ("enqueue_ns", "completion_ns", "event_interval_ns")},
            per="invocations",
        ),
    ),
    "first_replay": (
        Behind(
            "First replays",
            _samples("pass = 'timing' AND quantity = 'first_replay'", "case_id", "round", "duration_ns"),
            _CASE,
            {"first_replay_ns": "duration_ns"},
        ),
        Behind("Later replays", _COMPLETIONS, _CASE, {"steady_ns": "duration_ns"}, home="host_completion"),
    ),
    "graph_setup": (
        Behind(
            "Every repetition",
            "SELECT case_id, step, repeat, duration_ns FROM graph_setup WHERE pass = 'timing' ORDER BY ALL",
            ("case_id", "step"),
            {"median_ns": "duration_ns"},
        ),
    ),
    "limits": (
        Behind("Completions", _COMPLETIONS, _CASE, {"completion_ns": "duration_ns"}, home="host_completion"),
        Behind(
            "Device busy in each profiled invocation",
            "SELECT case_id, invocation, device_union_ns, launches FROM split_of_invocation ORDER BY ALL",
            _CASE,
            {"busy_ns": "device_union_ns"},
        ),
        Behind(
            "Copies that the floor is worked out from",
            _samples("pass = 'timing' AND quantity = 'device_copy'", "round", "bytes", "duration_ns"),
        ),
    ),
    "resources": (
        Behind(
            "Every kernel as each pass compiled it",
            "SELECT kernel, variant AS source, pass, architecture, registers_per_thread, static_shared_bytes, "
            "local_bytes_per_thread, cubin_sha256 FROM build ORDER BY ALL",
            most=240,
        ),
    ),
    "kernel_build_agreement": (
        Behind(
            "As each pass compiled it",
            "SELECT kernel, cubin_sha256, variant AS source, pass, registers_per_thread, static_shared_bytes, "
            "local_bytes_per_thread FROM build ORDER BY ALL",
            ("kernel", "cubin_sha256"),
        ),
    ),
    "occupancy": (
        Behind(
            "As each pass asked",
            "SELECT kernel, block_threads, dynamic_shared_bytes, cubin_sha256, pass, active_blocks, "
            "multiprocessors FROM occupancy ORDER BY ALL",
            ("kernel", "block_threads", "dynamic_shared_bytes", "cubin_sha256"),
        ),
    ),
    "same_binary": (
        Behind(
            "Launches prepared by each pass",
            "SELECT p.source, p.name AS kernel, p.pass, c.variant, count(*) AS launches, p.cubin_sha256 "
            "FROM planned_launch AS p JOIN variant_case AS c ON c.case_id = p.case_id "
            "GROUP BY ALL ORDER BY ALL",
            ("source", "kernel"),
        ),
    ),
}
