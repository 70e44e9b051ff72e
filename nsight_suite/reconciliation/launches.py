"""Launches: the same in every pass, seen as they were planned, of code whose resources all tools tell alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nsight_suite.reconciliation.amounts import counted, some
from nsight_suite.reconciliation.findings import DISAGREE, Finding
from nsight_suite.reconciliation.witnesses import Evidence, Row

# Numbers of `kernel_build_agreement`, by what they are of: columns `build_…`, `nsys_…`, `ncu_…`.
_RESOURCES: Mapping[str, str] = {
    "registers": "register",
    "static_bytes": "byte of static shared memory",
    "local_bytes": "byte of local memory",
}
_TOOLS = {"build": "the assembler", "nsys": "nsys", "ncu": "ncu"}


def judge_case(evidence: Evidence, case: Row, family: str) -> Iterator[Finding]:
    case_id = case["case_id"]
    yield from _workers(case_id, evidence.of("planned_launches", case_id), family)
    yield from _as_planned(evidence, case, family)


def judge_run(evidence: Evidence, family: str) -> Iterator[Finding]:
    """Registers, shared and local memory of each compiled kernel."""
    elsewhere = _out_of_place(evidence)
    differing = [
        row
        for row in evidence.rows["kernel_build_agreement"]
        if row["agree"] is False and row["kernel"] not in elsewhere
    ]
    if differing:
        yield Finding(
            "resources-differ",
            family,
            DISAGREE,
            None,
            some([f"{row['kernel']}: {_resources(row)}" for row in differing]),
            {"kernels": len(differing)},
            "The profiled kernel is not the one that was compiled, or a record was changed.",
            "Look at `query RUN kernel_build_agreement`; capture every pass from one state of the sources.",
            ("kernel_build_agreement",),
        )


def _out_of_place(evidence: Evidence) -> set[str]:
    """Kernels that ran where others are declared: whose numbers these are is the matter of their order."""
    return {
        name
        for row in evidence.rows["kernel_order"]
        if row["declared"] is not None and len(row["declared"]) == len(row["observed"])
        for declared, observed in zip(row["declared"], row["observed"], strict=True)
        if declared != observed
        for name in (declared, observed)
    }


def _workers(case_id: str, rows: Sequence[Row], family: str) -> Iterator[Finding]:
    """On one kind of device each launch must be prepared alike by all passes, instrumented builds too."""
    told = []
    for multiprocessors in dict.fromkeys(row["multiprocessors"] for row in rows):
        here = [row for row in rows if row["multiprocessors"] == multiprocessors]
        passes = {name for row in here for name in _passes(row)}
        for ordinal in dict.fromkeys(row["ordinal"] for row in here):
            plans = [row for row in here if row["ordinal"] == ordinal]
            said = [f"{_launch(row)} in {row['passes']}" for row in plans]
            lacking = sorted(passes - {name for row in plans for name in _passes(row)})
            said += [f"none in {', '.join(lacking)}"] if lacking else []
            if len(said) > 1:
                told.append(f"launch {ordinal} is {'; '.join(said)}")
    if told:
        yield Finding(
            "workers-differ",
            family,
            DISAGREE,
            case_id,
            some(told, 2),
            {"launches": len(told)},
            "Passes that launch another number of workers do not look at the same run: what one saw is not "
            "what another timed.",
            "Decide the launch shape from limits that hold in every build: `query RUN planned_launches`.",
            ("planned_launches",),
        )


def _as_planned(evidence: Evidence, case: Row, family: str) -> Iterator[Finding]:
    rows = [
        row
        for row in evidence.of("launches_as_planned", case["case_id"])
        if row["differing"] and not evidence.gap(case, ("kernel", "counter", "planned_launch"), (row["pass"],))
    ]
    if rows:
        told = [
            f"{row['kernel']} ran as {_shape(row, 'seen')} by {row['pass']} ({row['differing']} of "
            f"{counted(row['kernels'], 'kernel')}) where {_shape(row, 'planned')} was planned"
            for row in rows
        ]
        yield Finding(
            "launch-differs",
            family,
            DISAGREE,
            case["case_id"],
            some(told, 2),
            {"launches": len(rows), "kernels": sum(row["differing"] for row in rows)},
            "What ran is not what the driver says it prepared.",
            "Look at `query RUN launches_as_planned`, and capture the pass again.",
            ("launches_as_planned",),
        )


def _passes(row: Row) -> Sequence[str]:
    names: Sequence[str] = row["passes"].split(", ")
    return names


def _launch(row: Row) -> str:
    if row["kind"] != "kernel":
        return f"{row['name']}" + (f" of {row['bytes']} bytes" if row["bytes"] is not None else "")
    together = ", cooperative" if row["cooperative"] else ""
    return (
        f"{row['name']} in {row['grid']} blocks of {row['block']} threads with "
        f"{row['dynamic_shared_bytes']} dynamic bytes{together}"
    )


def _shape(row: Row, whose: str) -> str:
    grid, block, shared = (row[f"{whose}_{what}"] for what in ("grid", "block", "dynamic_shared_bytes"))
    return (
        f"{grid or '?'} blocks of {block or '?'} threads with {'?' if shared is None else shared} dynamic bytes"
    )


def _resources(row: Row) -> str:
    told = []
    for what, noun in _RESOURCES.items():
        said = {tool: row.get(f"{tool}_{what}") for tool in _TOOLS}
        known = {tool: number for tool, number in said.items() if number is not None}
        if len(set(known.values())) > 1:
            told.append(
                ", ".join(f"{_counted_of(number, noun)} by {_TOOLS[tool]}" for tool, number in known.items())
            )
    return "; ".join(told)


def _counted_of(number: int, noun: str) -> str:
    """`1 byte of local memory`, `8 bytes of local memory`."""
    first, *rest = noun.split(" ", 1)
    return " ".join([counted(number, first), *rest])
