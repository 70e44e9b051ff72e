"""Run an experiment in every pass that this machine allows, then reconcile what the profilers and the host saw.

Exit status: 0 reconciled; 1 the evidence disagrees; 2 something could not be measured or answered.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from nsight_suite.capturing.brought import build_from_reports, look_through
from nsight_suite.capturing.folder import choose_folder
from nsight_suite.capturing.interruption import interruptible
from nsight_suite.capturing.options import choices, parse, refuse_contradictions
from nsight_suite.capturing.origin import refuse_another_origin, refuse_incomplete
from nsight_suite.capturing.passes import PLAN_FILE, PassPlan
from nsight_suite.capturing.plan import select
from nsight_suite.capturing.preflight import NO_GPU, Check, Inspect, blocking, inspect_machine, unmet_needs
from nsight_suite.capturing.progress import display
from nsight_suite.capturing.recorded import copy_run, origin_of, recorded_run
from nsight_suite.capturing.session import (
    Request,
    is_complete,
    plan_passes,
    reopen_run,
    resume_request,
    run_passes,
    start_run,
    unfinished,
)
from nsight_suite.capturing.tools import find_tools
from nsight_suite.command import run_command
from nsight_suite.errors import CannotAnswer, CannotMeasure, UsageError
from nsight_suite.locking import locked
from nsight_suite.protocol import load
from nsight_suite.runfolder import RunFolder, write_text
from nsight_suite.sources import ExperimentSource, find_experiment, find_run
from nsight_suite.versions import library_versions

# What the analysis imports only where it is used: if any is missing, that is told before anything is measured.
FOR_THE_ANALYSIS = (
    *("duckdb", "jinja2", "markupsafe", "matplotlib", "numpy"),
    *("pandas", "rich", "sqlite_utils", "tabulate"),
)


def main(argv: Sequence[str] | None = None, *, inspect: Inspect = inspect_machine) -> int:
    """Run the command. `inspect` looks at the machine, and is another function only in tests."""
    given = list(sys.argv[1:] if argv is None else argv)
    options = parse(given, __doc__)
    return run_command(lambda: _capture(options, ["nsight-suite", "capture", *given], inspect), unheard=2)


def _capture(options: argparse.Namespace, argv: list[str], inspect: Inspect) -> int:
    """Select, look at the machine, make the passes, analyse."""
    refuse_contradictions(options)
    if options.reports:
        return _from_reports(options, argv)
    if options.resume:
        run, run_id = RunFolder(find_run(options.resume)), ""
        request = _resumed(options, run, argv)
    else:
        request = _asked_for(options, argv)
        run, run_id = choose_folder(options.out, request.protocol.name)
    tools = find_tools()
    plans = plan_passes(run, request, tools)
    if options.dry_run:
        _print_commands(run, plans)
        return 0
    todo = unfinished(run, request.selection.passes)
    libraries = library_versions()
    if options.resume and todo:
        wanted = {plan.tool for plan in plans if plan.name in todo}
        found = {name: tool.version for name, tool in tools.items() if name in wanted and tool.version}
        refuse_another_origin(run, request.source, {**libraries, **found})
    variants = list(dict.fromkeys(case.variant for case in request.selection.cases))
    needed = request.protocol.libraries(variants)
    checks = inspect(tools, run.path, request.device, needed) if todo else ()
    if todo and blocking(checks, todo, variants):
        return _cannot_capture(options, request, [check for check in checks if check.state == "missing"])
    _import_for_the_analysis()
    with locked(run.path, "capture"):
        if options.resume:
            reopen_run(run, request)
        else:
            start_run(run, run_id, request)
        go_on = (
            f"python -m nsight_suite.capture {options.experiment or request.source.name} --resume {run.path}"
        )
        with interruptible(go_on), display() as shown:
            run_passes(run, plans, shown, tools=tools, libraries=libraries, unmet=unmet_needs(checks, todo))
        return analyse(run, request.source)


def analyse(run: RunFolder, source: ExperimentSource) -> int:
    """Everything that follows the passes, on any machine; prints the verdicts and gives the exit status.

    The caller holds the lock.
    """
    from nsight_suite.drawing import draw, write_drawings
    from nsight_suite.evidence.build import build
    from nsight_suite.reconciliation import reconcile_run
    from nsight_suite.reconciliation.table import render, to_json
    from nsight_suite.reporting import write_report
    from nsight_suite.sealing import seal

    _say("evidence, reconciliation, figures and report …")
    build(run)
    if run.read_run()["source"] == "reports":
        _refuse_nothing_known(run)
    reconciliation = reconcile_run(run)
    write_text(run.path / "reconciliation.json", to_json(reconciliation))
    drawn = draw(run, experiment=source)
    write_drawings(drawn, run.figures)
    html, _ = write_report(run, reconciliation, drawn, run.path)
    seal(run, source)
    print(render(reconciliation, colour=sys.stdout.isatty()))
    print(f"Run: {run.path}\nReport: {html}")
    return reconciliation.exit_status or (0 if is_complete(run) else 2)


def _refuse_nothing_known(run: RunFolder) -> None:
    """Raises CannotAnswer when the evidence of brought reports names none of the experiment's cases."""
    from nsight_suite.evidence.store import open_store

    named = (
        *("SELECT case_id FROM driven", "SELECT case_id FROM sample", "SELECT case_id FROM validation"),
        *("SELECT name FROM range", "SELECT range_name FROM counter"),
    )
    sql = f"SELECT case_id FROM variant_case WHERE case_id IN ({' UNION ALL '.join(named)}) LIMIT 1"
    if not open_store(run, missing_as_empty=True).rows(sql):
        raise CannotAnswer(
            f"The reports in {run.path} name no case of this experiment.",
            "Were they made for another one? What they hold can be asked: python -m nsight_suite.query",
        )


def _asked_for(options: argparse.Namespace, argv: list[str]) -> Request:
    source = find_experiment(options.experiment)
    protocol = load(source.protocol)
    refuse_incomplete(source, protocol.name)
    selection = select(
        protocol,
        variants=options.variants,
        submissions=options.submissions,
        shapes=options.shapes,
        passes=options.passes,
        quick=options.quick,
    )
    return Request(source, protocol, selection, options.device or 0, tuple(argv))


def _resumed(options: argparse.Namespace, run: RunFolder, argv: list[str]) -> Request:
    run.refuse_ingested("are no passes to make again")
    source = find_experiment(options.experiment or run.read_run()["experiment"])
    return resume_request(run, source, load(source.protocol), argv)


def _from_reports(options: argparse.Namespace, argv: list[str]) -> int:
    brought = look_through(options.reports)
    for path in brought.unknown:
        _say(f"left aside, no report that the suite knows: {path.name}")
    if options.experiment is None and brought.run is None:
        raise UsageError("The reports do not tell their experiment.", "Name it: capture row --reports DIR.")
    source = find_experiment(options.experiment or str(brought.run and brought.run.read_run()["experiment"]))
    protocol = load(source.protocol)
    _import_for_the_analysis()
    request = Request(source, protocol, select(protocol), options.device or 0, tuple(argv))
    run, run_id = choose_folder(options.out, protocol.name)
    with locked(run.path, "capture --reports"):
        build_from_reports(run, run_id, brought, request, find_tools())
        return analyse(run, source)


def _cannot_capture(options: argparse.Namespace, request: Request, lacks: Sequence[Check]) -> int:
    """Say all that is missing and what can be done all the same; or do that, where it was asked for."""
    name = request.protocol.name
    recorded = recorded_run(name)
    missing = "\n".join(f"  {check.name}: {check.seen}\n    {check.remedy}" for check in lacks)
    what = f"This machine cannot capture '{name}':\n{missing}"
    if recorded is None:
        raise CannotMeasure(what, "Reports made on another machine can be analysed here: --reports DIR.")
    if options.or_recorded and any(check.name == NO_GPU for check in lacks):
        return _go_on_with(recorded, options, request, what)
    look = f"    python -m nsight_suite.capture {name} --or-recorded\n" if not options.or_recorded else ""
    raise CannotMeasure(
        what,
        f"A recorded run of it is examples/{recorded.name}. Next:\n{look}"
        f"    python -m nsight_suite.reconcile examples/{recorded.name}\n"
        f"    python -m nsight_suite.query examples/{recorded.name} kernel_counts",
    )


def _go_on_with(recorded: Path, options: argparse.Namespace, request: Request, what: str) -> int:
    """Analyse a copy of the recorded run, and say last that nothing of it was measured here."""
    if chosen := choices(options):
        raise UsageError(
            f"{what}\n  --or-recorded takes the recorded run as it is; --{chosen[0]} cannot change it.",
            f"Leave it out, or ask for one case: python -m nsight_suite.reconcile {recorded.name} --case CASE.",
        )
    _import_for_the_analysis()
    run, _ = choose_folder(options.out, f"recorded-{recorded.name}")
    _say(f"{what}\n  Going on with the recorded run {recorded.name} instead.")
    copy_run(recorded, run)
    with locked(run.path, "capture --or-recorded"):
        status = analyse(run, request.source)
    print(f"These are the numbers of the recorded run {recorded.name} ({origin_of(run)}), not of this machine.")
    return status


def _import_for_the_analysis() -> None:
    for package in FOR_THE_ANALYSIS:
        importlib.import_module(package)


def _print_commands(run: RunFolder, plans: Sequence[PassPlan]) -> None:
    """The exact commands, as they would be run."""
    for plan in plans:
        print(f"# {plan.name}: in {run.work / plan.name}, time-out {plan.timeout_s} s")
        print(f"# {PLAN_FILE}: {json.dumps(plan.plan.as_json())}")
        for step in plan.steps:
            print(shlex.join(step.argv) + (f" > {shlex.quote(step.stdout)}" if step.stdout else ""))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
