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
_TABLES = ("variant_case", "sample", "range", "kernel", "launch", "sync", "memory_operation")
_PASSES = ("timing", "nsys")
_SOURCES = ("samples", "launch_split_invocations", "profiler_overhead")
# Reasons for which a device runs below its clocks (nvml.h, nvmlClocksEventReason*).
_SLOWED = frozenset(
    (
        *("sw_power_cap", "hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown"),
        "hw_power_brake_slowdown",
    )
)
# What a completion under nsys consists of.
_PARTS = (
    *("api", "queue", "kernel_union", "memory", "gap_in_api", "gap_idle", "return", "completion_remainder"),
)
_COOL = "Wait until the device is cool and nobody else uses it, and capture again."


def judge(evidence: Evidence, bounds: Bounds = BOUNDS) -> Iterator[Finding]:
    states = list(_device_states(evidence, bounds))
    yield from states
    for case in evidence.cases:
        case_id = case["case_id"]
        if not case["timed"]:
            yield Finding(
                "not-timed", FAMILY, NOT_DECLARED, case_id, "the shape checks results and is not timed"
            )
        elif gap := evidence.gap(case, _TABLES, [name for name in _PASSES if evidence.asked(name)]):
            yield gap.finding(FAMILY, case_id)
        else:
            try:
                yield from _case(evidence, case_id, bounds, states)
            except ForbiddenInference as error:
                yield evidence.refused(FAMILY, case_id, error)


def _device_states(evidence: Evidence, bounds: Bounds) -> Iterator[Finding]:
    """A device that was slowed down, or had other clocks in one pass than in the other, is not one device."""
    states = [row for row in evidence.rows["device"] if row["pass"] in _PASSES and row["moment"]]
    slowed = [row for row in states if _SLOWED.intersection((row["throttle_reasons"] or "").split("+"))]
    idle = [row for row in states if "gpu_idle" in (row["throttle_reasons"] or "")]
    means = "Times of these passes are not those of the free device, and not comparable with one another."
    if slowed:
        seen = [
            f"{row['pass']}, {row['moment']}: {row['throttle_reasons']} at {row['sm_clock_mhz']} MHz, "
            f"{row['temperature_c']} °C"
            for row in slowed
        ]
        clocks = [row["sm_clock_mhz"] for row in slowed if row["sm_clock_mhz"] is not None]
        numbers = {"states": len(slowed), "sm_clock_mhz": min(clocks, default=None)}
        yield Finding(
            "throttled", FAMILY, EXPLAINED, None, amounts.some(seen), numbers, means, _COOL, ("device",)
        )
        return
    for what in ("sm", "memory"):
        clocks = [row[f"{what}_clock_mhz"] for row in states if row not in idle and row[f"{what}_clock_mhz"]]
        if clocks and max(clocks) > min(clocks) * (1 + bounds.clock_relative):
            seen = [f"{row['pass']} {row['moment']} {row[f'{what}_clock_mhz']} MHz" for row in states]
            numbers = {"least_mhz": min(clocks), "most_mhz": max(clocks)}
            yield Finding(
                "clocks-differ",
                FAMILY,
                EXPLAINED,
                None,
                f"{what} clock: {', '.join(seen)}",
                numbers,
                means,
                _COOL,
                ("device",),
            )


def _case(evidence: Evidence, case_id: str, bounds: Bounds, states: Sequence[Finding]) -> Iterator[Finding]:
    splits = evidence.of("launch_split_invocations", case_id)
    samples = [
        row
        for row in evidence.of("samples", case_id)
        if row["pass"] == "timing" and row["duration_ns"] is not None
    ]
    unprofiled = [row for row in samples if row["quantity"] == "completion"]
    if not unprofiled or not splits:
        yield _silent(evidence, case_id, bool(unprofiled))
        return
    if impossible := list(_impossible(case_id, splits)):
        yield from impossible
        return
    # The profiled and the unprofiled process are compared below; refused at once if that must not be.
    cost = list(_cost(evidence, case_id, bounds, states))
    faults = list(_too_short(evidence, case_id, samples, bounds)) or list(_clocks(case_id, splits, bounds))
    yield from cost
    if faults:
        yield from faults
        return
    unknown = [row for row in splits if row["completion_ns"] is None]
    if unknown:
        yield evidence.unanswered(_unclocked(case_id, len(unknown), len(splits)))
        return
    remainder = list(_remainder(case_id, splits, bounds))
    yield from remainder
    if not any(finding.verdict == DISAGREE for finding in remainder):
        yield _agreement(case_id, unprofiled, splits)


def _impossible(case_id: str, splits: Sequence[Row]) -> Iterator[Finding]:
    """Kernels one by one take at least as long as their union, unless one ends before it starts."""
    wrong = [
        row for row in splits if row["kernel_sum_ns"] < row["kernel_union_ns"] or not row["device_union_ns"]
    ]
    if wrong:
        yield Finding(
            "impossible-time",
            FAMILY,
            DISAGREE,
            case_id,
            f"in {len(wrong)} of {len(splits)} invocations a kernel ends before or as it starts",
            {"invocations": len(wrong)},
            "The device's clock cannot do that: the report is damaged, or was changed.",
            "Look at `query RUN timeline`, and capture the pass again.",
            ("launch_split_invocations",),
        )


def _too_short(evidence: Evidence, case_id: str, samples: Sequence[Row], bounds: Bounds) -> Iterator[Finding]:
    """Nothing completes before the device has done its work, alone or in a batch.

    Start and end of device work are of one clock, so its length owes nothing to how clocks are matched.
    """
    splits = evidence.of("launch_split_invocations", case_id)
    busy_ns = min(row["device_union_ns"] for row in splits)
    sizes = evidence.one("limits", case_id)
    in_l2 = (sizes.get("logical_bytes") or 0) <= (sizes.get("l2_bytes") or 0)
    in_batch = bounds.batch_in_l2_relative if in_l2 else bounds.batch_relative
    profiled = [
        {"duration_ns": row["completion_ns"], "round": row["invocation"], "invocations": 1}
        for row in splits
        if row["completion_ns"] is not None
    ]
    timed = {
        name: [row for row in samples if row["quantity"] == name and row["invocations"]]
        for name in ("completion", "batch_completion", "batch_event_interval")
    }
    for what, code, rows, relative in (
        ("unprofiled completions", "completion-too-short", timed["completion"], bounds.busy_relative),
        ("profiled completions", "completion-too-short", profiled, bounds.busy_relative),
        ("batches", "batch-too-short", timed["batch_completion"], in_batch),
        ("event intervals of batches", "batch-too-short", timed["batch_event_interval"], in_batch),
    ):
        least = busy_ns * (1 - relative) - bounds.tick_ns
        each = [(row["duration_ns"] / row["invocations"], row["round"]) for row in rows]
        short = [one for one in each if one[0] < least]
        if short:
            duration_ns, turn = min(short)
            yield Finding(
                code,
                FAMILY,
                DISAGREE,
                case_id,
                f"{len(short)} of {len(rows)} {what} shorter than the device's work: an invocation took "
                f"{amounts.time(duration_ns)} in round {turn}, and the device is busy for "
                f"{amounts.time(busy_ns)} or more",
                {"duration_ns": duration_ns, "round": turn, "busy_ns": busy_ns, "samples": len(short)},
                "The clock stopped before the device did (a missing synchronisation), other work was measured, "
                "or the sample was changed.",
                "Check that the timed region ends with a synchronisation of the stream; time the case again.",
                ("samples", "launch_split_invocations"),
            )


def _clocks(case_id: str, splits: Sequence[Row], bounds: Bounds) -> Iterator[Finding]:
    """The stopwatch lies inside the range and shows all parts, in every invocation."""
    for row in splits:
        remainder, outside = row["completion_remainder_ns"], row["remainder_ns"]
        outside = None if remainder is None else outside - remainder
        if row["exit_ns"] < -bounds.clock_ns:
            yield Finding(
                "work-after-range",
                FAMILY,
                DISAGREE,
                case_id,
                f"device work or a wait ends {amounts.time(-row['exit_ns'])} after its range was closed "
                f"(invocation {row['invocation']})",
                {"exit_ns": row["exit_ns"], "invocation": row["invocation"]},
                "The invocation was not waited for inside its range, so its completion cannot have covered it.",
                "Synchronise before the range is closed.",
                ("launch_split_invocations",),
            )
            return
        if outside is not None and min(remainder, outside) < -bounds.clock_ns:
            parts = row["completion_ns"] - remainder
            yield Finding(
                "clock-differs",
                FAMILY,
                DISAGREE,
                case_id,
                f"in invocation {row['invocation']} under nsys the driver's clock shows "
                f"{amounts.time(row['completion_ns'])}; launch, device work, gaps and wait make "
                f"{amounts.time(parts)}, and the range {amounts.time(row['range_ns'])}",
                {"profiled_ns": row["completion_ns"], "parts_ns": parts, "range_ns": row["range_ns"]},
                "The timed region is not the invocation: it begins late, ends early, or holds something else.",
                "Compare where the driver reads its clock with where it opens the range.",
                ("launch_split_invocations",),
            )
            return


def _remainder(case_id: str, splits: Sequence[Row], bounds: Bounds) -> Iterator[Finding]:
    """What no part accounts for: the usual invocation's, then those that stand out, each by itself."""
    completion = median_low(row["completion_ns"] for row in splits)
    usual = median_low(row["completion_remainder_ns"] for row in splits)
    outside = median_low(row["remainder_ns"] - row["completion_remainder_ns"] for row in splits)
    share = min(bounds.remainder_relative * completion, bounds.remainder_most_ns)
    most = round(max(share, bounds.remainder_least_ns))
    numbers = {"remainder_ns": usual, "completion_ns": completion, "bound_ns": most}
    # A single invocation is the first one, and shows nothing of what is usual.
    around = max(bounds.outside_ns, bounds.outside_relative * completion)
    if len(splits) > 1 and (usual > most or outside > around):
        seen = (
            f"{amounts.time(usual)} of a profiled completion of {amounts.time(completion)} are"
            if usual > most
            else f"{amounts.time(outside)} of a profiled range outside of the stopwatch are"
        )
        yield Finding(
            "unexplained-time",
            FAMILY,
            DISAGREE,
            case_id,
            f"{seen} neither launch, device work, gap nor wait",
            {**numbers, "outside_ns": outside},
            "Something else runs there: allocation, compilation, Python, or calls that nsys missed.",
            "Look at `query RUN launch_split_invocations`; keep everything else out of the range.",
            ("launch_split_invocations",),
        )
        return
    if usual > bounds.host_code_ns:
        yield Finding(
            "host-code",
            FAMILY,
            EXPLAINED,
            case_id,
            f"{amounts.time(usual)} of a profiled completion of {amounts.time(completion)} "
            f"({usual / completion:.0%}) run on the host outside of CUDA calls",
            numbers,
            "A library's own code before it launches, or Python. Unprofiled it runs too; how long is not told.",
            sources=("launch_split_invocations",),
        )
    first = min(row["invocation"] for row in splits)
    for row in splits:
        if row["completion_remainder_ns"] > most:
            cold = row["invocation"] == first
            yield Finding(
                "first-invocation" if cold else "slow-invocation",
                FAMILY,
                EXPLAINED,
                case_id,
                f"invocation {row['invocation']}, one of {len(splits)}: "
                f"{amounts.time(row['completion_remainder_ns'])} of its {amounts.time(row['completion_ns'])} "
                f"are neither launch, device work, gap nor wait; usually {amounts.time(usual)}",
                {
                    "invocation": row["invocation"],
                    "remainder_ns": row["completion_remainder_ns"],
                    "completion_ns": row["completion_ns"],
                    "usual_ns": usual,
                },
                "The first invocation after a pause: the host's code and data are no longer in its caches."
                if cold
                else "An outlier: the host was held up there; nothing in the evidence tells by what.",
                sources=("launch_split_invocations",),
            )


def _unclocked(case_id: str, unknown: int, invocations: int) -> Finding:
    return Finding(
        "missing-evidence",
        FAMILY,
        CANNOT_ANSWER,
        case_id,
        f"{unknown} of {invocations} profiled invocations have no completion by the driver's clock",
        means="What of a completion is launch, device work or wait is not told for them.",
        next_step="Capture the pass nsys again.",
        sources=("launch_split_invocations",),
    )


def _unprofiled(evidence: Evidence, case_id: str) -> list[Row]:
    return [
        row
        for row in evidence.of("samples", case_id)
        if (row["pass"], row["quantity"]) == ("timing", "completion") and row["duration_ns"] is not None
    ]


def _cost(evidence: Evidence, case_id: str, bounds: Bounds, states: Sequence[Finding]) -> Iterator[Finding]:
    """Profiled and unprofiled completion differ by the profiler's own cost, and by the device's state."""
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
        fastest = min(row["duration_ns"] for row in _unprofiled(evidence, case_id))
        disturbed = fastest < row["profiled_ns"]
        yield Finding(
            "profiled-faster",
            FAMILY,
            EXPLAINED if states or disturbed else DISAGREE,
            case_id,
            f"the median completion is {medians}; the fastest without is {amounts.time(fastest)}",
            {**numbers, "fastest_unprofiled_ns": fastest},
            "The device was in another state."
            if states
            else "Some samples without a profiler are as fast: most others were held up by something else."
            if disturbed
            else "A profiler makes nothing faster: the processes ran other work, or samples were changed.",
            "Compare `query RUN device` of the two passes, and time the case again.",
            ("profiler_overhead", "samples"),
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
    parts = {name: median_low(row[f"{name}_ns"] for row in splits) for name in _PARTS}
    text = ", ".join(
        f"{name.removeprefix('completion_').replace('_', ' ')} {amounts.time(value)}"
        for name, value in parts.items()
        if value
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
