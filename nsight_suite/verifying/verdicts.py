"""The reconciliation made again: the same verdicts and findings as reconciliation.json tells."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nsight_suite.reconciliation.findings import as_data
from nsight_suite.verifying.checks import Check, Findings, Subject, objects

NAME = "reconciliation"
ABOUT = "judging the run again gives the verdicts that it tells"

_FILE = "reconciliation.json"
_MEANINGS = {0: "all agree or are explained", 1: "something disagrees", 2: "something cannot be answered"}


def check(subject: Subject) -> Check:
    """reconciliation.json against the run judged again."""
    found = Findings()
    if subject.run.is_ingested():
        found.miss("the run was ingested: nothing was declared that it could be judged by")
        return found.as_check(NAME, ABOUT)
    with found.readable("reconciliation"):
        now = json.loads(json.dumps(as_data(subject.reconciliation)))
        status = now["exit_status"]
        found.note(f"the verdicts, judged here: {_MEANINGS[status]}")
        if _FILE not in subject.files:
            found.miss(f"there is no {_FILE} to compare with")
            return found.as_check(NAME, ABOUT)
        told = subject.json(_FILE)
        found.count("cases", len(now["cases"]))
        for key in ("run_id", "exit_status"):
            if told.get(key) != now[key]:
                found.fail(_FILE, f"says {key} {told.get(key)!r}; judged here it is {now[key]!r}")
        _compare_cases(told.get("cases"), now["cases"], found)
        _compare_findings(told.get("findings"), now["findings"], found)
    return found.as_check(NAME, ABOUT)


def _compare_cases(told: Any, now: Sequence[Mapping[str, str]], found: Findings) -> None:
    there = {str(case.get("case_id")): case for case in objects(told)}
    for case in now:
        mine = there.pop(case["case_id"], None)
        if mine is None:
            found.fail(case["case_id"], f"{_FILE} does not tell of this case")
            continue
        for family, verdict in case.items():
            if mine.get(family) != verdict:
                found.fail(
                    case["case_id"],
                    f"{family}: {_FILE} says {mine.get(family)!r}; judged here it is {verdict!r}",
                )
    for case_id in there:
        found.fail(case_id, f"{_FILE} tells of this case, and the run has none of that name")


def _compare_findings(told: Any, now: Sequence[Mapping[str, Any]], found: Findings) -> None:
    """Everything that a finding says: its numbers and words follow from the evidence."""
    there, here = (Counter(map(_key, findings)) for findings in (objects(told), now))
    found.count("findings", here.total())
    for key in there - here:
        found.fail(_subject(key), f"{_FILE} holds a finding that does not follow: {_words(key)}")
    for key in here - there:
        found.fail(_subject(key), f"{_FILE} lacks a finding that follows: {_words(key)}")


def _key(finding: Mapping[str, Any]) -> str:
    return json.dumps(finding, sort_keys=True)


def _subject(key: str) -> str:
    return str(json.loads(key).get("case_id") or "the run")


def _words(key: str) -> str:
    finding = json.loads(key)
    return f"{finding.get('code')}, {finding.get('verdict')}: {finding.get('seen')}"
