"""Quantities of a run, with how they were had: what `run.measured` gives to the operations of `inference`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Literal

from nsight_suite.errors import CannotAnswer, UsageError
from nsight_suite.reconciliation.inference import Measured
from nsight_suite.reconciliation.witnesses import Row

Ask = Callable[[str], Sequence[Row]]
POLICIES = {"flushed": "all", "warm": "none"}
# Each case and in what it can differ from another.
CASES = """
SELECT
    c.case_id,
    c.variant,
    c.submission,
    c.shape,
    e.kernels,
    e.logical_read_bytes + e.logical_write_bytes AS "declared bytes"
FROM variant_case AS c
LEFT JOIN expected AS e ON e.case_id = c.case_id
ORDER BY c.case_order
"""


@dataclass(frozen=True)
class Quantity:
    """A quantity: the median of a column of a named query over the rows of one case."""

    about: str
    query: str
    column: str
    unit: str
    method: str
    pass_name: str = ""
    scope: str = "invocation"
    metric: str = ""


_COUNTERS = {"query": "counters", "column": "value"}
QUANTITIES = {
    "completion": Quantity(
        "host completion, unprofiled, median", "host_completion", "median_ns", "ns", "host-clock", "timing"
    ),
    "completion_p10": Quantity(
        "10th percentile of it", "host_completion", "p10_ns", "ns", "quantile-of-repeats", "timing"
    ),
    "completion_p90": Quantity(
        "90th percentile of it", "host_completion", "p90_ns", "ns", "quantile-of-repeats", "timing"
    ),
    "profiled_completion": Quantity(
        "host completion under nsys, median",
        "profiler_overhead",
        "profiled_ns",
        "ns",
        "host-clock-under-nsys",
        "nsys",
    ),
    "event_interval": Quantity(
        "time between CUDA events around a batch, per invocation",
        *("batch", "event_interval_ns", "ns", "cuda-events", "timing", "batch"),
    ),
    "device_busy": Quantity(
        "time in which the device works, by nsys",
        "launch_split_invocations",
        "device_union_ns",
        "ns",
        "nsys-device",
        "nsys",
    ),
    "kernel_duration": Quantity(
        "duration of one kernel, by nsys", "kernel_time", "nsys_ns", "ns", "nsys-device", "nsys", "kernel"
    ),
    "ncu_duration": Quantity(
        "duration of one kernel or whole replay under ncu",
        **_COUNTERS,
        unit="ns",
        method="ncu-device",
        metric="gpu__time_duration.sum",
    ),
    "warps_active": Quantity(
        "warps resident, share of the most possible, under ncu",
        **_COUNTERS,
        unit="%",
        method="ncu-counter",
        metric="sm__warps_active.avg.pct_of_peak_sustained_active",
    ),
    "dram_read_bytes": Quantity(
        "bytes read from DRAM", "dram_bytes", "dram_read_bytes", "byte", "dram-counter"
    ),
    "dram_write_bytes": Quantity(
        "bytes written to DRAM", "dram_bytes", "dram_write_bytes", "byte", "dram-counter"
    ),
    "logical_bytes": Quantity(
        "bytes that the kernels must move, as declared", "limits", "logical_bytes", "byte", "declared"
    ),
    "occupancy_limit": Quantity(
        "blocks of one kernel that a multiprocessor can hold",
        "resources",
        "resident_blocks_limit",
        "block",
        "occupancy-limit",
    ),
    "early_starts": Quantity(
        "tasks that began before the stage ahead had ended",
        "early_starts",
        "early",
        "1",
        "early-start-count",
    ),
}


def measure(
    ask: Ask, case: Row, quantity: str, caches: Literal["", "flushed", "warm"] = "", kernel: str = ""
) -> Measured:
    """A quantity of a case (a row of CASES). `ask` gives the rows of a named query; see `Run.measured`."""
    if quantity not in QUANTITIES:
        raise UsageError(f"There is no quantity '{quantity}'.", f"Known: {', '.join(QUANTITIES)}.")
    if caches and caches not in POLICIES:
        raise UsageError(f"There is no cache policy '{caches}'.", f"Known: {', '.join(POLICIES)}.")
    asked = QUANTITIES[quantity]
    rows = [row for row in ask(asked.query) if _is_of(row, case) and row[asked.column] is not None]
    if asked.metric:
        rows = [row for row in rows if row["metric"] == asked.metric and row["unit"] == asked.unit]
    if rows and "cache_control" in rows[0]:
        if not caches:
            raise UsageError(
                f"{quantity} depends on the caches.", f"Say which: caches={' or '.join(POLICIES)}."
            )
        rows = [row for row in rows if row["cache_control"] == POLICIES[caches]]
    if rows and "kernel" in rows[0]:
        rows = _of_kernel(rows, quantity, kernel)
    if not rows:
        which = "".join(f", {detail}" for detail in (caches and f"{caches} caches", kernel) if detail)
        raise CannotAnswer(
            f"The run holds no {quantity} of {case['case_id']}{which}.", f"Look at `query RUN {asked.query}`."
        )
    first = rows[0]
    pass_name = asked.pass_name or first.get("pass", "")
    whole = first.get("workload") == "graph"
    return Measured(
        value=median_low(row[asked.column] for row in rows),
        unit=asked.unit,
        method=asked.method,
        caches=caches if "cache_control" in first else "",
        scope=first.get("scope")
        or ("whole-graph" if whole else "kernel" if "kernel" in first else asked.scope),
        case_id=case["case_id"],
        device_uuid=next(
            (row["uuid"] for row in ask("device") if row["pass"] == pass_name and row["uuid"]), ""
        ),
        traits={name: value for name, value in case.items() if name != "case_id"},
    )


def _is_of(row: Row, case: Row) -> bool:
    """Resources are told per variant and shape, anything else per case."""
    keys = ("case_id",) if "case_id" in row else ("variant", "shape")
    return all(row[key] == case[key] for key in keys)


def _of_kernel(rows: Sequence[Row], quantity: str, kernel: str) -> list[Row]:
    found = [row for row in rows if kernel in row["kernel"]]
    names = sorted({row["kernel"] for row in found})
    if len(names) > 1:
        raise UsageError(f"{quantity} is of one kernel.", f"Say which: kernel={' or '.join(names)}.")
    return found
