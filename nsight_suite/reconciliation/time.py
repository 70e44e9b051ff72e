"""Time: host completion ↔ device time, the split of a profiled invocation, and what the profiler costs.

ncu's durations are another quantity (serialised, replayed, other caches) and are never used here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median_low

from nsight_suite.errors import ForbiddenInference
from nsight_suite.reconciliation import amounts, inference
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

FAMILY = "time"
_TABLES = ("variant_case", "sample", "range", "range_kernel", "kernel", "launch", "sync", "memory_operation")
_SOURCES = ("samples", "launch_split_invocations", "profiler_overhead")


def judge(evidence: Evidence, bounds: Bounds = BOUNDS) -> Iterator[Finding]:
    for case in evidence.cases:
        case_id = case["case_id"]
        if not case["timed"]:
            yield Finding(
                "not-timed", FAMILY, NOT_DECLARED, case_id, "the shape checks results and is not timed"
            )
        elif gap := evidence.gap(case, _TABLES, [name for name in ("timing", "nsys") if evidence.asked(name)]):
            yield gap.finding(FAMILY, case_id)
        else:
            try:
                yield from _case(evidence, case_id, bounds)
            except ForbiddenInference as error:
                yield evidence.refused(FAMILY, case_id, error)


def _case(evidence: Evidence, case_id: str, bounds: Bounds) -> Iterator[Finding]:
    splits = evidence.of("launch_split_invocations", case_id)
    samples = [row for row in evidence.of("samples", case_id) if row["quantity"] == "completion"]
    unprofiled = [row for row in samples if row["pass"] == "timing"]
    if not unprofiled or not splits:
        yield _silent(evidence, case_id, bool(unprofiled))
        return
    profiled = [row for row in samples if row["pass"] == "nsys"]
    # The profiled and the unprofiled process are compared below; refused at once if that must not be.
    cost = list(_cost(evidence, case_id, bounds))
    busy_ns = min(row["device_union_ns"] for row in splits)
    faults = [
        *_too_short(case_id, unprofiled, busy_ns, bounds, "unprofiled"),
        *_too_short(case_id, profiled, busy_ns, bounds, "profiled"),
    ]
    faults += _remainder(case_id, splits, [] if faults else profiled, bounds)
    yield from (*faults, *cost)
    if not faults:
        yield _agreement(case_id, unprofiled, splits)


def _too_short(
    case_id: str, samples: Sequence[Row], busy_ns: int, bounds: Bounds, kind: str
) -> Iterator[Finding]:
    # Start and end of device work are of one clock, so its length owes nothing to how clocks are matched.
    least = busy_ns * (1 - bounds.busy_relative) - bounds.tick_ns
    short = [row for row in samples if row["duration_ns"] < least]
    if short:
        worst = min(short, key=lambda row: row["duration_ns"])
        yield Finding(
            "completion-too-short",
            FAMILY,
            DISAGREE,
            case_id,
            f"{len(short)} of {len(samples)} {kind} completions shorter than the device's work: "
            f"{amounts.time(worst['duration_ns'])} in round {worst['round']}, and the device is busy for "
            f"{amounts.time(busy_ns)} or more",
            {
                "duration_ns": worst["duration_ns"],
                "round": worst["round"],
                "busy_ns": busy_ns,
                "samples": len(short),
            },
            "The clock stopped before the device did (a missing synchronisation), other work was measured, or "
            "the sample was changed.",
            "Check that the timed region ends with a synchronisation of the stream, and time the case again.",
            ("samples", "launch_split_invocations"),
        )


def _remainder(
    case_id: str, splits: Sequence[Row], profiled: Sequence[Row], bounds: Bounds
) -> Iterator[Finding]:
    """What no part accounts for must stay small, and no device work may outlive its range.

    The driver's clock lies inside the range: it shows the parts and not more than the range.
    """
    middle = median_low(row["remainder_ns"] for row in splits)
    if profiled:
        clock = median_low(row["duration_ns"] for row in profiled)
        parts = median_low(row["range_ns"] - row["remainder_ns"] for row in splits)
        if not -bounds.clock_ns <= clock - parts <= bounds.remainder_ns:
            yield Finding(
                "clock-differs",
                FAMILY,
                DISAGREE,
                case_id,
                f"under nsys the driver's clock shows {amounts.time(clock)}, and launch, device work, gaps "
                f"and wait make {amounts.time(parts)}",
                {"profiled_ns": clock, "parts_ns": parts, "remainder_ns": clock - parts},
                "The timed region is not the invocation: it begins late, ends early, or holds something else.",
                "Compare where the driver reads its clock with where it opens the range.",
                ("samples", "launch_split_invocations"),
            )
            return
    late = min(row["exit_ns"] for row in splits)
    if middle > bounds.remainder_ns:
        yield Finding(
            "unexplained-time",
            FAMILY,
            DISAGREE,
            case_id,
            f"{amounts.time(middle)} of a profiled invocation is neither launch, device work, gap nor wait",
            {"remainder_ns": middle, "bound_ns": bounds.remainder_ns},
            "Something else runs inside the range: allocation, compilation, Python, or calls that nsys missed.",
            "Look at `query RUN launch_split_invocations`; keep everything else out of the range.",
            ("launch_split_invocations",),
        )
    if late < -bounds.clock_ns:
        yield Finding(
            "work-after-range",
            FAMILY,
            DISAGREE,
            case_id,
            f"device work or a wait ends {amounts.time(-late)} after its range was closed",
            {"exit_ns": late},
            "The invocation was not waited for inside its range, so its completion cannot have covered it.",
            "Synchronise before the range is closed.",
            ("launch_split_invocations",),
        )


def _cost(evidence: Evidence, case_id: str, bounds: Bounds) -> Iterator[Finding]:
    """Profiled and unprofiled completion differ by the profiler's own cost."""
    row = evidence.one("profiler_overhead", case_id)
    if not row or row["profiled_ns"] is None or row["unprofiled_ns"] is None:
        return
    profiled = inference.completion(
        row["profiled_ns"], case_id, under="nsys", device_uuid=evidence.device("nsys")
    )
    unprofiled = inference.completion(row["unprofiled_ns"], case_id, device_uuid=evidence.device("timing"))
    extra, factor = inference.profiler_cost(profiled, unprofiled)
    numbers = {
        "unprofiled_ns": row["unprofiled_ns"],
        "profiled_ns": row["profiled_ns"],
        "extra_ns": extra,
        "factor": round(factor, 3),
    }
    medians = f"{amounts.time(row['profiled_ns'])} under nsys, {amounts.time(row['unprofiled_ns'])} without"
    if factor < bounds.profiled_faster:
        yield Finding(
            "profiled-faster",
            FAMILY,
            DISAGREE,
            case_id,
            f"the median completion is {medians}",
            numbers,
            "A profiler makes nothing faster: the two processes ran other work, or on another device or clock.",
            "Compare `query RUN device` of the two passes, and time the case again.",
            ("profiler_overhead",),
        )
    elif factor > bounds.overhead_factor:
        yield Finding(
            "profiler-overhead",
            FAMILY,
            EXPLAINED,
            case_id,
            f"nsys adds {amounts.time(extra)} ({factor:.2f} times): {medians}",
            numbers,
            "The profiler's own cost. Parts of a profiled invocation are not parts of an unprofiled one.",
            sources=("profiler_overhead",),
        )


def _agreement(case_id: str, samples: Sequence[Row], splits: Sequence[Row]) -> Finding:
    completion = median_low(row["duration_ns"] for row in samples)
    parts = {
        name: median_low(row[f"{name}_ns"] for row in splits)
        for name in ("api", "queue", "kernel_union", "memory", "gap", "return", "remainder")
    }
    text = ", ".join(
        f"{name.replace('_', ' ')} {amounts.time(value)}" for name, value in parts.items() if value
    )
    return Finding(
        "time-adds-up",
        FAMILY,
        AGREE,
        case_id,
        f"median completion {amounts.time(completion)}, none shorter than device work; under nsys: {text}",
        {"completion_ns": completion, **{f"{name}_ns": value for name, value in parts.items()}},
        sources=_SOURCES,
    )


def _silent(evidence: Evidence, case_id: str, timed: bool) -> Finding:
    wanting = [name for name, there in (("timing", timed), ("nsys", not timed)) if not there]
    if all(evidence.asked(name) for name in wanting):
        nothing = Finding(
            "no-device-time" if timed else "no-completion",
            FAMILY,
            CANNOT_ANSWER,
            case_id,
            f"there is no {'timed device work by nsys' if timed else 'completion sample'} for this case",
            means="Completion and device time cannot be compared.",
            next_step="Capture the pass again, and see that its driver runs this case.",
            sources=_SOURCES,
        )
        return evidence.unanswered(nothing)
    return Finding("not-measured", FAMILY, NOT_DECLARED, case_id, f"the pass {wanting[0]} was not asked for")
