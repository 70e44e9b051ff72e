"""A log of compute-sanitizer → its summary."""

from __future__ import annotations

import re
from pathlib import Path

from nsight_suite.errors import BadReport
from nsight_suite.evidence.notes import note_doubts, note_report
from nsight_suite.evidence.store import Connection, insert_rows

# "========= ERROR SUMMARY: 0 errors", or "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, …)"
SUMMARY = re.compile(r"=+ ((?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard).*)")


def read(connection: Connection, path: Path, pass_name: str) -> None:
    """Insert one row for the tool that the file's name tells: sanitize.TOOL.log.

    A log of several processes has several summaries; their errors are added up.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadReport(f"{path.name} cannot be read: {error.strerror}.") from error
    tool = path.name.split(".")[1]
    found = [match for line in text.splitlines() if (match := SUMMARY.match(line.rstrip()))]
    insert_rows(
        connection,
        "sanitizer",
        [
            {
                "pass": pass_name,
                "tool": tool,
                "errors": sum(int(match[2]) for match in found) if found else None,
                "summary": "; ".join(match[1] for match in found) or None,
            }
        ],
    )
    note_report(connection, pass_name, path, "sanitizer-log", rows=len(found), complete=bool(found))
    if not found:
        reason = (
            f"{path.name} has no summary, so the number of errors is unknown. {tool} was ended early or "
            "could not start; see the pass's log."
        )
        note_doubts(connection, pass_name, [("no-sanitizer-summary", path.name, reason)])
