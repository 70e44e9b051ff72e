"""Results: outputs pass their checks; all passes ran the same code and computed the same, on one device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nsight_suite.protocol import SESSIONS
from nsight_suite.reconciliation.amounts import counted, some
from nsight_suite.reconciliation.findings import CANNOT_ANSWER, DISAGREE, EXPLAINED, Finding
from nsight_suite.reconciliation.witnesses import Evidence, Row


def judge_run(evidence: Evidence, family: str) -> Iterator[Finding]:
    """What concerns the whole run."""
    yield from _sanitizers(evidence.rows["sanitizer"], family)
    yield from _devices(evidence.rows["device"], family)
    yield from _profiled_devices(evidence.rows["device"], evidence.rows["gpus"], family)
    yield from _sessions(evidence, family)
    yield from _builds(evidence.rows["builds"], evidence.rows["same_binary"], family)
    yield from _tools(evidence.rows["tools"], evidence.rows["device"], family)


def judge_case(
    validation: Sequence[Row], outputs: Sequence[Row], case_id: str, family: str
) -> Iterator[Finding]:
    """`validation` and `outputs` are a case's rows of the queries of these names."""
    failed = [row for row in validation if row["failed"]]
    if failed:
        seen = [
            f"{row['check']}{_of_array(row)} in pass {row['pass']} ({counted(row['failed'], 'fixture')}, "
            f"worst {row['worst']}, "
            f"limit {row['limit']})"
            for row in failed
        ]
        yield Finding(
            "failed-validation",
            family,
            DISAGREE,
            case_id,
            f"the check fails: {some(seen)}",
            {"failed": sum(row["failed"] for row in failed)},
            "The kernels compute something else, so none of their times or bytes mean anything.",
            "Correct the kernel; look at `query RUN validation`.",
            ("validation",),
        )
    other = [row["pass"] for row in outputs if row["same_output"] is False]
    if other:
        yield Finding(
            "output-differs",
            family,
            DISAGREE,
            case_id,
            f"pass {some(other)} computed another output than the pass that was validated and timed",
            {"passes": len(other)},
            "What was profiled or traced is not what was validated and timed.",
            "Check that every pass uses the same inputs and builds; capture again.",
            ("outputs",),
        )


def _of_array(row: Row) -> str:
    """Which array a check is of; runs of before arrays had names checked one."""
    return f" of {row['array']}" if row["array"] else ""


def _sanitizers(rows: Sequence[Row], family: str) -> Iterator[Finding]:
    for row in rows:
        if row["errors"] is None:
            yield Finding(
                "sanitizer-unclear",
                family,
                CANNOT_ANSWER,
                None,
                f"{row['tool']} gave no summary",
                means="Whether the kernels access memory rightly is unknown.",
                next_step="Run the pass sanitize again.",
                sources=("sanitizer",),
            )
        elif row["errors"]:
            yield Finding(
                "sanitizer-errors",
                family,
                DISAGREE,
                None,
                f"{row['tool']} found {counted(row['errors'], 'error')}",
                {"errors": row["errors"]},
                "A kernel accesses memory or synchronises wrongly; its results and times are in doubt.",
                f"Read reports/sanitize.{row['tool']}.log.",
                ("sanitizer",),
            )


def _builds(rows: Sequence[Row], launched: Sequence[Row], family: str) -> Iterator[Finding]:
    """`launched` are the rows of `same_binary`: what was launched must be one machine code as well."""
    differing = [row for row in rows if row["sources"] > 1 or row["cubins"] > 1]
    seen = [
        f"{row['kernel']} ({row['architecture']}{', instrumented' if row['traced'] else ''}): {row['sources']} "
        f"sources and {row['cubins']} machine codes in {row['passes']} passes"
        + (f", another in {row['odd_passes']}" if row["odd_passes"] else "")
        for row in differing
    ]
    built = {row["kernel"] for row in differing}
    seen += [
        f"{row['kernel']} of {row['source']}: {row['variants']} launch "
        f"{max(row['cubins'], row['traced_cubins'])} machine codes of it"
        for row in launched
        if max(row["cubins"], row["traced_cubins"]) > 1 and row["kernel"] not in built
    ]
    if seen:
        yield Finding(
            "build-differs",
            family,
            DISAGREE,
            None,
            some(seen),
            {"kernels": len(seen)},
            "The passes, or variants that are to differ in arguments alone, ran different machine code, so "
            "their witnesses are not of the same work.",
            "Look at `query RUN builds` and `query RUN same_binary`; capture every pass from one state of the "
            "sources.",
            ("builds", "same_binary"),
        )


def _tools(tools: Sequence[Row], devices: Sequence[Row], family: str) -> Iterator[Finding]:
    versions: dict[str, dict[str, list[str]]] = {}
    for row in tools:
        versions.setdefault(row["name"], {})[row["version"]] = row["passes"].split(", ")
    for row in devices:
        passes = versions.setdefault("driver", {}).setdefault(row["driver_version"], [])
        passes += [row["pass"]] if row["pass"] not in passes else []
    for name, told in versions.items():
        if len(told) > 1:
            where = [f"{version or 'unknown'} in {', '.join(passes)}" for version, passes in told.items()]
            yield Finding(
                "tool-differs",
                family,
                DISAGREE,
                None,
                f"{name} is {'; '.join(where)}",
                {"versions": len(told)},
                "The passes ran with other software, which may run other work or measure it otherwise.",
                "Capture every pass in one environment.",
                ("tools", "device"),
            )


def _devices(rows: Sequence[Row], family: str) -> Iterator[Finding]:
    """One GPU for everything but the second session, which takes another one where it can."""
    passes: dict[str, list[str]] = {}
    for row in rows:
        if row["uuid"] and row["pass"] not in passes.setdefault(row["uuid"], []):
            passes[row["uuid"]].append(row["pass"])
    where = [f"{', '.join(names)} on {uuid}" for uuid, names in passes.items()]
    second = SESSIONS[1]
    others = {uuid for uuid, names in passes.items() if names != [second]}
    if len(others) > 1:
        yield Finding(
            "other-device",
            family,
            DISAGREE,
            None,
            f"the passes ran on {len(passes)} GPUs: {'; '.join(where)}",
            {"devices": len(passes)},
            "One device's result is not another's.",
            "Capture every pass on one GPU (--device N).",
            ("device",),
        )
    elif len(passes) > len(others) > 0:
        yield Finding(
            "other-device",
            family,
            EXPLAINED,
            None,
            f"the second session ran on another GPU: {'; '.join(where)}",
            {"devices": len(passes)},
            "It is meant to: it tells how far two devices differ. Every other pass ran on one GPU, and nothing "
            "measured on the one is compared with the other.",
            "",
            ("device", "session_completion"),
        )


def _profiled_devices(rows: Sequence[Row], gpus: Sequence[Row], family: str) -> Iterator[Finding]:
    """Kernels ran, by a profiler's own report, on the GPU that the driver of its pass tells of."""
    told = {row["pass"]: row["uuid"] for row in rows if row["uuid"]}
    strange = [
        f"pass {row['pass']} ran {counted(row['kernels'], 'kernel')} on {row['uuid']} by its report, and on "
        f"{told[row['pass']]} by its driver"
        for row in gpus
        if row["uuid"] and row["kernels"] and row["pass"] in told
        if _plain_uuid(row["uuid"]) != _plain_uuid(told[row["pass"]])
    ]
    if strange:
        yield Finding(
            "other-device",
            family,
            DISAGREE,
            None,
            some(strange),
            {"devices": len(strange)},
            "The report is of another run than the driver's records, or one of them was changed.",
            "Capture the pass again.",
            ("gpus", "device"),
        )


def _plain_uuid(uuid: str) -> str:
    return uuid.lower().removeprefix("gpu-").replace("-", "")


def _sessions(evidence: Evidence, family: str) -> Iterator[Finding]:
    """Two sessions measure the same and never to the nanosecond: where all samples are equal one is a copy."""
    anyone: Row = {}
    if evidence.gap(anyone, ("sample",), SESSIONS):
        return
    first, second = (
        {
            (row["case_id"], row["quantity"], row["round"], row["position"]): row["duration_ns"]
            for row in evidence.rows["samples"]
            if row["pass"] == session
        }
        for session in SESSIONS
    )
    if second and first == second:
        yield Finding(
            "same-samples",
            family,
            DISAGREE,
            None,
            f"all {counted(len(second), 'sample')} of {SESSIONS[1]} are those of {SESSIONS[0]}",
            {"samples": len(second)},
            "The second session was copied from the first, so that it says nothing about how far they differ.",
            f"Capture the pass {SESSIONS[1]} again.",
            ("samples",),
        )
