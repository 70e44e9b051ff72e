"""Setting a report in HTML and in Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nsight_suite.reconciliation.findings import FAMILIES
from nsight_suite.reconciliation.table import LOOKS
from nsight_suite.reporting.contents import Report

_HERE = Path(__file__).parent

SECTIONS = {
    "verdicts": "Verdicts",
    "findings": "Findings",
    "figures": "Figures",
    "tables": "Tables",
    "limits": "Limits of inference",
    "checks": "Validation",
    "environment": "Environment",
    "reproduce": "How to reproduce",
}


def html(report: Report) -> str:
    """One HTML page that loads nothing from anywhere and needs no script."""
    from markupsafe import Markup

    style = (_HERE / "report.css").read_text(encoding="utf-8")
    return _set("report.html.j2", report, style=Markup(style))


def markdown(report: Report) -> str:
    """The same report as Markdown, without the figures' pictures."""
    return _set("report.md.j2", report)


def _set(template: str, report: Report, **more: Any) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    return environment.get_template(template).render(
        report=report, sections=SECTIONS, families=FAMILIES, looks=LOOKS, **more
    )


def _cell(text: object) -> str:
    """Text inside a cell of a Markdown table."""
    return str(text).replace("|", "\\|").replace("\n", " ")
