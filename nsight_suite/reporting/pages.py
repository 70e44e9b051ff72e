"""Setting a report in HTML and in Markdown."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from nsight_suite.reconciliation.findings import FAMILIES
from nsight_suite.reconciliation.table import LOOKS
from nsight_suite.reporting.contents import Report

_HERE = Path(__file__).parent

# The pages of the report, each with what it is for and its sections.
PAGES = {
    "protocol": (
        "Protocol",
        "What was declared before anything was measured, and how this run was made.",
        {"declared": "What was declared", "made": "How this run was made", "reproduce": "How to reproduce"},
    ),
    "results": (
        "Results",
        "What was found. Every number leads to its query and to the raw rows behind it.",
        {"verdicts": "Verdicts", "findings": "Findings", "figures": "Figures", "tables": "Tables"},
    ),
    "evidence": (
        "Evidence",
        "What the results rest on: checks, programs, devices and files; each query with its text and raw rows.",
        {
            "checks": "Validation",
            "environment": "Environment",
            "queries": "Queries and raw rows",
            "views": "Views that queries share",
        },
    ),
    "limits": (
        "Limits",
        "What may not be concluded from this run, and what it could not answer.",
        {
            "inference": "Limits of inference",
            "unanswered": "Questions without an answer",
            "lacking": "What is missing",
        },
    ),
}
SECTIONS = {anchor: title for _, _, sections in PAGES.values() for anchor, title in sections.items()}


def html(report: Report) -> str:
    """One HTML file that loads nothing from anywhere and is whole without its script."""
    from markupsafe import Markup

    style, script = (f"\n{(_HERE / name).read_text(encoding='utf-8')}" for name in ("report.css", "report.js"))
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src {_allowed(style)}; script-src {_allowed(script)}"
    )
    return _set("report.html.j2", report, style=Markup(style), script=Markup(script), policy=policy)


def markdown(report: Report) -> str:
    """The same report as Markdown, without the figures' pictures and the raw rows."""
    return _set("report.md.j2", report)


def _allowed(text: str) -> str:
    """How a content security policy names the one style or script that may be used."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


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
    environment.filters |= {"cell": _cell, "image": _image}
    return environment.get_template(template).render(
        report=report, pages=PAGES, sections=SECTIONS, families=FAMILIES, looks=LOOKS, **more
    )


def _cell(text: object) -> str:
    """Text inside a cell of a Markdown table."""
    return str(text).replace("|", "\\|").replace("\n", " ")


def _image(svg: str) -> str:
    """The source of an image, with its quotes. The text holds neither a single quote nor an ampersand."""
    from markupsafe import Markup

    return Markup(f"'data:image/svg+xml,{svg}'")
