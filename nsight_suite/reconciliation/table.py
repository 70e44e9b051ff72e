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
from nsight_suite.reconciliation.limits import ANSWERS


@dataclass(frozen=True)
class Look:
    """How a verdict is shown: a mark of its own, so that none is told by colour alone."""

    mark: str
    style: str
    meaning: str


LOOKS = {
    AGREE: Look("✓", "green", "the witnesses say the same"),
    EXPLAINED: Look("≈", "cyan", "they differ by a named effect, with numbers"),
    CANNOT_ANSWER: Look("?", "yellow", "the evidence does not hold the answer"),
    DISAGREE: Look("✗", "bold red", "they contradict one another or the declaration"),
    NOT_DECLARED: Look("–", "dim", "does not apply to the case"),
}
# By exit status: the verdict on the whole run, and a sentence.
_OUTCOMES = {
    0: (AGREE, "Reconciled: every verdict is agreement or explained."),
    1: (DISAGREE, "The evidence disagrees."),
    2: (CANNOT_ANSWER, "Nothing disagrees, but some questions cannot be answered."),
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


def outcome(reconciliation: Reconciliation) -> tuple[str, str]:
    """The verdict on the whole run, and a sentence."""
    return _OUTCOMES[reconciliation.exit_status]


def answers(reconciliation: Reconciliation) -> dict[str, str]:
    """What bounds each case (launch-bound, memory-bound, l2-resident, neither-bound), as far as it is known."""
    return {one.case_id: one.code for one in reconciliation.findings if one.case_id and one.code in ANSWERS}


def cells(reconciliation: Reconciliation) -> dict[str, dict[str, str]]:
    """What the table says of each case in each family: mark, verdict and, of limits, the answer."""
    bound = answers(reconciliation)
    shown = {}
    for case in reconciliation.cases:
        shown[case.case_id] = {family: shown_verdict(verdict) for family, verdict in case.verdicts.items()}
        if case.case_id in bound:
            shown[case.case_id]["limits"] += f": {bound[case.case_id]}"
    return shown


def shown_verdict(verdict: str) -> str:
    """Mark and verdict: `✓ agree`."""
    return LOOKS[verdict].mark if verdict == NOT_DECLARED else f"{LOOKS[verdict].mark} {verdict}"


def render(reconciliation: Reconciliation, *, width: int | None = None, colour: bool = False) -> str:
    """The verdicts and the doubts as text of at most `width` columns (default: the terminal's)."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = width or max(shutil.get_terminal_size((110, 24)).columns, 60)
    console = Console(file=StringIO(), width=columns, force_terminal=colour, highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold" if colour else "")
    for heading in ("case", *FAMILIES):
        # In a narrow terminal words are broken rather than lost.
        table.add_column(heading, no_wrap=heading == "case", overflow="fold")
    texts = cells(reconciliation)
    for case in reconciliation.cases:
        styles = {family: LOOKS[verdict].style for family, verdict in case.verdicts.items()}
        # The word and its colour are enough in a terminal, where columns are dear.
        row = [
            Text(text.removeprefix(f"{LOOKS[case.verdicts[family]].mark} "), styles[family])
            for family, text in texts[case.case_id].items()
        ]
        table.add_row(case.case_id, *row)
    console.print(table)
    for group in grouped(reconciliation):
        title = Text.assemble(
            ("\n" + shown_verdict(group.verdict), LOOKS[group.verdict].style),
            f"  {group.code} ({group.family})",
        )
        console.print(title)
        for label, text in (("seen", _listed(group.seen)), ("means", group.means), ("next", group.next_step)):
            if text:
                grid = Table.grid(padding=(0, 1, 0, 0))
                grid.add_column(width=7, justify="right")
                grid.add_column(overflow="fold")
                grid.add_row(label, Text(text))
                console.print(grid)
    console.print(f"\n{outcome(reconciliation)[1]}")
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def to_markdown(reconciliation: Reconciliation) -> str:
    """The same as Markdown."""
    parts = (markdown_table(reconciliation), markdown_findings(reconciliation, _MOST_SEEN))
    return "\n\n".join([*(part for part in parts if part), outcome(reconciliation)[1]]) + "\n"


def markdown_table(reconciliation: Reconciliation) -> str:
    """The table of verdicts as Markdown."""
    lines = ["| case | " + " | ".join(FAMILIES) + " |", "|" + "---|" * (len(FAMILIES) + 1)]
    lines += [f"| `{name}` | {' | '.join(row.values())} |" for name, row in cells(reconciliation).items()]
    return "\n".join(lines)


def markdown_findings(reconciliation: Reconciliation, most_seen: int | None = None) -> str:
    """Everything that is not plain agreement as Markdown, of each kind at most so many as seen."""
    parts = []
    for group in grouped(reconciliation):
        lines = [f"**{shown_verdict(group.verdict)}: {group.code}** ({group.family})", ""]
        lines += [f"- seen: {_escaped(seen)}" for seen in group.seen[:most_seen]]
        if more := len(group.seen[most_seen:] if most_seen else ()):
            lines.append(f"- seen: {more} more like it")
        lines += [f"- means: {_escaped(group.means)}"] if group.means else []
        lines += [f"- next: {_escaped(group.next_step)}"] if group.next_step else []
        lines += [f"- from: {', '.join(f'`{name}`' for name in group.sources)}"] if group.sources else []
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


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
