"""A verification as text, as JSON, and as the lines that one process tells another.

Names and values come from anybody: in the text no terminal obeys any of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from nsight_suite.unpacking import shown
from nsight_suite.verifying.checks import Check, Failure, Verification

FORMAT = 1
_SIGNS = {"holds": "✓ holds", "failed": "✗ failed", "not-checked": "– not checked"}
_VERDICTS = {
    0: "All that could be checked holds.",
    1: "It does not hold.",
    2: "It could not be verified.",
}
# Reasons and notes of one check; JSON has all of them.
_MOST_TOLD = 12
_MOST_SHOWN = 600


def check_lines(check: Check) -> Iterator[str]:
    """One check as lines of text."""
    counts = ", ".join(f"{number:,} {what}" for what, number in check.counted.items() if number)
    yield f"{_SIGNS[check.state]:<14} {check.name:<15} {check.about}" + (f" ({counts})" if counts else "")
    for failure in check.failures:
        yield f"    ✗ {shown(failure.subject)}: {shown(failure.what, _MOST_SHOWN)}"
    if check.ended:
        yield f"    ended: {shown(check.ended, _MOST_SHOWN)}"
    for label, told in (("missing", check.missing), ("note", check.notes)):
        for text in told[:_MOST_TOLD]:
            yield f"    {label}: {shown(text, _MOST_SHOWN)}"
        if len(told) > _MOST_TOLD:
            yield f"    {label}: and {len(told) - _MOST_TOLD} more (--json tells them)"


def closing_lines(verification: Verification) -> Iterator[str]:
    """What the whole comes to, and what to publish."""
    yield ""
    failed = [check.name for check in verification.checks if check.state == "failed"]
    unchecked = [check.name for check in verification.checks if check.state == "not-checked"]
    yield f"{_VERDICTS[verification.exit_status]}" + (f" Failed: {', '.join(failed)}." if failed else "")
    in_part = [check.name for check in verification.checks if check.state == "holds" and check.in_part]
    if in_part:
        yield f"Checked in part, for what is missing: {', '.join(in_part)}."
    if unchecked:
        yield f"Not checked: {', '.join(unchecked)}."
    if verification.unfinished:
        yield shown(verification.unfinished, _MOST_SHOWN)
    for what, digest in (
        ("manifest.json", verification.manifest_sha256),
        ("archive", verification.archive_sha256),
    ):
        if digest:
            yield f"SHA-256 of the {what}: {digest}"


def as_data(verification: Verification) -> dict[str, Any]:
    """Everything as plain data, ready for JSON."""
    return {
        "format": FORMAT,
        "name": verification.name,
        "run_id": verification.run_id,
        "exit_status": verification.exit_status,
        "unfinished": verification.unfinished,
        "manifest_sha256": verification.manifest_sha256,
        "archive_sha256": verification.archive_sha256,
        "checks": [{"state": check.state, **asdict(check)} for check in verification.checks],
    }


def to_line(check: Check) -> str:
    """One check as a line of JSON."""
    return json.dumps({"check": asdict(check)})


def from_data(data: Mapping[str, Any]) -> Check:
    """The check that `to_line` told of."""
    failures = tuple(Failure(**failure) for failure in data["failures"])
    told = {name: tuple(data[name]) for name in ("missing", "notes")}
    return Check(**{**data, **told, "failures": failures})
