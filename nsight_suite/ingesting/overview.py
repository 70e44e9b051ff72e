"""What an ingest tells at its end: a line per report, and every finding with its remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

from nsight_suite.evidence.store import Connection

UNKNOWN = "?"
NOT_ASKED = "–"


@dataclass(frozen=True)
class Line:
    """A report in numbers, as text: `?` where a number is unknown, `–` where the question does not apply."""

    report: str
    format: str
    tool: str = UNKNOWN
    schema: str = NOT_ASKED
    kernels: str = UNKNOWN
    launches: str = NOT_ASKED
    ranges: str = NOT_ASKED
    unattributed: str = NOT_ASKED
    graph_coverage: str = NOT_ASKED


@dataclass(frozen=True)
class Doubt:
    """A finding as it is told."""

    code: str
    pass_name: str | None
    reason: str


@dataclass(frozen=True)
class Overview:
    lines: tuple[Line, ...]
    doubts: tuple[Doubt, ...]


# One scan of each table, however many reports there are. What an export has no table for is unknown.
_NUMBERS = """
WITH
kernels AS (
    SELECT pass, count(*) AS kernels, count(*) FILTER (path_id IS NULL AND range_id IS NULL) AS outside
    FROM kernel GROUP BY pass
),
launches AS (
    -- What was called while a stream was captured never ran.
    -- Any record covers a replay: of a kernel, copy or fill, or of the whole graph; as graph_coverage.sql says.
    SELECT l.pass, count(*) AS launches, count(*) FILTER (l.kind = 'graph') AS graphs,
        count(*) FILTER (l.kind = 'graph' AND (l.operations > 0 OR w.launch_id IS NOT NULL)) AS covered
    FROM launch l LEFT JOIN (SELECT DISTINCT pass, launch_id FROM graph_run) w USING (pass, launch_id)
    WHERE l.kind IN ('kernel', 'graph') AND l.captured IS NOT TRUE GROUP BY l.pass
),
ranges AS (SELECT pass, count(*) AS ranges FROM "range" GROUP BY pass)
SELECT p.pass, p.state, r.format, r.tool_version, r.schema_version, r.rows, r.call_rows, r.range_rows,
    coalesce(k.kernels, 0) AS kernels, coalesce(k.outside, 0) AS outside,
    coalesce(l.launches, 0) AS launches, coalesce(l.graphs, 0) AS graphs, coalesce(l.covered, 0) AS covered,
    coalesce(n.ranges, 0) AS ranges
FROM pass p LEFT JOIN report r USING (pass) LEFT JOIN kernels k USING (pass) LEFT JOIN launches l USING (pass)
LEFT JOIN ranges n USING (pass)
ORDER BY p.rowid, r.rowid
"""
_FINDINGS = "SELECT code, pass, reason FROM finding ORDER BY pass NULLS FIRST, code, subject, reason"


def overview(connection: Connection) -> Overview:
    """What an open store says of its reports."""
    doubts = tuple(Doubt(*row) for row in connection.execute(_FINDINGS).fetchall())
    untraced = {doubt.pass_name for doubt in doubts if doubt.code == "cuda-not-traced"}
    answer = connection.execute(_NUMBERS)
    names = [column[0] for column in answer.description or ()]
    rows = (dict(zip(names, row, strict=True)) for row in answer.fetchall())
    return Overview(tuple(_line(row, row["pass"] in untraced) for row in rows), doubts)


def _line(row: Mapping[str, Any], untraced: bool) -> Line:
    name, form = row["pass"], row["format"]
    tool = (row["tool_version"] or UNKNOWN).partition(" ")[0]  # without the number of a build
    # An empty table of a capture that did not ask for CUDA is no answer.
    kernels = UNKNOWN if row["rows"] is None or (untraced and not row["rows"]) else f"{row['rows']:,}"
    if form is None:
        return Line(name, row["state"])
    if not form.startswith("nsys"):
        return Line(name, form, tool, kernels=kernels)
    return Line(
        name,
        form,
        tool,
        row["schema_version"] or UNKNOWN,
        kernels,
        UNKNOWN if row["call_rows"] is None else f"{row['launches']:,}",
        UNKNOWN if row["range_rows"] is None else f"{row['ranges']:,}",
        UNKNOWN if kernels == UNKNOWN else _share(row["outside"], row["kernels"]),
        UNKNOWN if row["call_rows"] is None else _share(row["covered"], row["graphs"]),
    )


def _share(part: int, whole: int) -> str:
    """Rounded down, so that 100 % is all."""
    return f"{1000 * part // whole / 10:g} %" if whole else NOT_ASKED


def as_text(shown: Overview, limit: int) -> Iterator[str]:
    """The overview as lines of text, with at most `limit` findings."""
    headings = tuple(field.name.replace("_", " ") for field in fields(Line))
    rows = [headings, *(astuple(line) for line in shown.lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        shaped = (
            cell.ljust(width) if column < 4 else cell.rjust(width) for column, (cell, width) in enumerate(cells)
        )
        yield "  ".join(shaped).rstrip()
    if shown.doubts:
        yield ""
        yield f"{len(shown.doubts)} finding{'s' if len(shown.doubts) > 1 else ''}:"
        yield from _told(shown.doubts[:limit])
        if len(shown.doubts) > limit:
            yield f"  and {len(shown.doubts) - limit} more: they are rows of the table 'finding'"


def _told(doubts: Sequence[Doubt]) -> Iterator[str]:
    for doubt in doubts:
        where = f" [{doubt.pass_name}]" if doubt.pass_name else ""
        yield f"  {doubt.code}{where}: {' '.join(doubt.reason.split())}"
