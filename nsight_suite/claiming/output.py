"""What was found, for people and for machines: text, JSON, SARIF 2.1.0, annotations of GitHub."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from nsight_suite import __version__
from nsight_suite.claiming.article import Checked, Report
from nsight_suite.claiming.findings import CODES, Finding
from nsight_suite.claiming.fixing import Fix
from nsight_suite.claiming.units import fitting, written

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def as_text(report: Report, path: str, *, every: bool = False) -> str:
    """One line per finding, `file:line:column: code: message`, its way out below; then a summary.

    `every` also lists the claims that hold, with their values.
    """
    told: list[tuple[Finding | Checked, str]] = []
    for finding in report.findings:
        way_out = f"\n    {finding.way_out}" if finding.way_out else ""
        told.append((finding, f"{finding.code}: {finding.message}{way_out}"))
    if every:
        holding = [one for one in report.checked if one.holds]
        told += [(one, f"holds: {' '.join(one.text.split())} is {_value(one)}") for one in holding]
    told.sort(key=lambda line: (line[0].line, line[0].column))
    lines = [f"{path}:{one.line}:{one.column}: {text}\n" for one, text in told]
    return "".join(lines) + f"{path}: {_summary(report)}\n"


def as_json(report: Report, path: str, runs: Sequence[str]) -> str:
    """Findings and claims as JSON; values in base units, a range as two."""
    data = {
        "format": 1,
        "article": path,
        "runs": list(runs),
        "findings": [{**asdict(finding), "level": finding.level} for finding in report.findings],
        "claims": [
            {
                "line": one.line,
                "column": one.column,
                "text": one.text,
                "binding": one.binding,
                "values": [float(amount) for amount in one.value.amounts] or [one.value.text],
                "unit": one.value.unit.dimension,
                "holds": one.holds,
            }
            for one in report.checked
        ],
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def as_sarif(report: Report, path: str) -> str:
    """A SARIF 2.1.0 log with one run; columns count code points."""
    codes = list(CODES)
    results: list[dict[str, Any]] = []
    for finding in report.findings:
        region = {
            "startLine": finding.line,
            "startColumn": finding.column,
            "endLine": finding.line,
            "endColumn": finding.column + finding.length,
        }
        location: dict[str, Any] = {"artifactLocation": {"uri": quote(path)}, "region": region}
        result: dict[str, Any] = {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": finding.level,
            "message": {"text": _message(finding)},
            "locations": [{"physicalLocation": location}],
        }
        if finding.fix:
            result["fixes"] = [_sarif_fix(finding.fix, location["artifactLocation"])]
        results.append(result)
    driver = {
        "name": "nsight-suite claims",
        "version": __version__,
        "rules": [{"id": code, "shortDescription": {"text": about}} for code, about in CODES.items()],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return (
        json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2) + "\n"
    )


def _sarif_fix(fix: Fix, where: dict[str, Any]) -> dict[str, Any]:
    deleted = {"startLine": fix.line, "startColumn": fix.column, "endColumn": fix.column + len(fix.old)}
    replacement = {"deletedRegion": deleted, "insertedContent": {"text": fix.new}}
    return {
        "description": {"text": f"Write {fix.new} for {fix.old}."},
        "artifactChanges": [{"artifactLocation": where, "replacements": [replacement]}],
    }


def as_github(report: Report, path: str) -> str:
    """Workflow commands that GitHub shows as annotations of the article."""
    return "".join(
        f"::{finding.level} file={_property(path)},line={finding.line},col={finding.column},"
        f"endColumn={finding.column + finding.length},title={_property(finding.code)}"
        f"::{_data(_message(finding))}\n"
        for finding in report.findings
    )


def _message(finding: Finding) -> str:
    return f"{finding.message} {finding.way_out}".strip()


def _summary(report: Report) -> str:
    count, held = len(report.checked), sum(one.holds for one in report.checked)
    found = len(report.findings)
    bound = f"{held} of {count} bound numbers hold" if count else "no number was checked"
    return f"{bound}, {found or 'no'} finding{'' if found == 1 else 's'}"


def _value(one: Checked) -> str:
    if one.value.text is not None:
        return one.value.text
    unit = one.value.unit.dimension
    return " to ".join(written(amount, fitting(amount, unit)) for amount in one.value.amounts)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
