"""What ncu's rules say of a workload → `advice`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from nsight_suite.evidence.paths import without_paths
from nsight_suite.evidence.readers import units
from nsight_suite.evidence.readers.workloads import LONGEST_CELL
from nsight_suite.evidence.store import Connection, insert_rows


@dataclass(frozen=True)
class Advice:
    """One rule's message. `speedup` is printed in percent, and empty when the rule estimates none."""

    workload_id: int
    section: str
    rule: str
    kind: str
    text: str
    speedup: str


def insert_advice(connection: Connection, pass_name: str, advice: Iterable[Advice]) -> None:
    insert_rows(
        connection,
        "advice",
        (
            {
                "pass": pass_name,
                "workload_id": one.workload_id,
                "section": one.section or None,
                "rule": one.rule or None,
                "kind": one.kind or None,
                "text": without_paths(one.text[:LONGEST_CELL]),
                "estimated_speedup": _finite(one.speedup),
            }
            for one in advice
        ),
    )


def _finite(printed: str) -> float | None:
    number = units.number(printed)
    return float(number) if number is not None and math.isfinite(float(number)) else None
