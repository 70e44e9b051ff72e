"""What keeps two runs from being compared, and what only has to be told.

Each reason has a code and can be allowed by it. What is unknown on one side alone is a difference; what neither
side tells is told as unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nsight_suite.comparing.results import Doubt
from nsight_suite.comparing.sides import QueryRow, Side

# The reasons that block, by code: what --allow takes.
REASONS: Mapping[str, str] = {
    "protocol": "the protocols differ",
    "quick": "one run is a quick one",
    "incomplete": "a run is not complete",
    "failed-pass": "a pass failed or never ended",
    "contradicted": "reconcile finds a contradiction in a run as a whole",
    "device": "a pass ran on another model of GPU",
    "driver": "a pass ran with another driver",
    "tools": "a pass used other versions of tools or libraries",
    "clocks": "the GPU was throttled, or its clocks differ",
    "failed-checks": "the results of a case are wrong",
}
# Clocks that are free, and those of a GPU that has nothing to do.
_FREE = frozenset({"none", "gpu_idle"})
_CLOCKS = {"sm_clock_mhz": "multiprocessor clock", "memory_clock_mhz": "memory clock"}
# A boost clock moves by a step or two of 15 MHz.
_CLOCK_TOLERANCE = 0.02
_MAKING = {
    "toolkit": "the measuring code",
    "driver": "the experiment's driver",
    "nsight_suite": "the suite's version",
}


def doubts_between(a: Side, b: Side, allow: Collection[str]) -> tuple[Doubt, ...]:
    """Every difference that matters, what blocks before what is only told."""
    return in_order(
        [*_of_runs(a, b, allow), *_of_passes(a, b, allow), *_of_results(a, b, allow), *_of_making(a, b)]
    )


def in_order(doubts: Sequence[Doubt]) -> tuple[Doubt, ...]:
    """What blocks before what was allowed before what is only told; the same of several passes once."""
    merged: dict[Doubt, set[str]] = {}
    for doubt in doubts:
        merged.setdefault(replace(doubt, passes=None), set()).update(doubt.passes or ())
    found = [replace(doubt, passes=frozenset(names) if names else None) for doubt, names in merged.items()]
    return tuple(sorted(found, key=lambda doubt: (not doubt.blocks, not doubt.allowed)))


def blocking(
    doubts: Sequence[Doubt], passes: Collection[str], case_id: str, exempt: Collection[str] = ()
) -> str:
    """The codes of what blocks a row that these passes tell of a case, joined by ', '; empty for nothing."""
    codes = [
        doubt.code
        for doubt in doubts
        if doubt.blocks
        and doubt.code not in exempt
        and (doubt.passes is None or doubt.passes & set(passes))
        and doubt.case_id in (None, case_id)
    ]
    return ", ".join(dict.fromkeys(codes))


def reason(
    code: str,
    told: str,
    allow: Collection[str],
    passes: Collection[str] | None = None,
    case_id: str | None = None,
) -> Doubt:
    """A reason that blocks unless it is allowed."""
    allowed = code in allow
    return Doubt(code, told, not allowed, None if passes is None else frozenset(passes), case_id, allowed)


def remark(code: str, told: str, passes: Collection[str] | None = None) -> Doubt:
    """What is told and blocks nothing."""
    return Doubt(code, told, blocks=False, passes=None if passes is None else frozenset(passes))


def run_doubts(a: Mapping[str, Any], b: Mapping[str, Any], allow: Collection[str]) -> Iterator[Doubt]:
    """What two run.json tell."""
    for name, info in (("A", a), ("B", b)):
        if info.get("state") != "complete":
            yield reason("incomplete", f"Run {name} is {info.get('state')}, not complete.", allow)
    if a.get("run_id") == b.get("run_id"):
        yield remark("same-run", f"A and B are the same run, {a.get('run_id')}.")


def _of_runs(a: Side, b: Side, allow: Collection[str]) -> Iterator[Doubt]:
    yield from run_doubts(a.info, b.info, allow)
    for name, side in (("A", a), ("B", b)):
        for told in side.contradictions:
            yield reason("contradicted", f"Against run {name}, by reconcile: {told}", allow)
    hashes = [side.info.get("protocol_sha256") or "" for side in (a, b)]
    if hashes[0] != hashes[1]:
        shown = " → ".join(text[:12] or "unknown" for text in hashes)
        yield reason("protocol", f"Their protocols differ (SHA-256 {shown}).", allow)
    if a.info.get("quick") != b.info.get("quick"):
        quick = "A" if a.info.get("quick") else "B"
        yield reason("quick", f"Run {quick} is a quick one, the other is not.", allow)


def _of_passes(a: Side, b: Side, allow: Collection[str]) -> Iterator[Doubt]:
    states = [{row["pass"]: row["state"] for row in side.rows["passes"]} for side in (a, b)]
    shared = [name for name in states[0] if name in states[1]]
    for name, of_side in (("A", states[0]), ("B", states[1])):
        for pass_name in (one for one in shared if of_side[one] != "ok"):
            yield reason("failed-pass", f"{of_side[pass_name]} in run {name}", allow, [pass_name])
    for pass_name in shared:
        yield from _of_device(pass_name, a, b, allow)
        if changed := _changed(a.tools_of(pass_name), b.tools_of(pass_name)):
            yield reason("tools", f"other versions: {changed}", allow, [pass_name])


def _of_device(pass_name: str, a: Side, b: Side, allow: Collection[str]) -> Iterator[Doubt]:
    ours, theirs = ([row for row in side.rows["device"] if row["pass"] == pass_name] for side in (a, b))
    for code, column in (("device", "name"), ("driver", "driver_version")):
        yield from difference(code, pass_name, _one(ours, column), _one(theirs, column), allow)
    models = _one(ours, "name"), _one(theirs, "name")
    if models[0] == models[1] and _one(ours, "uuid") != _one(theirs, "uuid"):
        told = "another unit of the same model, and units differ by a little of their own"
        yield remark("other-unit", told, [pass_name])
    yield from _of_clocks(pass_name, ours, theirs, allow)


def difference(code: str, pass_name: str, before: str, after: str, allow: Collection[str]) -> Iterator[Doubt]:
    """Of something that both sides must have told, and told alike: the GPU's model or its driver."""
    what = "model of GPU" if code == "device" else code
    if before != after:
        told = f"another {what} ({before or 'unknown'} → {after or 'unknown'})"
        yield reason(code, told, allow, [pass_name])
    elif not before:
        yield remark(f"unknown-{code}", f"neither run tells its {what}", [pass_name])


def _of_clocks(
    pass_name: str, ours: Sequence[QueryRow], theirs: Sequence[QueryRow], allow: Collection[str]
) -> Iterator[Doubt]:
    for name, rows in (("A", ours), ("B", theirs)):
        causes = [row["throttle_reasons"] for row in rows]
        if held := {cause for told in causes if told for cause in told.split("+")} - _FREE:
            told = f"in run {name} the clocks were held by {', '.join(sorted(held))}"
            yield reason("clocks", told, allow, [pass_name])
        elif not all(causes):
            yield remark(
                "unknown-clocks", f"whether the clocks were held is not told by run {name}", [pass_name]
            )
    before, after = ([row for row in rows if row["moment"] == "after"] for rows in (ours, theirs))
    for column, what in _CLOCKS.items():
        was, is_now = (rows[0][column] if rows else None for rows in (before, after))
        if was is None or is_now is None:
            yield remark("unknown-clocks", f"the {what} at the end was not told by both", [pass_name])
        elif abs(is_now - was) > _CLOCK_TOLERANCE * was:
            told = f"another {what} at the end ({was} → {is_now} MHz)"
            yield reason("clocks", told, allow, [pass_name])


def _of_results(a: Side, b: Side, allow: Collection[str]) -> Iterator[Doubt]:
    for name, side in (("A", a), ("B", b)):
        failed: dict[str, int] = {}
        for row in side.rows["validation"]:
            failed[row["case_id"]] = failed.get(row["case_id"], 0) + row["failed"]
        for case_id, count in failed.items():
            if count:
                told = f"{case_id}: {count} checks of its results failed in run {name}."
                yield reason("failed-checks", told, allow, case_id=case_id)


def _of_making(a: Side, b: Side) -> Iterator[Doubt]:
    """What may be the very thing that is compared, and must be known."""
    made = [side.info.get("made_with") or {} for side in (a, b)]
    if not made[0] or not made[1]:
        yield remark("unknown-making", "Which code made the measurements is not told by both runs.")
        return
    for part, what in _MAKING.items():
        if made[0].get(part) != made[1].get(part):
            yield remark("other-code", f"They were not measured by the same code: {what} differs.")
    if made[0].get("kernels") == made[1].get("kernels"):
        yield remark("same-kernels", "The sources of the kernels are the same in both runs.")


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    return ", ".join(f"{name} {before.get(name, 'none')} → {after.get(name, 'none')}" for name in names)


def _one(rows: Sequence[QueryRow], column: str) -> str:
    """What the rows of a pass say; several that differ are told together, none as an empty text."""
    return "+".join(sorted({str(row[column]) for row in rows if row[column] is not None}))
