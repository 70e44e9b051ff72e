"""What a run asked for, as plain rows: the evidence that its protocol and its run.json say must be there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nsight_suite.protocol import SESSIONS, Case, Protocol, cases_of_pass
from nsight_suite.reconciliation.witnesses import Row

_STEPS = ("capture", "instantiate", "upload")
# What follows a fixture's name where checks against other variants are counted.
AGAINST_VARIANTS = " against variants"
_PER_ROUND = ("completion", "batch_enqueue", "batch_completion", "batch_event_interval", "empty_sync")


def wanted_rows(asked: Mapping[str, Any], protocol: Protocol) -> Iterator[Row]:
    """One row per pass, case and kind of evidence (pass, case_id, origin, item as in `evidence_rows`, wanted).

    `asked` is run.json. `wanted` is None where the evidence itself must tell how many: as many checks as other
    cases have, as many builds as other passes have. Of reports that were made elsewhere nobody knows how often
    each case was asked for, so that there it is as often as the driver says.
    """
    quick, known_making = bool(asked.get("quick")), asked.get("source") != "reports"
    cases = [case for case in protocol.cases() if case.case_id in asked.get("cases", ())]
    yield _row(None, None, "run", "", 1)
    yield _row(None, None, "artifact", "", None)
    for case in cases:
        yield _row(None, case.case_id, "variant_case", "", 1)
    for name in asked.get("passes", ()):
        yield _row(name, None, "pass", "", 1)
        yield _row(name, None, "report", "", None)
        settings = protocol.pass_settings(name)
        mine = cases_of_pass(protocol, settings, cases)
        rounds = protocol.rounds(quick) if name in SESSIONS else protocol.invocations(name, quick)
        if known_making:
            yield from _of_pass(name, mine, settings.options.get("tools", ()), rounds)
        for case in mine:
            if known_making:
                yield _row(name, case.case_id, "driven", "", 1)
                yield _row(name, case.case_id, "driven", "invocations", rounds)
            for origin, item, wanted in _of_case(name, case, protocol, rounds if known_making else None):
                yield _row(name, case.case_id, origin, item, wanted)


def _of_pass(name: str, cases: Sequence[Case], tools: Sequence[str], rounds: int) -> Iterator[Row]:
    yield _row(name, None, "tool", "", None)
    yield _row(name, None, "device", "", 1)
    for moment in ("before", "after"):
        yield _row(name, None, "device_state", moment, 1)
    for variant in dict.fromkeys(case.variant for case in cases):
        yield _row(name, None, "build", variant, None)
    for tool in tools:
        yield _row(name, None, "sanitizer", tool, 1)
    if name in SESSIONS:
        yield _row(name, None, "sample", "device_copy", rounds)


def _of_case(
    name: str, case: Case, protocol: Protocol, rounds: int | None
) -> Iterator[tuple[str, str, int | None]]:
    """Origin, item and wanted rows of one case in one pass: what the driver records on its way."""
    yield "driven", "output hash", 1
    everything = (*protocol.fixtures, protocol.held_out)
    first = protocol.fixtures[:1]
    around = (*first, protocol.held_out)
    fixtures = {"validate": everything, "sanitize": everything, **dict.fromkeys(SESSIONS, around)}
    for fixture in fixtures.get(name, first):
        yield "validation", fixture, None
        yield "validation", fixture + AGAINST_VARIANTS, None
    yield "planned_launch", "", None
    if case.submission == "graph":
        yield "graph_node", "", None
    if case.submission == "graph" and name == "validate":
        yield "graph_dot", "", None
    if name == "nsys":
        yield "sync", "waits", None
        if case.shape.timed:
            yield "sample", "completion", rounds
    if name == "pilot":
        yield "sample", "completion", rounds
        yield from (("choice", group, 1) for group, some in protocol.pilot.items() if case.variant in some)
    if name == "trace":
        yield from (("task_plan", "", None), ("task", "", None))
    if name in SESSIONS:
        for quantity in _PER_ROUND:
            yield "sample", quantity, rounds
        if case.submission == "graph":
            setups = protocol.timing["graph_setups"]
            yield "sample", "first_replay", setups
            for step in _STEPS:
                yield "graph_setup", step, setups


def _row(name: str | None, case_id: str | None, origin: str, item: str, wanted: int | None) -> Row:
    return {"pass": name, "case_id": case_id, "origin": origin, "item": item, "wanted": wanted}
