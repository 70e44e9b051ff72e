"""Of which statistic and of which GPU the words say that a number is, held against what it is of."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from nsight_suite.claiming.checking import Problem
from nsight_suite.claiming.claims import Claim
from nsight_suite.claiming.findings import TEXT
from nsight_suite.claiming.rules import forbidden
from nsight_suite.claiming.words import NEGATION, clause_around

_MEDIAN_COLUMN = re.compile(r"(?:^|_)median(?:_|$)")
_MEAN_COLUMN = re.compile(r"(?:^|_)mean(?:_|$)")
_MEDIAN = re.compile(r"\bmedians?\b", re.IGNORECASE)
_MEAN = re.compile(r"\b(?:means?|average)\b", re.IGNORECASE)
_NO_MEDIAN = re.compile(
    r"\bon average\b|^\s*(?:mean|average)\b|"
    r"\b(?:the|an?|its) (?:average|mean)(?= (?:is|was|of|time|completion|latency|over)\b)|"
    r"\b(?:the|its) (?:fastest|slowest|best|worst) (?:run|round|repeat|invocation|sample|replay|call)\b|"
    r"\bat (?:best|worst)\b",
    re.IGNORECASE,
)
# A100, H200, L40S, GH200, MI300X …
_MODEL = r"(?:[AHBVLP]\d{2,3}S?|GH200|GB\d{3}|MI\d{3}[AX]?|T4|RTX \w*\d{4}\w*)s?"
_EVERY = rf"(?:any|every|all)\s+(?:(?:NVIDIA|modern|recent|current|other)\s+)*(?:GPUs?\b|{_MODEL}(?!\w))"
_ON_A_DEVICE = re.compile(
    rf"\b[Oo]n (?:{_EVERY}(?! (?:of|that|which|we|here|in|used))|"
    rf"(?:an?|the|one|our|this)\s+(?:NVIDIA\s+)?(?P<model>{_MODEL})(?![\w-]))"
)
_NOT_SAID = re.compile(r"\b(?:than|unlike|against|versus|would|could|might|may|expect(?:ed)?)\b", re.IGNORECASE)


def check_wording(
    claims: Sequence[Claim], devices: Mapping[str, Collection[str]]
) -> Iterator[tuple[Claim, Problem]]:
    """What the words around the numbers of a block say wrongly. `devices` are the names of each run's GPUs."""
    said: set[str] = set()
    for claim in claims:
        clause = _clause(claim)
        if NEGATION.search(clause):
            continue
        if word := _other_statistic(claim, clause):
            message = f"The words say '{word}', but {claim.value.columns[0]} is another statistic."
            yield claim, Problem(TEXT, message, "Say which one it is.")
        if clause not in said and (problem := _other_device(claim, clause, devices)):
            said.add(clause)
            yield claim, problem


def _clause(claim: Claim) -> str:
    text = claim.block.text
    if claim.block.kind == "cell":
        return f"{claim.block.header}: {text}"
    return clause_around(text, claim.start)


def _other_statistic(claim: Claim, clause: str) -> str:
    """What calls a median a mean or an extreme, or a mean a median; empty for nothing."""
    columns = claim.value.columns
    if not columns or claim.value.take:
        return ""
    match = None
    if all(map(_MEDIAN_COLUMN.search, columns)) and not _MEDIAN.search(clause):
        match = _NO_MEDIAN.search(clause)
    elif all(map(_MEAN_COLUMN.search, columns)) and not _MEAN.search(clause):
        match = _MEDIAN.search(clause)
    return match[0].strip() if match else ""


def _other_device(claim: Claim, clause: str, devices: Mapping[str, Collection[str]]) -> Problem | None:
    """A model of GPU on which it was not measured, or all that there are."""
    match = _ON_A_DEVICE.search(clause)
    measured = {name for run in claim.value.runs for name in devices.get(run, ())}
    if not match or not measured or _NOT_SAID.search(clause):
        return None
    model = (match["model"] or "").rstrip("s")
    if model and any(re.search(rf"\b{re.escape(model)}\b", name) for name in measured):
        return None
    told = f"'{match[0]}' is said of a number measured on {' and '.join(sorted(measured))}."
    return forbidden("other-device", told)
