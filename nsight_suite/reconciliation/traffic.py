"""Traffic: declared bytes ↔ DRAM bytes by cache policy, invocations ↔ one another, stream ↔ graph.

Flushed caches: every kernel must fetch its inputs from DRAM, and leaves part of its output in the cache.
Caches as found: what stayed in L2 is not fetched, and what is written again there is not written twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nsight_suite.reconciliation import inference
from nsight_suite.reconciliation.amounts import size, some
from nsight_suite.reconciliation.bounds import BOUNDS, Bounds
from nsight_suite.reconciliation.findings import (
    AGREE,
    CANNOT_ANSWER,
    DISAGREE,
    EXPLAINED,
    NOT_DECLARED,
    Finding,
)
from nsight_suite.reconciliation.witnesses import Evidence, Row

FAMILY = "traffic"
_TABLES = ("variant_case", "counter", "pass")
_PASSES = ("ncu", "ncu-warm")
_SOURCES = ("dram_bytes",)
_OVER = (
    "Something is moved more often than declared (spills, a second pass over the data), the declaration is too "
    "small, or the counter is wrong."
)
_BELOW = "The kernels did not touch all of their data, the declaration is too large, or the counter is wrong."
# By --cache-control: code, what it means, and what to do.
_REASONS = {
    "all": (
        "write-back",
        "Write-back: lines still dirty in L2 when a kernel ends leave it later, so its writes are under-"
        "counted. Its total writes cannot be had this way.",
        "For writes use the whole-graph measurement with warm caches (pass ncu-warm).",
    ),
    "none": (
        "stays-in-l2",
        "Data that stays in L2 between kernels and invocations is not moved to or from DRAM.",
        "",
    ),
    "": (
        "cache-policy-unknown",
        "Whether caches were flushed is not recorded; data in L2, or lines written back later, may explain it.",
        "Bring the pass record, or capture with --cache-control told.",
    ),
}
_WAYS = {"read": "read", "write": "wrote"}
_LOOK = "Look at `query RUN counters`, and capture the pass again."


def judge(evidence: Evidence, bounds: Bounds = BOUNDS) -> Iterator[Finding]:
    for case in evidence.cases:
        case_id = case["case_id"]
        asked = [name for name in _PASSES if evidence.asked(name)]
        rows = {row["pass"]: row for row in evidence.of("dram_bytes", case_id)}
        found: list[Finding] = []
        for name in asked:
            if gap := evidence.gap(case, _TABLES, (name,)):
                found.append(gap.finding(FAMILY, case_id))
            elif name in rows and (fault := evidence.faults.get(case_id)) and fault.code == "workload-count":
                # A sum over too few workloads says nothing.
                found.append(
                    evidence.unanswered(Finding(fault.code, FAMILY, CANNOT_ANSWER, case_id, fault.seen))
                )
            elif name in rows:
                found += _pass(evidence, case, rows[name], bounds)
        yield from found
        if not found:
            yield Finding("not-measured", FAMILY, NOT_DECLARED, case_id, "no ncu pass measured this case")


def _pass(evidence: Evidence, case: Row, row: Row, bounds: Bounds) -> list[Finding]:
    """One pass of a case: the first fault found, else what was explained, else agreement."""
    for check in (_altered, _unmeasured, _repeats, _declared, _twins):
        if fault := check(evidence, case, row, bounds):
            return [fault]
    return list(_explanations(row, bounds)) or [_agreement(row)]


def _altered(evidence: Evidence, case: Row, row: Row, bounds: Bounds) -> Finding | None:
    """A value of the evidence that is not the one its own report printed."""
    rows = [one for one in evidence.of("altered_counters", case["case_id"]) if one["pass"] == row["pass"]]
    if not rows:
        return None
    seen = [
        f"{one['metric']} of {one['kernel']} (workload {one['workload_id']}, invocation {one['invocation']}) "
        f"is {size(one['value_bytes'])} in the evidence, {one['original']} {one['original_unit']} in its report"
        for one in rows
    ]
    return _fault(
        "altered-counter",
        row,
        some(seen, 2),
        {
            "altered": len(rows),
            "value_bytes": rows[0]["value_bytes"],
            "original_bytes": rows[0]["original_bytes"],
        },
        means="The evidence was changed after the report was read.",
        next_step="Rebuild the evidence from its reports: python -m nsight_suite.evidence RUN",
        sources=("altered_counters",),
    )


def _unmeasured(evidence: Evidence, case: Row, row: Row, bounds: Bounds) -> Finding | None:
    absent = [name for name in ("read", "write") if row[f"dram_{name}_bytes"] is None]
    if not absent:
        return None
    where = (
        "for some workload"
        if row["invocations"]
        else ": which workload belongs to which invocation is not told"
    )
    return Finding(
        "no-dram-bytes",
        FAMILY,
        CANNOT_ANSWER,
        row["case_id"],
        f"{row['pass']}: DRAM {' and '.join(absent)} bytes are unknown {where}".replace(" :", ":"),
        means="A sum over the others would look like less traffic.",
        next_step="Look at the reasons in `query RUN counters`.",
        sources=("dram_bytes", "counters"),
    )


def _repeats(evidence: Evidence, case: Row, row: Row, bounds: Bounds) -> Finding | None:
    """With flushed caches every invocation reads the same bytes."""
    low, high = row["dram_read_min_bytes"], row["dram_read_max_bytes"]
    if row["cache_control"] != "all" or high - low <= bounds.repeat_relative * low + bounds.repeat_slack_bytes:
        return None
    return _fault(
        "dram-repeats-differ",
        row,
        f"with flushed caches one invocation read {size(low)} and another {size(high)}",
        {"read_min_bytes": low, "read_max_bytes": high, "logical_read_bytes": row["logical_read_bytes"]},
        means="The same work must read the same bytes: a counter is wrong, or the invocations differ.",
    )


def _declared(evidence: Evidence, case: Row, row: Row, bounds: Bounds) -> Finding | None:
    """Not more than declared beyond slack; not less than declared unless caches may explain it."""
    kernels = evidence.one("kernel_counts", case["case_id"]).get("expected_kernels") or 1
    for what, relative, slack in (
        ("read", bounds.read_relative, bounds.read_slack_bytes),
        ("write", bounds.write_relative, bounds.write_slack_bytes),
    ):
        logical = row[f"logical_{what}_bytes"]
        if logical is None:
            continue
        again = row["reread_bytes"] if what == "read" else 0
        most = (logical + again) * (1 + relative) + slack * kernels
        least = logical * (1 - relative) - slack * kernels
        if row["cache_control"] is None or not _l2_bytes(evidence):
            least = 0
        elif what == "write":
            # No more than fills L2 is left there by each kernel and written back later.
            least = logical - kernels * _l2_bytes(evidence)
        elif row["cache_control"] != "all":
            # L2 can keep no more than its size from one kernel to the next.
            least -= kernels * _l2_bytes(evidence)
        high, low = row[f"dram_{what}_max_bytes"], row[f"dram_{what}_min_bytes"]
        if high > most or low < least:
            seen, over = (high, True) if high > most else (low, False)
            return _fault(
                "dram-over-logical" if over else "dram-below-logical",
                row,
                f"an invocation {_WAYS[what]} {size(seen)} of DRAM, and its kernels "
                f"must {what} {size(logical)} ({_policy(row)})",
                {
                    f"dram_{what}_bytes": seen,
                    f"logical_{what}_bytes": logical,
                    "ratio": round(seen / logical, 3) if logical else None,
                },
                means=_OVER if over else _BELOW,
                next_step="Look at `query RUN counters`; correct the kernels, or the bytes in expected.sql.",
            )
    return None


def _twins(evidence: Evidence, case: Row, row: Row, bounds: Bounds) -> Finding | None:
    """With flushed caches the same kernels read the same bytes by stream and by graph; told of the larger."""
    if row["cache_control"] != "all":
        return None
    for other in evidence.rows["dram_bytes"]:
        same = all(other[key] == row[key] for key in ("variant", "shape", "pass", "scope"))
        if not same or other["case_id"] == row["case_id"] or other["dram_read_bytes"] is None:
            continue
        if _declared(evidence, other, other, bounds):
            continue  # the fault is the other's
        mine, its = row["dram_read_bytes"], other["dram_read_bytes"]
        if mine - its > bounds.repeat_relative * its + bounds.repeat_slack_bytes:
            return _fault(
                "dram-twins-differ",
                row,
                f"with flushed caches it reads {size(mine)} and its twin {other['case_id']} {size(its)}",
                {"dram_read_bytes": mine, "twin_read_bytes": its},
                means="The same kernels must read the same bytes however submitted: a counter is wrong.",
            )
    return None


def repeats_differ(row: Row, bounds: Bounds) -> list[str]:
    """Which of read and write no single invocation stands for, caches being as the work before left them."""
    differ = []
    for what in ("read", "write"):
        low, high = row[f"dram_{what}_min_bytes"], row[f"dram_{what}_max_bytes"]
        most = bounds.warm_repeat_relative * (row[f"logical_{what}_bytes"] or high or 0)
        if row["cache_control"] != "all" and None not in (low, high):
            differ += [what] * (high - low > most + bounds.warm_repeat_slack_bytes)
    return differ


def _explanations(row: Row, bounds: Bounds) -> Iterator[Finding]:
    differ = repeats_differ(row, bounds)
    if differ:
        seen = [
            f"{_WAYS[what]} {size(row[f'dram_{what}_min_bytes'])} to {size(row[f'dram_{what}_max_bytes'])}"
            for what in differ
        ]
        yield Finding(
            "warm-repeats-differ",
            FAMILY,
            EXPLAINED,
            row["case_id"],
            f"{row['pass']}: one invocation {' and '.join(seen)} ({_policy(row)}, "
            f"{row['invocations']} invocations)",
            {
                f"dram_{what}_{end}_bytes": row[f"dram_{what}_{end}_bytes"]
                for what in differ
                for end in ("min", "max")
            },
            "What L2 holds differs from one invocation to the next, so no one value is the case's traffic.",
            sources=_SOURCES,
        )
    for what, relative in (("read", bounds.read_relative), ("write", bounds.write_relative)):
        logical, seen = row[f"logical_{what}_bytes"], row[f"dram_{what}_bytes"]
        if what in differ or not logical or seen >= logical * (1 - relative):
            continue
        code, means, next_step = _REASONS[row["cache_control"] or ""]
        share = inference.ratio(_measured(row, what), _declared_bytes(row, what))
        yield Finding(
            code,
            FAMILY,
            EXPLAINED,
            row["case_id"],
            f"{row['pass']}: {_WAYS[what]} {size(seen)} of {size(logical)} ({share:.0%}, {_policy(row)})",
            {f"dram_{what}_bytes": seen, f"logical_{what}_bytes": logical, "ratio": round(share, 4)},
            means,
            next_step,
            _SOURCES,
        )


def _agreement(row: Row) -> Finding:
    reads, writes = row["dram_read_bytes"], row["dram_write_bytes"]
    logical_reads, logical_writes = row["logical_read_bytes"], row["logical_write_bytes"]
    declared = logical_reads is not None and logical_writes is not None
    against = (
        f", declared {size(logical_reads)} and {size(logical_writes)}" if declared else ", none is declared"
    )
    return Finding(
        "traffic-agrees",
        FAMILY,
        AGREE,
        row["case_id"],
        f"{row['pass']}: {size(reads)} read and {size(writes)} written{against} ({_policy(row)})",
        {"dram_read_bytes": reads, "dram_write_bytes": writes},
        sources=_SOURCES,
    )


def _fault(
    code: str,
    row: Row,
    seen: str,
    numbers: Mapping[str, float | int | None],
    *,
    means: str,
    next_step: str = _LOOK,
    sources: Sequence[str] = _SOURCES,
) -> Finding:
    return Finding(
        code, FAMILY, DISAGREE, row["case_id"], f"{row['pass']}: {seen}", numbers, means, next_step, sources
    )


def _policy(row: Row) -> str:
    caches = {"all": "flushed caches", "none": "warm caches"}.get(row["cache_control"], "unknown cache policy")
    return f"{caches}, {'whole graph' if row['scope'] == 'whole-graph' else 'kernel by kernel'}"


def _measured(row: Row, what: str) -> inference.Measured:
    caches = {"all": "flushed", "none": "warm"}.get(row["cache_control"], "")
    return inference.Measured(
        row[f"dram_{what}_bytes"], "byte", "dram-counter", caches, row["scope"], row["case_id"]
    )


def _declared_bytes(row: Row, what: str) -> inference.Measured:
    return inference.Measured(row[f"logical_{what}_bytes"], "byte", "declared", case_id=row["case_id"])


def _l2_bytes(evidence: Evidence) -> int:
    return max((row["l2_bytes"] for row in evidence.rows["device"] if row["l2_bytes"]), default=0)
