"""Checks: each pass and input checks a case alike, by known limits, and equal variants against one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nsight_suite.reconciliation.amounts import some
from nsight_suite.reconciliation.findings import DISAGREE, Finding
from nsight_suite.reconciliation.witnesses import Evidence, Row

_AGAINST = "same_as:"
# What each check may reach, but for those of the protocol's tolerances.
_LIMITS = {"error": 1.0, "exact": 0.0, "finite": 0.0, "nonnegative": 0.0, "same_as_stream": 0.0}
_OF_PROTOCOL = ("row_sum",)

# The pass and the input of a check; its array and its name.
_Place = tuple[str, str]
_Check = tuple[str | None, str]


def lacking(evidence: Evidence) -> Iterator[tuple[str, str, str, str]]:
    """Case, pass, fixture and check of what was checked elsewhere and not there."""
    found: dict[str, dict[_Place, set[_Check]]] = {}
    for row in evidence.rows["checks"]:
        places = found.setdefault(row["case_id"], {})
        places.setdefault((row["pass"], row["fixture"]), set()).add((row["array"], row["check"]))
    groups = _groups(evidence)
    there = _variants(evidence)
    for case in evidence.cases:
        places = found.get(case["case_id"], {})
        # Against which variant depends on those that a pass runs; all else does not.
        usual = {check for made in places.values() for check in made if not check[1].startswith(_AGAINST)}
        for (name, fixture), made in sorted(places.items()):
            if evidence.gap(case, ("validation",), (name,)):
                continue
            wanted = usual | _against(case, usual, groups, there.get((name, case["shape"]), []))
            for array, check in sorted(wanted - made, key=str):
                yield case["case_id"], name, fixture, f"{check}{f' of {array}' if array else ''}"


def _groups(evidence: Evidence) -> Mapping[str, frozenset[str]]:
    """Variants that must be equal, by variant: those that are held against one another anywhere in the run."""
    groups: dict[str, frozenset[str]] = {}
    pairs = {
        (evidence.case(row["case_id"]).get("variant"), row["check"].removeprefix(_AGAINST))
        for row in evidence.rows["checks"]
        if row["check"] and row["check"].startswith(_AGAINST)
    }
    for variant, other in sorted((one, other) for one, other in pairs if one):
        joined = groups.get(variant, frozenset({variant})) | groups.get(other, frozenset({other}))
        groups |= dict.fromkeys(joined, joined)
    return groups


def _variants(evidence: Evidence) -> Mapping[tuple[str, str], list[str]]:
    """The variants that a pass checked at a shape, in the protocol's order."""
    checked = {(row["pass"], row["case_id"]) for row in evidence.rows["checks"]}
    there: dict[tuple[str, str], list[str]] = {}
    for case in evidence.cases:
        for name in {name for name, case_id in checked if case_id == case["case_id"]}:
            mine = there.setdefault((name, case["shape"]), [])
            mine += [] if case["variant"] in mine else [case["variant"]]
    return there


def _against(
    case: Row, usual: set[_Check], groups: Mapping[str, frozenset[str]], there: list[str]
) -> set[_Check]:
    """The first of equal variants is held against none, every other against it, array by array."""
    group = groups.get(case["variant"], frozenset())
    first = next((variant for variant in there if variant in group), case["variant"])
    return set() if first == case["variant"] else {(array, f"{_AGAINST}{first}") for array, _ in usual}


def limits(evidence: Evidence, family: str) -> Iterator[Finding]:
    """Checks that passed by another limit than the protocol's, or than is set by their name."""
    told: dict[str, dict[str, None]] = {}
    for row in evidence.rows["checks"]:
        limit = _limit(evidence, row["check"] or "")
        if limit is None or (row["least"] == row["most"] == limit and not row["unlimited"]):
            continue
        if evidence.gap(evidence.case(row["case_id"]), ("validation",), (row["pass"],)):
            continue
        other = row["least"] if row["most"] == limit else row["most"]
        seen = "no limit" if other is None or row["unlimited"] else f"{other:g}"
        of = f" of {row['array']}" if row["array"] else ""
        text = f"{row['check']}{of} in pass {row['pass']} by {seen} where {limit:g} is set"
        told.setdefault(row["case_id"], {})[text] = None
    for case_id, texts in told.items():
        yield Finding(
            "limit-differs",
            family,
            DISAGREE,
            case_id if evidence.case(case_id) else None,
            f"checked {some(list(texts), 2)}",
            {"checks": len(texts)},
            "The results were checked by another limit than the protocol tells: it was changed after the run, "
            "or the record was.",
            "Look at `query RUN validation`; bring back the protocol that the run was made by, or capture "
            "again.",
            ("validation", "protocol/protocol.toml"),
        )


def _limit(evidence: Evidence, check: str) -> float | None:
    if check in _OF_PROTOCOL:
        return evidence.tolerances.get(check)
    return 0.0 if check.startswith(_AGAINST) else _LIMITS.get(check)
