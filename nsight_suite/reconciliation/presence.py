"""Presence: evidence that was asked for ↔ evidence that is there. What is absent never counts as agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nsight_suite.reconciliation import checks
from nsight_suite.reconciliation.amounts import some
from nsight_suite.reconciliation.asked import AGAINST_VARIANTS
from nsight_suite.reconciliation.findings import CANNOT_ANSWER, DISAGREE, MISSING_EVIDENCE, Finding
from nsight_suite.reconciliation.witnesses import Evidence, Row

# What runs of the first versions do not tell; a run that tells any of it tells all.
_LATER = ("graph_dot", "planned_launch")
# Where more rows than wanted are as wrong as fewer.
_COUNTED = ("driven", "graph_setup", "sample", "sanitizer", "validation")


class _Key(NamedTuple):
    pass_name: str | None
    case_id: str | None
    origin: str
    item: str


def judge(evidence: Evidence, family: str) -> Iterator[Finding]:
    """One finding for each case, and one for the whole run, that lacks evidence or has too much of it."""
    seen = {_key(row): row["seen"] or 0 for row in evidence.rows["evidence_rows"]}
    usual = _usual(evidence, seen)
    short: dict[str | None, list[str]] = {}
    extra: dict[str | None, list[str]] = {}
    for row in (*evidence.wanted, *_launched_builds(evidence)):
        key = _key(row)
        if _told_elsewhere(evidence, key, seen):
            continue
        wanted = row["wanted"] if row["wanted"] is not None else _wanted(evidence, key, seen, usual)
        found = seen.get(key, 0)
        if found < wanted:
            short.setdefault(_case_of(evidence, key), []).append(_told(key, found, wanted))
        elif found > wanted and key.origin in _COUNTED:
            extra.setdefault(_case_of(evidence, key), []).append(_told(key, found, wanted))
    # Where rows of a case are lacking, so are its checks.
    counted_cases = set(short)
    for owner, name, fixture, check in checks.lacking(evidence):
        if owner not in counted_cases:
            short.setdefault(owner, []).append(f"pass {name}: {check} on {fixture} 0 of 1")
    for case_id, lacks in short.items():
        yield Finding(
            MISSING_EVIDENCE,
            family,
            CANNOT_ANSWER,
            case_id,
            some(lacks),
            {"kinds_missing": len(lacks)},
            "What was asked for and is not there is unknown: it neither passed nor agreed.",
            "Rebuild the evidence from its reports (python -m nsight_suite.evidence RUN), or capture again.",
            ("evidence_rows",),
        )
    for case_id, more in extra.items():
        yield Finding(
            "extra-evidence",
            family,
            DISAGREE,
            case_id,
            some(more),
            {"kinds_extra": len(more)},
            "Rows were added, or recorded twice.",
            "Rebuild the evidence from its reports: python -m nsight_suite.evidence RUN",
            ("evidence_rows",),
        )


def _launched_builds(evidence: Evidence) -> Iterator[Row]:
    """The builds that each pass must tell of, because it launched their kernels."""
    told = {(row["pass"], row["item"]) for row in evidence.wanted if row["origin"] == "build"}
    for row in evidence.rows["planned_launches"]:
        for name in row["passes"].split(", ") if row["source"] else ():
            built = (name, row["source"].rsplit(".", 1)[0])
            if built not in told:
                told.add(built)
                yield {"pass": name, "case_id": None, "origin": "build", "item": built[1], "wanted": None}


def _told_elsewhere(evidence: Evidence, key: _Key, seen: Mapping[_Key, int]) -> bool:
    """Whether what is lacking has a finding of its own, or follows from another one."""
    case, name = evidence.case(key.case_id), key.pass_name
    untold = key.origin in _LATER and not evidence.rows["planned_launches"]
    if untold or evidence.gap(case, (key.origin,), (name or "",)):
        return True
    if key.origin in ("variant_case", "pass"):
        return False
    if name and "pass" not in evidence.missing and _Key(name, None, "pass", "") not in seen:
        return True
    if not key.case_id:
        # Without any copy the limits cannot be had, and say so.
        return key.item == "device_copy" and key not in seen
    driven = _Key(name, key.case_id, "driven", "")
    if key == driven:
        # A report with invocations that the driver does not tell of.
        rows = evidence.of("completeness", key.case_id)
        return any(row["pass"] == name and row["driven_invocations"] is None for row in rows)
    # The counts compare what a pass lists with what others list.
    listed = key.origin == "graph_node" and any(one[0] == name and one.origin == key.origin for one in seen)
    return not case or listed or (driven not in seen and "driven" not in evidence.missing)


def _usual(evidence: Evidence, seen: Mapping[_Key, int]) -> Mapping[tuple[str, str], int]:
    """The most builds that a pass has of a source, and the most checks of an input that such a case has."""
    usual: dict[tuple[str, str], int] = {}
    for key, count in seen.items():
        group = key.origin, _group(evidence, key)
        usual[group] = max(count, usual.get(group, 0))
    return usual


def _group(evidence: Evidence, key: _Key) -> str:
    """What has as many builds or checks as another: a source, a submission; against variants each variant."""
    if key.origin == "build":
        return key.item
    case = evidence.case(key.case_id)
    parts = [str(case.get("submission", ""))]
    if key.item.endswith(AGAINST_VARIANTS):
        # The first of equal variants is held against none; which is the first depends on what a pass runs.
        parts += [str(case.get("variant", "")), key.pass_name or "", AGAINST_VARIANTS]
    return " ".join(parts)


def _wanted(
    evidence: Evidence, key: _Key, seen: Mapping[_Key, int], usual: Mapping[tuple[str, str], int]
) -> int:
    match key.origin:
        case "build":
            return usual.get(("build", key.item), 0)
        case "validation":
            least = 0 if key.item.endswith(AGAINST_VARIANTS) else 1
            return max(least, usual.get(("validation", _group(evidence, key)), 0))
        case (
            "artifact"
            | "graph_dot"
            | "graph_node"
            | "planned_launch"
            | "report"
            | "task"
            | "task_plan"
            | "tool"
        ):
            return 1  # or more: how many is not asked for
    invocations = seen.get(_Key(key.pass_name, key.case_id, "driven", "invocations"), 0)
    if key.origin == "sync":
        rows = evidence.of("completeness", key.case_id)
        there = sum(row["seen_invocations"] or 0 for row in rows if row["pass"] == key.pass_name)
        return min(invocations, there)  # a lost range has its own finding
    return invocations


def _case_of(evidence: Evidence, key: _Key) -> str | None:
    return key.case_id if evidence.case(key.case_id) else None


def _told(key: _Key, found: int, wanted: int) -> str:
    where = f"pass {key.pass_name}: " if key.pass_name else f"{key.case_id}: " if key.case_id else ""
    return f"{where}{f'{key.origin} {key.item}'.strip()} {found} of {wanted}"


def _key(row: Row) -> _Key:
    return _Key(row["pass"], row["case_id"], row["origin"], row["item"] or "")
