"""Counts: declared kernels, memsets and nodes ↔ the graph API ↔ its DOT dump ↔ nsys ↔ ncu, per invocation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from nsight_suite.reconciliation import memsets
from nsight_suite.reconciliation.amounts import counted, some
from nsight_suite.reconciliation.findings import AGREE, DISAGREE, NOT_DECLARED, Finding
from nsight_suite.reconciliation.witnesses import Evidence, Row

FAMILY = "counts"
_NSYS_TABLES = ("variant_case", "range", "kernel", "launch")
_SOURCES = ("kernel_counts", "graph_nodes", "invocations", "lost_records")


def judge(evidence: Evidence) -> Iterator[Finding]:
    told = {row["case_id"] for row in evidence.rows["declared"]}
    without = any(gap.code == "nothing-declared" for gap in evidence.gaps)
    for case in evidence.cases:
        if evidence.asked("nsys") and (gap := evidence.gap(case, _NSYS_TABLES, ("nsys",))):
            yield gap.finding(FAMILY, case["case_id"])
            continue
        faults = [fault for fault in (_by_nsys(evidence, case), _by_ncu(evidence, case)) if fault]
        # A lost kernel is also a lost node; it is told once.
        faults = faults or [fault for fault in (_by_graph(evidence, case),) if fault]
        faults += memsets.count(evidence, case, FAMILY)
        # What the API has too many or too few the DOT dump does not have.
        faults = faults or [*memsets.dot(evidence, case, FAMILY)]
        yield from faults or [_agreement(evidence, case, declared=without or case["case_id"] in told)]


def _by_nsys(evidence: Evidence, case: Row) -> Finding | None:
    case_id = case["case_id"]
    rows = evidence.of("invocations", case_id)
    wanted = _wanted(evidence, case_id)
    wrong = [row for row in rows if wanted is not None and row["kernels"] != wanted]
    if not wrong:
        return None
    numbers = {"expected_kernels": wanted, "seen_kernels": wrong[0]["kernels"], "invocations": len(wrong)}
    which = "every invocation" if len(wrong) == len(rows) else _ordinals(wrong)
    seen = f"{which} ran {_distinct(wrong)} of {counted(wanted or 0, 'kernel')} by nsys"
    if lost := _lost(evidence, case_id, wrong, wanted or 0):
        return Finding(
            "lost-kernel",
            FAMILY,
            DISAGREE,
            case_id,
            f"{seen}; {some(lost)}",
            numbers,
            "The program launched it, so the record is what is missing: dropped by the profiler, or deleted.",
            "Capture the nsys pass again; if it happens again, synchronise before the capture ends.",
            _SOURCES,
        )
    return Finding(
        "kernel-count",
        FAMILY,
        DISAGREE,
        case_id,
        seen,
        numbers,
        "The program runs another number of kernels than declared, or a library chose another path.",
        "Look at `query RUN timeline`; correct the driver, or the declaration in expected.sql.",
        _SOURCES,
    )


def _wanted(evidence: Evidence, case_id: str) -> int | None:
    """Kernels that each invocation must show: as declared, else as most invocations have it."""
    declared = evidence.one("kernel_counts", case_id).get("expected_kernels")
    seen = Counter(row["kernels"] for row in evidence.of("invocations", case_id))
    return declared if declared is not None else max(seen, key=lambda kernels: seen[kernels], default=None)


def _lost(evidence: Evidence, case_id: str, wrong: Sequence[Row], wanted: int) -> list[str]:
    """The calls of those invocations that left fewer kernels than they must have started."""
    if any(row["kernels"] > wanted for row in wrong):
        return []
    nodes = evidence.one("graph_nodes", case_id).get("api_nodes")
    lost = [told(row) for row in evidence.of("lost_records", case_id)]
    if not lost and nodes is not None and all(row["kernels"] < nodes for row in wrong):
        # Every replay lost the same node, so that replays alone do not tell.
        lost = [f"the graph has {counted(nodes, 'kernel node')}"]
    return lost


def told(row: Row) -> str:
    """A row of `lost_records` in words."""
    where = f"invocation {row['invocation']}" if row["case_id"] else f"in {row['place'] or 'no range'}"
    return (
        f"{row['name']} (launch {row['launch_id']}, {where}) left {row['seen_kernels']} of "
        f"{counted(row['expected_kernels'], 'kernel record')}"
    )


def _by_ncu(evidence: Evidence, case: Row) -> Finding | None:
    if evidence.gap(case, ("counter", "variant_case"), ("ncu",)):
        return None
    row = evidence.one("kernel_counts", case["case_id"])
    wanted = _wanted(evidence, case["case_id"])
    if row.get("ncu_min") is None or wanted is None or row["ncu_min"] == row["ncu_max"] == wanted:
        return None
    seen = sorted({row["ncu_min"], row["ncu_max"]})
    return Finding(
        "workload-count",
        FAMILY,
        DISAGREE,
        case["case_id"],
        f"ncu profiled {' to '.join(map(str, seen))} of {counted(wanted, 'kernel')} in an invocation",
        {"expected_kernels": wanted, "ncu_min": row["ncu_min"], "ncu_max": row["ncu_max"]},
        "Kernels were not profiled, were profiled in another range, or their rows are missing.",
        "Look at `query RUN counters`; check --nvtx-include and capture the ncu pass again.",
        ("kernel_counts",),
    )


def _by_graph(evidence: Evidence, case: Row) -> Finding | None:
    case_id = case["case_id"]
    row = evidence.one("graph_nodes", case_id)
    if case["submission"] != "graph" or not row or evidence.gap(case, ("graph_node",)):
        return None
    api = sorted({value for value in (row["api_min"], row["api_max"]) if value is not None})
    others = {value for value in (row["expected_nodes"], row["nsys_nodes_per_replay"]) if value is not None}
    if not api or (len(api) == 1 and others <= set(api)):
        return None
    return Finding(
        "node-count",
        FAMILY,
        DISAGREE,
        case_id,
        f"the graph API gives {' or '.join(map(str, api))} kernel nodes, "
        f"{_or_unknown(row['expected_nodes'])} are declared "
        f"and nsys saw {_or_unknown(row['nsys_nodes_per_replay'])} run in each replay",
        {
            "api_min": row["api_min"],
            "api_max": row["api_max"],
            "expected_nodes": row["expected_nodes"],
            "nsys_nodes": row["nsys_nodes_per_replay"],
        },
        "The captured graph is not the one that was declared, or nodes are missing from its listing.",
        "Look at `query RUN graph_nodes`; capture the graph again and count its nodes.",
        ("graph_nodes",),
    )


def _agreement(evidence: Evidence, case: Row, *, declared: bool) -> Finding:
    case_id = case["case_id"]
    row, nodes = evidence.one("kernel_counts", case_id), evidence.one("graph_nodes", case_id)
    said = {
        "declared": row.get("expected_kernels"),
        "nsys": row.get("kernels_per_invocation"),
        "ncu": row.get("ncu_max") if not evidence.gap(case, ("counter",), ("ncu",)) else None,
        "graph nodes": nodes.get("nodes"),
    }
    sets = row.get("expected_memsets")
    witnesses = [f"{who} {value}" for who, value in said.items() if value is not None]
    observed = [who for who in ("nsys", "ncu", "graph nodes") if said[who] is not None]
    if observed and not declared:
        return Finding(
            "no-expectation",
            FAMILY,
            NOT_DECLARED,
            case_id,
            f"expected.sql has no row for it; kernels per invocation: {', '.join(witnesses)}",
            next_step="Declare the case in expected.sql.",
            sources=_SOURCES,
        )
    return Finding(
        "counts-agree" if observed else "not-measured",
        FAMILY,
        AGREE if observed else NOT_DECLARED,
        case_id,
        f"kernels per invocation: {', '.join(witnesses)}" + (f"; memsets {sets}" if sets else "")
        if observed
        else "no pass counted kernels",
        {**{who.replace(" ", "_"): value for who, value in said.items()}, "memsets": sets},
        sources=_SOURCES,
    )


def _ordinals(rows: Sequence[Row]) -> str:
    noun = "invocation" if len(rows) == 1 else "invocations"
    return f"{noun} {some([str(row['invocation']) for row in rows])}"


def _distinct(rows: Sequence[Row]) -> str:
    return " or ".join(map(str, sorted({row["kernels"] for row in rows})))


def _or_unknown(value: int | None) -> str:
    return "an unknown number" if value is None else str(value)
