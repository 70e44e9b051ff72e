"""What of a run's evidence is out of reach: tables, passes, reports.

Found before anything is judged, so that each fault is named once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nsight_suite.reconciliation.amounts import counted
from nsight_suite.reconciliation.findings import CANNOT_ANSWER, DISAGREE, EXPLAINED, MISSING_EVIDENCE
from nsight_suite.reconciliation.witnesses import Evidence, Gap, Row
from nsight_suite.runfolder import RunFolder, sha256

GRAPH_LEVEL = "graph-level-trace"
# Doubts of the readers after which a pass cannot speak.
_BLOCKING = {
    "cuda-not-traced",
    "driver-failed",
    "missing-column",
    "missing-report",
    "no-api-table",
    "no-kernel-table",
    "no-range-table",
    "ranges-vanished",
    "truncated-records",
    "truncated-report",
    "unreadable-report",
    GRAPH_LEVEL,
}
# Doubts that leave the rest whole and are worth a line.
_NOTES = {
    "call-never-ended",
    "capture-never-ended",
    "clock-set-back",
    "foreign-lines",
    "kernel-without-launch",
    "missing-metric",
    "only-start-end-ranges",
    "range-never-closed",
    "schema-newer-minor",
    "schema-unknown",
    "unknown-column",
    "untimed-kernel",
    "versioned-table",
}
# Judged from the rows themselves, with the case.
_TOLD_ELSEWHERE = {"graph-coverage", "launch-without-kernel", "no-sanitizer-summary"}
_BUILDS = "reports/builds/"
_REBUILD = (
    "Rebuild the evidence from its reports (python -m nsight_suite.evidence RUN), or capture the pass again."
)
_RESUME = "Mend the cause and go on: python -m nsight_suite.capture EXPERIMENT --resume RUN"
_NODE_TRACE = "Capture the pass again with nsys profile --cuda-graph-trace=node."


def find_gaps(evidence: Evidence, run: RunFolder) -> list[Gap]:
    """Every gap of the run, one for each subject, the widest first."""
    found = [
        *_tables(evidence.missing),
        *_passes(evidence.rows["passes"]),
        *_files(_recorded_files(evidence.rows["artifacts"], run), run, evidence.rows["sources"]),
    ]
    found += _protocol(run)
    if not run.expected.is_file():
        found.append(_undeclared())
    silent = {gap.subject for gap in found if gap.code.endswith("-pass")}
    found += [gap for name, gap in _doubts(evidence.rows["findings"]) if name not in silent]
    found += _traces(evidence, found)
    found += _unknown_invocations(evidence)
    found += _waits(evidence, found)
    merged: dict[str, Gap] = {}
    for gap in found:
        merged[gap.subject] = _merged(merged[gap.subject], gap) if gap.subject in merged else gap
    return list(merged.values())


def _merged(first: Gap, other: Gap) -> Gap:
    """Two gaps of one subject are one fault: told in the words of the first, out of reach for both."""
    blocks = bool(other.passes | other.tables)
    return replace(
        first,
        verdict=CANNOT_ANSWER if blocks else first.verdict,
        passes=first.passes | other.passes,
        tables=first.tables | other.tables,
    )


def _undeclared() -> Gap:
    return Gap(
        "nothing-declared",
        "protocol/expected.sql",
        "protocol/expected.sql is missing",
        "No kernels, nodes or bytes are declared, so witnesses are compared with one another only.",
        "Put the experiment's expected.sql there.",
        EXPLAINED,
        sources=("protocol/expected.sql",),
    )


def _protocol(run: RunFolder) -> Iterator[Gap]:
    """The protocol beside the evidence must be the one that was run: tolerances, cases, passes come from it."""
    told = run.read_run().get("protocol_sha256")
    if told and told != sha256(run.protocol):
        yield Gap(
            "changed-protocol",
            "protocol/protocol.toml",
            "protocol/protocol.toml is not the file that this run was made by",
            "Tolerances, cases or passes may have been changed after the results were known.",
            "Bring the protocol back from where the run was made, or capture again by the new one.",
            DISAGREE,
            sources=("protocol/protocol.toml", "run.json"),
        )


def _tables(missing: Mapping[str, str]) -> Iterator[Gap]:
    for table, reason in missing.items():
        absent = reason.endswith("is missing")
        path = f"evidence/{table}.parquet"
        yield Gap(
            "missing-table" if absent else "damaged-table",
            path,
            f"{path} is missing" if absent else f"{path} cannot be read: {reason}",
            "What it would show is unknown, not empty.",
            _REBUILD,
            tables=frozenset({table}),
            sources=(path,),
        )


def _passes(passes: Sequence[Row]) -> Iterator[Gap]:
    for row in passes:
        if row["state"] == "ok":
            continue
        absent = row["state"] == "absent"
        reason = f": {row['reason']}" if row["reason"] else ""
        yield Gap(
            "absent-pass" if absent else "failed-pass",
            row["pass"],
            f"pass {row['pass']} {'never finished' if absent else 'failed'}{reason}",
            "What only this pass measures is unknown.",
            _RESUME,
            passes=frozenset({row["pass"]}),
            sources=("passes",),
        )


def _recorded_files(artifacts: Iterable[Row], run: RunFolder) -> dict[str, Mapping[str, Any]]:
    """Size and hash of each report as its pass left it; where no pass tells, as the evidence read it."""
    files: dict[str, Mapping[str, Any]] = {row["path"]: row for row in artifacts}
    for name, record in run.pass_records().items():
        files.update({entry["path"]: {**entry, "pass": name} for entry in record.get("artifacts") or ()})
    return {path: entry for path, entry in files.items() if path.startswith("reports/")}


def _files(files: Mapping[str, Mapping[str, Any]], run: RunFolder, sources: Sequence[Row]) -> Iterator[Gap]:
    """Reports that are no longer what they were.

    A report that is not here is no fault: the evidence stands alone. The builds of a pass stay together.
    """
    read = {row["file"]: row for row in sources}
    for inside, entry in sorted(files.items()):
        path = run.path / inside
        if inside.startswith(_BUILDS) and run.reports.is_dir() and not os.path.lexists(path):
            yield Gap(
                "missing-report",
                inside,
                f"{inside} is missing, which its pass left",
                "That the kernels that ran are the ones that were built cannot be shown any more.",
                "Bring the file back from where it was made, or capture the pass again.",
                sources=(inside,),
            )
        if not path.is_file() or (digest := sha256(path)) == entry["sha256"]:
            continue
        size, source = path.stat().st_size, read.get(path.name, {})
        cut = size < entry["bytes"]
        # Evidence that was built from the file as it now is has the fault too.
        spoilt = source.get("sha256") == digest
        name = source.get("pass") or entry.get("pass")
        yield Gap(
            "truncated-report" if cut else "changed-report",
            path.name,
            f"{inside} holds {size} of the {entry['bytes']} bytes that its pass left"
            if cut
            else f"{inside} is not the file that its pass left",
            f"It was {'cut off' if cut else 'changed'} after the capture; the evidence was built "
            f"{'from what is left of it' if spoilt and cut else 'from it' if spoilt else 'before that'}.",
            "Bring the report back from where it was made, or capture the pass again.",
            CANNOT_ANSWER if cut else DISAGREE,
            passes=frozenset({name} if cut and spoilt and name else ()),
            sources=(inside,),
        )


def _doubts(rows: Sequence[Row]) -> Iterator[tuple[str | None, Gap]]:
    """What the readers noted, with its pass; what blocks comes first."""
    for row in sorted(rows, key=lambda row: row["code"] not in _BLOCKING):
        code, name = row["code"], row["pass"]
        if code in _TOLD_ELSEWHERE:
            continue
        note = code in _NOTES
        yield (
            name,
            Gap(
                code,
                f"{code} of {name} {row['subject']}" if note else row["subject"] or code,
                f"{row['subject']}: {row['reason']}",
                "",
                "" if note else _NODE_TRACE if code == GRAPH_LEVEL else _REBUILD,
                EXPLAINED if note else DISAGREE if code == "changed-report" else CANNOT_ANSWER,
                passes=frozenset({name} if code in _BLOCKING and name else ()),
                graph_only=code == GRAPH_LEVEL,
                sources=("findings",),
            ),
        )


def _waits(evidence: Evidence, gaps: Sequence[Gap]) -> Iterator[Gap]:
    """Invocations of which none waits: how their time divides cannot be told."""
    if any(gap.tables & {"sync", "range", "variant_case"} or "nsys" in gap.passes for gap in gaps):
        return
    rows = evidence.rows["invocations"]
    if rows and not any(row["origin"] == "sync" for row in evidence.rows["evidence_rows"]):
        yield Gap(
            MISSING_EVIDENCE,
            "sync",
            f"none of {len(rows)} invocations waits for the device",
            "When the host had its answer is unknown.",
            "Rebuild the evidence from its reports, or capture the pass nsys again.",
            tables=frozenset({"sync"}),
            sources=("evidence_rows", "invocations"),
        )


def _unknown_invocations(evidence: Evidence) -> Iterator[Gap]:
    rows = [row for row in evidence.rows["completeness"] if row["seen_invocations"] is None]
    for name in sorted({row["pass"] for row in rows}):
        cases = [row["case_id"] for row in rows if row["pass"] == name]
        yield Gap(
            "unknown-invocation",
            f"invocations of {name}",
            f"{name} does not tell to which invocation workloads of {counted(len(cases), 'case')} belong",
            "Neither lost workloads nor bytes per invocation can be told.",
            "Give each range its ordinal as integer payload, and capture the pass again.",
            passes=frozenset({name}),
            sources=("completeness", "counters"),
        )


def _traces(evidence: Evidence, gaps: Sequence[Gap]) -> Iterator[Gap]:
    """Invocations that launched and show no kernel: kernels were not traced, or not those of graphs."""
    tables = {"range", "kernel", "launch", "variant_case"}
    if any(gap.tables & tables or "nsys" in gap.passes for gap in gaps):
        return
    rows = evidence.rows["invocations"]
    if any(row["launches"] for row in rows) and not any(row["kernels"] for row in rows):
        yield Gap(
            "no-kernels",
            "kernels",
            f"none of {len(rows)} invocations has a kernel, although they launch",
            "Their kernels are unknown, not zero.",
            "Check that nsys traced CUDA on the device, and capture the pass again.",
            passes=frozenset({"nsys"}),
            sources=("invocations",),
        )
        return
    graphs = {case["case_id"] for case in evidence.cases if case["submission"] == "graph"}
    replays = [row for row in rows if row["case_id"] in graphs and row["launches"]]
    if replays and not any(row["kernels"] for row in replays):
        yield Gap(
            GRAPH_LEVEL,
            "kernels of graph launches",
            f"{len(replays)} invocations replay a graph and none shows a kernel of a graph node",
            "Graphs were traced as a whole: what ran inside is unknown, not zero, and has no times.",
            _NODE_TRACE,
            passes=frozenset({"nsys"}),
            graph_only=True,
            sources=("invocations",),
        )
