"""Evidence without sense but with every table full: small numbers, few names, NULL wherever it may be.

Equal times, equal names and missing values are common in it: a query that leaves the order of its rows to
chance, or that stumbles over a missing value, shows it here. The same seed gives the same rows.
"""

from __future__ import annotations

import random
from typing import Any

from nsight_suite.evidence.tables import Column, tables

Row = dict[str, Any]

PASSES = ("a", "b", "c")
ROWS = 120
# What a table may hold but once. A number alone counts on over all rows.
NUMBERED = {"range": "range_id", "launch": "launch_id", "kernel": "kernel_id", "path": "path_id"}
NUMBERED |= {"variant_case": "case_order"}
UNIQUE = {
    "run": ("run_id",),
    "variant_case": ("case_id",),
    "pass": ("pass",),
    "report": ("pass", "file"),
    "process": ("pass", "process"),
    "gpu": ("pass", "device"),
    "device": ("pass",),
    "device_state": ("pass", "moment"),
    "artifact": ("path",),
    "sanitizer": ("pass", "tool"),
    "counter": ("pass", "workload_id", "section", "metric", "instance"),
    "graph_origin": ("pass", "process", "kind", "id"),
}
WORDS = {
    "launch.kind": ("kernel", "graph", "memcpy", "memset"),
    "memory_operation.kind": ("memcpy", "memset"),
    "graph_origin.kind": ("graph", "executable graph", "node"),
    "style": ("push_pop", "start_end"),
    "format": ("nsys-sqlite", "nsys-parquet", "ncu-csv", "ncu-rep"),
    "graph_trace": ("node", "graph", None),
    "metric": (
        *("dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum", "lts__t_bytes.sum"),
        *("launch__occupancy_limit_warps", "launch__registers_per_thread", "launch__grid_size"),
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    ),
    "unit": ("byte", "ns", "%", "", "inst", None),
    "section": (None, None, None, "Occupancy"),
    "instance": (None, None, None, "0x10"),
    "code": ("no-kernel-table", "untimed-kernel"),
    "parameters": ("{}",),
}


def crowded(seed: int = 1) -> dict[str, list[Row]]:
    """Rows for every table of the evidence."""
    chance = random.Random(seed)
    made = {}
    for name, table in tables().items():
        rows = [{c.name: _value(f"{name}.{c.name}", c, chance) for c in table.columns} for _ in range(ROWS)]
        made[name] = [_forward(row) for row in rows]
    for name, column in NUMBERED.items():
        made[name] = [{**row, column: number} for number, row in enumerate(made[name])]
    for number, row in enumerate(made["path"]):
        # A tree, but for the first, which names a parent that is not there.
        row["parent_path_id"] = chance.choice([None, *range(number)]) if number else 999
    workloads = {number: _workload(chance) for number in range(10)}
    made["counter"] = [
        {**row, **workloads[row["workload_id"]]} for row in made["counter"] if row["workload_id"] in workloads
    ]
    for name, columns in UNIQUE.items():
        made[name] = list({tuple(row[column] for column in columns): row for row in made[name]}.values())
    return made


def _workload(chance: random.Random) -> Row:
    """What all counters of a workload have in common."""
    grid, block = chance.choice(("8,1,1", "16,1,1", None)), chance.choice(("64,1,1", None))
    found = {"pass": chance.choice(PASSES), "name": f"name{chance.randrange(3)}", "grid": grid, "block": block}
    found |= {"workload": "kernel", "process": 0, "device": 0, "context": 1, "stream": 7}
    return {**found, "range_name": f"case_id{chance.randrange(3)}", "invocation": 0, "ordinal": 0}


def _forward(row: Row) -> Row:
    """The row with its end after its start."""
    start, end = row.get("start_ns"), row.get("end_ns")
    return (
        row if start is None or end is None else {**row, "start_ns": min(start, end), "end_ns": max(start, end)}
    )


def _value(place: str, column: Column, chance: random.Random) -> Any:
    for words in (WORDS.get(place), WORDS.get(column.name), PASSES if column.name == "pass" else None):
        if words:
            return chance.choice(words)
    number = chance.randrange(20 if column.name.endswith("_ns") else 10)
    plain = {"BIGINT": number, "DOUBLE": number / 4, "BOOLEAN": number > 5}
    return None if chance.random() < 0.1 else plain.get(column.type, f"{column.name}{number % 3}")
