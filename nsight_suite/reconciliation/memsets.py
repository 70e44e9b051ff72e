"""Memsets: declared ↔ planned ↔ graph API ↔ nsys, per invocation; nodes of every kind: graph API ↔ DOT dump."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from nsight_suite.reconciliation.amounts import some
from nsight_suite.reconciliation.findings import DISAGREE, Finding
from nsight_suite.reconciliation.witnesses import Evidence, Row

_SOURCES = ("graph_nodes", "invocations", "planned_launches")


def count(evidence: Evidence, case: Row, family: str) -> Iterator[Finding]:
    """A memset too few or too many by any witness."""
    case_id = case["case_id"]
    seen = _by_nsys(evidence, case)
    api = _by_api(evidence, case)
    planned = _planned(evidence, case_id)
    declared = evidence.one("kernel_counts", case_id).get("expected_memsets")
    wanted = declared if declared is not None else planned
    if wanted is None:
        usual = Counter(row["memsets"] for row in seen)
        wanted = max(usual, key=lambda memsets: usual[memsets], default=None)
    wrong = [row for row in seen if row["memsets"] != wanted]
    if wanted is None or (not wrong and planned in (None, wanted) and set(api) <= {wanted}):
        return
    witnesses: dict[str, set[int | None]] = {
        "declared": {declared},
        "planned": {planned},
        "by the graph API": set(api),
        "by nsys": {row["memsets"] for row in seen},
    }
    told = [f"{_either(numbers)} {who}" for who, numbers in witnesses.items() if numbers - {None}]
    where = f"; by nsys in invocation {some([str(row['invocation']) for row in wrong])}" if wrong else ""
    yield Finding(
        "memset-count",
        family,
        DISAGREE,
        case_id,
        f"memsets per invocation: {', '.join(told)}{where}",
        {
            "expected_memsets": wanted,
            "planned_memsets": planned,
            "api_min": min(api, default=None),
            "api_max": max(api, default=None),
            "invocations": len(wrong),
        },
        "A memset was left out or added, so that a kernel may find what the invocation before it left; or a "
        "record is lost.",
        "Look at `query RUN graph_nodes` and `query RUN planned_launches`; correct the driver, or memset_nodes "
        "in expected.sql.",
        _SOURCES,
    )


def dot(evidence: Evidence, case: Row, family: str) -> Iterator[Finding]:
    """The driver's own dump of the graph tells other nodes than the graph API."""
    row = evidence.one("graph_nodes", case["case_id"])
    seen = evidence.of("evidence_rows", case["case_id"])
    dumped = [one["pass"] for one in seen if one["origin"] == "graph_dot"]
    if row.get("dot_agrees") is not False or evidence.gap(case, ("graph_node", "graph_dot"), dumped):
        return
    yield Finding(
        "dot-differs",
        family,
        DISAGREE,
        case["case_id"],
        f"the graph's DOT dump tells {row['dot_kinds']}, the graph API {row['api_kinds']}",
        {"dot_nodes": row["dot_nodes"], "api_nodes": row["api_nodes"]},
        "Two witnesses of one graph contradict one another: one of the listings is not of it, or was changed.",
        "Look at `query RUN graph_nodes`, and capture the pass validate again.",
        ("graph_nodes",),
    )


def _by_nsys(evidence: Evidence, case: Row) -> Sequence[Row]:
    if evidence.gap(case, ("memory_operation", "launch", "range"), ("nsys",)):
        return ()
    return evidence.of("invocations", case["case_id"])


def _by_api(evidence: Evidence, case: Row) -> list[int]:
    row = evidence.one("graph_nodes", case["case_id"])
    if not row or evidence.gap(case, ("graph_node",)):
        return []
    return sorted({row[name] for name in ("api_memsets_min", "api_memsets_max") if row[name] is not None})


def _planned(evidence: Evidence, case_id: str) -> int | None:
    """As the drivers prepared it; None where they tell of no launch."""
    rows = evidence.of("planned_launches", case_id)
    return len({row["ordinal"] for row in rows if row["kind"] == "memset"}) if rows else None


def _either(numbers: set[int | None]) -> str:
    return " or ".join(map(str, sorted(number for number in numbers if number is not None)))
