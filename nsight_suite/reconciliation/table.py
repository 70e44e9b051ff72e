"""A reconciliation as text: a table of verdicts, then every finding that is not plain agreement."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from nsight_suite.reconciliation.findings import (
    AGREE,
    CANNOT_ANSWER,
    DISAGREE,
    EXPLAINED,
    FAMILIES,
    NOT_DECLARED,
    Finding,
    Reconciliation,
    as_data,
)

WORDS = {
    AGREE: "agree",
    EXPLAINED: "explained",
    DISAGREE: "DISAGREE",
    CANNOT_ANSWER: "can't answer",
    NOT_DECLARED: "–",
}
_STYLES = {
    AGREE: "green",
    EXPLAINED: "cyan",
    DISAGREE: "bold red",
    CANNOT_ANSWER: "yellow",
    NOT_DECLARED: "dim",
}
_OUTCOMES = {
    0: "Reconciled: every verdict is agreement or explained.",
    1: "The evidence disagrees.",
    2: "Nothing disagrees, but some questions cannot be answered.",
}
_MOST_SEEN = 3


@dataclass(frozen=True)
class FindingGroup:
    """Findings of one code, verdict and meaning, told together."""

    code: str
    family: str
    verdict: str
    means: str
    next_step: str
    sources: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def seen(self) -> list[str]:
        """Each distinct thing seen, with its case, or the number of cases that share it."""
        cases: dict[str, list[str]] = {}
        for finding in self.findings:
            cases.setdefault(finding.seen, []).append(finding.case_id or "")
        return [_with_cases(seen, [name for name in names if name]) for seen, names in cases.items()]


def grouped(reconciliation: Reconciliation) -> list[FindingGroup]:
    """Every finding that is not plain agreement, the gravest first, grouped by what it means."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in reconciliation.doubts():
        groups.setdefault((finding.verdict, finding.code, finding.means), []).append(finding)
    return [
        FindingGroup(
            code,
            members[0].family,
            verdict,
            means,
            members[0].next_step,
            tuple(members[0].sources),
            tuple(members),
        )
        for (verdict, code, means), members in groups.items()
    ]


def outcome(reconciliation: Reconciliation) -> str:
    """One sentence on the whole run."""
    return _OUTCOMES[reconciliation.exit_status]


def render(reconciliation: Reconciliation, *, width: int | None = None, colour: bool = False) -> str:
    """The verdicts and the doubts as text of at most `width` columns (default: the terminal's)."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = width or max(shutil.get_terminal_size((110, 24)).columns, 60)
    console = Console(file=StringIO(), width=columns, force_terminal=colour, highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold" if colour else "")
    for heading in ("case", *FAMILIES):
        table.add_column(heading, no_wrap=True)
    for case in reconciliation.cases:
        cells = [Text(WORDS[verdict], _STYLES[verdict]) for verdict in case.verdicts.values()]
        table.add_row(case.case_id, *cells)
    console.print(table)
    for group in grouped(reconciliation):
        title = Text.assemble(
            ("\n" + WORDS[group.verdict], _STYLES[group.verdict]), f"  {group.code} ({group.family})"
        )
        console.print(title)
        for label, text in (("seen", _listed(group.seen)), ("means", group.means), ("next", group.next_step)):
            if text:
                grid = Table.grid(padding=(0, 1, 0, 0))
                grid.add_column(width=7, justify="right")
                grid.add_column(overflow="fold")
                grid.add_row(label, Text(text))
                console.print(grid)
    console.print(f"\n{outcome(reconciliation)}")
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def to_markdown(reconciliation: Reconciliation) -> str:
    """The same as Markdown."""
    lines = ["| case | " + " | ".join(FAMILIES) + " |", "|" + "---|" * (len(FAMILIES) + 1)]
    for case in reconciliation.cases:
        cells = [WORDS[case.verdicts[family]] for family in FAMILIES]
        lines.append(f"| `{case.case_id}` | {' | '.join(cells)} |")
    for group in grouped(reconciliation):
        lines += ["", f"**{WORDS[group.verdict]}: {group.code}** ({group.family})", ""]
        lines += [f"- seen: {_escaped(seen)}" for seen in group.seen[:_MOST_SEEN]]
        if (more := len(group.seen) - _MOST_SEEN) > 0:
            lines.append(f"- seen: {more} more like it")
        lines += [f"- means: {_escaped(group.means)}"] if group.means else []
        lines += [f"- next: {_escaped(group.next_step)}"] if group.next_step else []
    return "\n".join([*lines, "", outcome(reconciliation), ""])


def to_json(reconciliation: Reconciliation) -> str:
    """Everything, also plain agreement, as JSON."""
    return json.dumps(as_data(reconciliation), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _listed(seen: Sequence[str]) -> str:
    more = [f"… and {len(seen) - _MOST_SEEN} more like it"] if len(seen) > _MOST_SEEN else []
    return "\n".join([*seen[:_MOST_SEEN], *more])


def _with_cases(seen: str, cases: Sequence[str]) -> str:
    if not cases:
        return seen
    return f"{cases[0]}: {seen}" if len(cases) == 1 else f"{seen} ({len(cases)} cases)"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
