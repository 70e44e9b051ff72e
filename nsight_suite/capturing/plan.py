"""Which cases and passes a run covers, and the plan that the driver of each pass is given."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.errors import UsageError
from nsight_suite.plan import Plan
from nsight_suite.protocol import Case, PassSettings, Protocol, cases_of_pass


@dataclass(frozen=True)
class Selection:
    """What a run covers: its cases, its passes, and whether it is the protocol's smaller run."""

    cases: tuple[Case, ...]
    passes: tuple[str, ...]
    quick: bool


def select(
    protocol: Protocol,
    *,
    variants: Sequence[str] = (),
    submissions: Sequence[str] = (),
    shapes: Sequence[str] = (),
    passes: Sequence[str] = (),
    quick: bool = False,
) -> Selection:
    """The part of a protocol that was asked for; an empty choice means everything, in the protocol's order.

    Passes that have nothing to do with the chosen cases are left out.
    Raises UsageError for unknown names, and when nothing at all is left.
    """
    known_shapes = [shape.name for shape in protocol.shapes]
    known_passes = [settings.name for settings in protocol.passes]
    _check("variant", variants, protocol.variants)
    _check("submission", submissions, protocol.submissions)
    _check("shape", shapes, known_shapes)
    _check("pass", passes, known_passes)
    wanted_shapes = shapes or (protocol.quick.get("shapes", known_shapes) if quick else known_shapes)
    cases = tuple(
        case
        for case in protocol.cases()
        if case.shape.name in wanted_shapes
        and (not variants or case.variant in variants)
        and (not submissions or case.submission in submissions)
    )
    busy = tuple(
        name
        for name in known_passes
        if (not passes or name in passes) and cases_of_pass(protocol, protocol.pass_settings(name), cases)
    )
    if "pilot" not in busy and "pilot" in (passes or known_passes) and variants:
        _refuse_lonely(protocol, cases, asked="pilot" in passes)
    if not busy:
        raise UsageError(
            "The chosen passes have nothing to do with the chosen shapes.",
            "timing takes timed shapes only, and a pass may name its shapes in the protocol.",
        )
    return Selection(cases, busy, quick)


def _refuse_lonely(protocol: Protocol, cases: Sequence[Case], *, asked: bool) -> None:
    """A candidate without another one. Where none was chosen the pilot has nothing to do with the cases."""
    groups = protocol.pilot.values()
    timed = {case.variant for case in cases if case.shape.timed}
    if timed and (asked or any(timed.intersection(group) for group in groups)):
        raise UsageError(
            "The chosen variants leave the pass pilot nothing to choose from.",
            f"It chooses among {'; or among '.join(', '.join(group) for group in groups)}. Take two of them at "
            "least (--variants), or name the other passes alone (--passes).",
        )


def selection_of(
    protocol: Protocol, case_ids: Collection[str], passes: Sequence[str], quick: bool
) -> Selection:
    """The selection that an earlier run wrote down. Raises UsageError for a case that the protocol lacks."""
    cases = {case.case_id: case for case in protocol.cases()}
    _check("case", list(case_ids), cases)
    return Selection(tuple(cases[case_id] for case_id in case_ids), tuple(passes), quick)


def driver_plan(
    protocol: Protocol,
    settings: PassSettings,
    selection: Selection,
    *,
    protocol_path: Path,
    kernels: Path,
    device: int,
) -> Plan:
    """The plan of one pass."""
    return Plan(
        pass_name=settings.name,
        protocol=protocol,
        protocol_path=protocol_path,
        kernels=kernels,
        device=device,
        cases=cases_of_pass(protocol, settings, selection.cases),
        rounds=protocol.rounds(selection.quick),
        invocations=protocol.invocations(settings.name, selection.quick),
    )


def _check(kind: str, names: Sequence[str], known: Collection[str]) -> None:
    plural = "passes" if kind == "pass" else f"{kind}s"
    for name in names:
        if name not in known:
            raise UsageError(
                f"There is no {kind} '{name}' in this experiment.",
                f"Its {plural}: {', '.join(known)}.",
            )
