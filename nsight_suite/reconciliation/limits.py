"""Limits: what bounds a case: the device's measured copy bandwidth, its launches, or neither."""

from __future__ import annotations

from collections.abc import Iterator

from nsight_suite.errors import ForbiddenInference
from nsight_suite.reconciliation import inference
from nsight_suite.reconciliation.amounts import counted, rate, size, some, time
from nsight_suite.reconciliation.bounds import BOUNDS, Bounds
from nsight_suite.reconciliation.findings import (
    AGREE,
    CANNOT_ANSWER,
    DISAGREE,
    EXPLAINED,
    NOT_DECLARED,
    Finding,
)
from nsight_suite.reconciliation.traffic import repeats_differ
from nsight_suite.reconciliation.witnesses import Evidence, Row

FAMILY = "limits"
_TABLES = (
    *("variant_case", "sample", "range", "kernel", "launch", "sync", "memory_operation"),
    "device",
)
_SOURCES = ("limits", "copy_bandwidth")
# What bounds a case, by code of the finding.
ANSWERS = ("launch-bound", "memory-bound", "l2-resident", "neither-bound")


def judge(evidence: Evidence, bounds: Bounds = BOUNDS) -> Iterator[Finding]:
    for case in evidence.cases:
        case_id = case["case_id"]
        row = evidence.one("limits", case_id)
        if not case["timed"]:
            yield Finding(
                "not-timed", FAMILY, NOT_DECLARED, case_id, "the shape checks results and is not timed"
            )
        elif gap := evidence.gap(case, _TABLES, [name for name in ("timing", "nsys") if evidence.asked(name)]):
            yield gap.finding(FAMILY, case_id)
        elif not (evidence.asked("timing") and evidence.asked("nsys")):
            yield Finding("not-measured", FAMILY, NOT_DECLARED, case_id, "needs the passes timing and nsys")
        elif not row or row["logical_bytes"] is None:
            yield Finding("no-expectation", FAMILY, NOT_DECLARED, case_id, "no logical bytes are declared")
        elif None in (row["copy_bytes_per_second"], row["completion_ns"], row["busy_ns"]):
            yield evidence.unanswered(_unknown(row))
        else:
            try:
                yield _case(evidence, row, bounds)
            except ForbiddenInference as error:
                yield evidence.refused(FAMILY, case_id, error)


def _case(evidence: Evidence, row: Row, bounds: Bounds) -> Finding:
    case_id, profiled, timed = row["case_id"], evidence.device("nsys"), evidence.device("timing")
    declared = inference.Measured(row["logical_bytes"], "byte", "declared", case_id=case_id)
    busy = inference.Measured(row["busy_ns"], "ns", "nsys-device", case_id=case_id, device_uuid=profiled)
    achieved = inference.logical_rate(declared, busy)
    floor = inference.Measured(row["floor_ns"], "ns", "host-clock", scope="device", device_uuid=timed)
    copying = inference.ratio(floor, busy)
    working = inference.ratio(busy, inference.completion(row["completion_ns"], case_id, device_uuid=timed))
    shares, in_l2 = _through_dram(evidence, row, bounds)
    if in_l2 is None and copying > 1 + bounds.floor_relative:
        # L2 can have served no more than it holds: the rest may still be more than memory moves in that time.
        l2_bytes = row["logical_bytes"] if row["l2_bytes"] is None else row["l2_bytes"]
        if copying * (1 - l2_bytes / row["logical_bytes"]) <= 1 + bounds.floor_relative:
            return _l2_unknown(evidence, row)
    numbers = {
        "logical_bytes": row["logical_bytes"],
        "copy_bytes_per_second": row["copy_bytes_per_second"],
        "floor_ns": row["floor_ns"],
        "busy_ns": row["busy_ns"],
        "completion_ns": row["completion_ns"],
        "logical_bytes_per_second": round(achieved),
        "floor_over_busy": round(copying, 4),
        "busy_over_completion": round(working, 4),
        **{f"{what}_share": round(share, 4) for what, share in shares.items()},
    }
    seen = (
        f"completes in {time(row['completion_ns'])}, of which the device works {time(row['busy_ns'])} "
        f"({working:.0%}); a copy of its {size(row['logical_bytes'])} takes {time(row['floor_ns'])} "
        f"at {rate(row['copy_bytes_per_second'])}"
    )
    if shares:
        told = some([f"{share:.0%} of the {what}s" for what, share in shares.items()])
        seen += f"; with warm caches {told} move through DRAM"
    code, verdict, means, next_step = _bound(row, copying, working, in_l2, bounds)
    return Finding(code, FAMILY, verdict, row["case_id"], seen, numbers, means, next_step, _SOURCES)


def _through_dram(evidence: Evidence, row: Row, bounds: Bounds) -> tuple[dict[str, float], bool | None]:
    """Shares of the declared reads and writes that warm caches leave to DRAM, and whether L2 serves part.

    None where no counter tells of a case that does not fit L2.
    A share is told when repeats agree and the declared bytes are more than what kernels move beside them.
    """
    case_id, logical_bytes = row["case_id"], row["logical_bytes"]
    fits = logical_bytes <= (row["l2_bytes"] or 0)
    slack = {"read": bounds.read_slack_bytes, "write": bounds.write_slack_bytes}
    for measured in evidence.of("dram_bytes", case_id):
        moved = [measured[f"dram_{what}_min_bytes"] for what in slack]
        if measured["cache_control"] != "none" or None in moved:
            continue
        differ = repeats_differ(measured, bounds)
        kernels = evidence.one("kernel_counts", case_id).get("expected_kernels") or 1
        shares = {
            what: measured[f"dram_{what}_bytes"] / measured[f"logical_{what}_bytes"]
            for what in slack
            if what not in differ and (measured[f"logical_{what}_bytes"] or 0) > kernels * slack[what]
        }
        shares = {what: share for what, share in shares.items() if share <= bounds.most_share}
        if logical_bytes <= kernels * sum(slack.values()):
            return shares, fits
        # Where invocations differ, L2 served part at least of the one that moved least.
        return shares, sum(moved) < bounds.through_dram * logical_bytes
    return {}, fits or None


def _l2_unknown(evidence: Evidence, row: Row) -> Finding:
    """Of a case that is a little faster than memory: whether L2 served the rest is for warm counters to say."""
    if gap := evidence.gap(row, ("counter",), ["ncu-warm"]):
        return gap.finding(FAMILY, row["case_id"])
    return evidence.unanswered(
        Finding(
            "no-warm-counters",
            FAMILY,
            CANNOT_ANSWER,
            row["case_id"],
            f"the device works {time(row['busy_ns'])}, less than the {time(row['floor_ns'])} of a copy of its "
            f"{size(row['logical_bytes'])}; how much of them stayed in L2 is not known",
            {name: row[name] for name in ("logical_bytes", "l2_bytes", "floor_ns", "busy_ns")},
            next_step="Make the pass ncu-warm: its counters tell what moves through DRAM.",
            sources=_SOURCES,
        )
    )


def _bound(
    row: Row, copying: float, working: float, in_l2: bool | None, bounds: Bounds
) -> tuple[str, str, str, str]:
    """(code, verdict, means, next step)"""
    if copying > 1 + bounds.floor_relative and not in_l2:
        return (
            "faster-than-memory",
            DISAGREE,
            "It cannot have moved those bytes in that time: too many are declared, work was skipped, or a "
            "time is wrong.",
            "Check the declaration in expected.sql and the results, and time the copy again.",
        )
    if working < bounds.launch_bound:
        launches = counted(row["launches"] or 0, "launching call")
        return (
            "launch-bound",
            AGREE,
            f"Its floor is launch and synchronisation ({launches}), not the device.",
            "",
        )
    if copying >= bounds.memory_bound and in_l2:
        return (
            "l2-resident",
            EXPLAINED,
            "Part of its data stays in L2, so memory bandwidth is not its floor, and its logical rate is no "
            "DRAM bandwidth.",
            "",
        )
    if copying >= bounds.memory_bound:
        return "memory-bound", AGREE, f"Its floor is memory bandwidth: {copying:.0%} of a copy's.", ""
    return (
        "neither-bound",
        AGREE,
        "Neither launches nor copy bandwidth are its floor: it moves its logical bytes at "
        f"{copying:.0%} of a copy's speed.",
        "",
    )


def _unknown(row: Row) -> Finding:
    names = {
        "completion_ns": ("no-completion", "completion samples"),
        "busy_ns": ("no-device-time", "device time by nsys"),
        "copy_bytes_per_second": ("no-copy-bandwidth", "a timed device-to-device copy"),
    }
    wanting = [name for column, name in names.items() if row[column] is None]
    return Finding(
        wanting[0][0],
        FAMILY,
        CANNOT_ANSWER,
        row["case_id"],
        f"without {' and '.join(what for _, what in wanting)} the case has no floor",
        means="What bounds it is unknown.",
        next_step="Capture the passes timing and nsys again.",
        sources=_SOURCES,
    )
