"""Figures drawn again and compared byte for byte, where the libraries are those that drew them."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from typing import Any

from nsight_suite.drawing import Drawing
from nsight_suite.querying import open_evidence, run_sql
from nsight_suite.querying.formats import as_text
from nsight_suite.runfolder import sha256, text_sha256
from nsight_suite.verifying.checks import Check, Findings, Subject, objects

NAME = "figures"
ABOUT = "figures drawn again from the evidence are the same bytes"

PROVENANCE = ".provenance.json"
_PICTURES = (".png", ".svg")


def check(subject: Subject) -> Check:
    """Figures against their provenance, and against what is drawn here."""
    found = Findings()
    figures = [path for path in subject.files if path.startswith("figures/")]
    told = [path for path in figures if path.endswith(PROVENANCE)]
    names = {path.removeprefix("figures/").removesuffix(PROVENANCE) for path in told}
    for path in figures:
        if path.endswith(_PICTURES) and path.removeprefix("figures/").rpartition(".")[0] not in names:
            found.fail(path, f"has no {PROVENANCE} that says what it was drawn from")
    if not told:
        found.miss("the run holds no figures")
        return found.as_check(NAME, ABOUT)
    drawn: Mapping[str, Drawing] = {}
    with found.readable("figures"):
        drawn = {drawing.source.name: drawing for drawing in subject.drawn.drawings}
        left_out = subject.drawn.left_out
        for name in sorted(names & left_out.keys()):
            found.fail(f"figures/{name}", f"cannot be drawn from this evidence: {left_out[name]}")
            names.discard(name)
    for name in sorted(names):
        inside = f"figures/{name}{PROVENANCE}"
        with found.readable(inside):
            _compare(subject, name, subject.json(inside), drawn.get(name), found)
    return found.as_check(NAME, ABOUT)


def _compare(
    subject: Subject, name: str, told: Mapping[str, Any], drawing: Drawing | None, found: Findings
) -> None:
    outputs = _hashes(told.get("outputs"))
    for output, digest in outputs.items():
        path = f"figures/{output}"
        if path not in subject.files:
            found.miss(f"{path} is not here")
        elif (now := sha256(subject.path(path))) != digest:
            found.fail(
                path, f"is not the picture that its provenance tells: its SHA-256 is {now}, not {digest}"
            )
    for query in objects(told.get("queries")):
        if text_sha256(str(query.get("sql"))) != query.get("sha256"):
            found.fail(
                f"figures/{name}", f"the SQL of its query {query.get('key')!r} does not have its SHA-256"
            )
    if drawing is None:
        found.miss(f"figures/{name}: this suite has no figure of that name for the experiment")
        return
    here = drawing.provenance
    if told.get("run_id") != here["run_id"]:
        found.fail(f"figures/{name}", f"is of the run {told.get('run_id')!r}, not {here['run_id']!r}")
    same_inputs = _compare_inputs(name, told, here, found)
    _compare_rows(subject, name, told, here, found)
    others = [*other_versions(told, here), *_other_texts(told, here)]
    if others:
        found.count("figures compared by their inputs")
        found.miss(f"figures/{name} byte for byte: {', '.join(others)}")
        return
    if not same_inputs:
        return  # that it was drawn from something else is told
    found.count("figures drawn again")
    for suffix, content in ((".svg", drawing.svg), (".png", drawing.png)):
        path = f"figures/{name}{suffix}"
        if path in subject.files and subject.path(path).read_bytes() != content:
            found.fail(path, "is not what is drawn from this evidence")
        if path in subject.files and path.removeprefix("figures/") not in outputs:
            found.fail(path, "is not among the outputs that its provenance tells")


def _compare_inputs(name: str, told: Mapping[str, Any], here: Mapping[str, Any], found: Findings) -> bool:
    """Whether the figure was drawn from the evidence that is here. Views are of the suite, not of the run."""
    inputs, now = (
        {path: digest for path, digest in _hashes(one).items() if not path.startswith("queries/")}
        for one in (told.get("inputs"), here["inputs"])
    )
    for path in sorted(inputs.keys() | now.keys()):
        if inputs.get(path) != now.get(path):
            was, is_now = (
                f"SHA-256 {digest}" if digest else "not there" for digest in (inputs.get(path), now.get(path))
            )
            found.fail(f"figures/{name}", f"was drawn from another {path}: it was {was}, and is {is_now}")
    return inputs == now


def _compare_rows(
    subject: Subject, name: str, told: Mapping[str, Any], here: Mapping[str, Any], found: Findings
) -> None:
    """The rows that a figure shows: as its provenance tells, as drawn here, and as plain evidence gives."""
    rows, drawn = (
        {str(one.get("key")): str(one.get("sha256")) for one in objects(of.get("rows"))} for of in (told, here)
    )
    asked = _queries(told)
    store = open_evidence(subject.plain)
    with store.connection:
        for query in here["queries"]:
            key = query["key"]
            now = text_sha256(as_text(run_sql(store, query["sql"]), "csv"))
            found.count("queries of figures")
            if drawn[key] != now:
                found.fail(f"figures/{name}", f"the files of the evidence hide rows from its query {key!r}")
            elif asked.get(key) == query["sha256"] and rows.get(key, now) != now:
                found.fail(f"figures/{name}", f"shows other rows of its query {key!r} than the evidence gives")


def _queries(provenance: Mapping[str, Any]) -> dict[str, str]:
    return {str(query.get("key")): str(query.get("sha256")) for query in objects(provenance.get("queries"))}


def other_versions(told: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Libraries that drew it in another version than those that are installed."""
    libraries = told.get("libraries")
    libraries = libraries if isinstance(libraries, dict) else {}
    found = []
    for name in sorted({*libraries, *here["libraries"]}):
        drew, mine = libraries.get(name), here["libraries"].get(name) or _version(name)
        if drew != mine:
            found.append(f"drawn with {name} {drew or 'unknown'}, and {mine or 'none'} is installed")
    if told.get("suite_version") != here["suite_version"]:
        found.append(
            f"drawn by version {told.get('suite_version')} of the suite, and this is {here['suite_version']}"
        )
    return found


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(str(name))
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None


def _other_texts(told: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """The figure's code, queries and views, where they are other ones than this suite's."""
    found = []
    source = told.get("source")
    if not isinstance(source, dict) or source.get("sha256") != here["source"]["sha256"]:
        found.append("other version of the figure's code")
    if told.get("configuration") != here.get("configuration"):
        found.append("other protocol, style or resolution")
    if _queries(told) != _queries(here):
        found.append("other version of its queries")
    views, mine = (
        {path: digest for path, digest in _hashes(one).items() if path.startswith("queries/")}
        for one in (told.get("inputs"), here["inputs"])
    )
    if views != mine:
        found.append("other version of the views that its queries read")
    return found


def _hashes(entries: Any) -> dict[str, str]:
    return {str(one.get("path")): str(one.get("sha256")) for one in objects(entries)}
