"""Run an experiment in every pass that this machine allows, then reconcile what the profilers and the host saw.

Exit status: 0 reconciled; 1 the evidence disagrees; 2 something could not be measured or answered.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from nsight_suite.capturing.brought import build_from_reports, copy_run, look_through, recorded_run
from nsight_suite.capturing.interruption import interruptible
from nsight_suite.capturing.passes import PLAN_FILE, PassPlan
from nsight_suite.capturing.plan import select
from nsight_suite.capturing.preflight import Check, blocking, inspect_machine, unmet_needs
from nsight_suite.capturing.progress import display
from nsight_suite.capturing.session import (
    Request,
    choose_folder,
    failures,
    locked,
    plan_passes,
    reopen_run,
    resume_request,
    run_passes,
    start_run,
    unfinished,
)
from nsight_suite.capturing.tools import find_tools, library_versions
from nsight_suite.command import run_command
from nsight_suite.doctor import Inspect
from nsight_suite.errors import CannotMeasure, UsageError
from nsight_suite.protocol import load
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import find_experiment, find_run


def main(argv: Sequence[str] | None = None, *, inspect: Inspect = inspect_machine) -> int:
    """Run the command. `inspect` looks at the machine, and is another function only in tests."""
    given = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    options = parser.parse_args(given)
    if options.experiment is None and options.resume is None and options.reports is None:
        parser.error("name an experiment (row …), or say --resume RUN or --reports DIR")
    return run_command(lambda: _capture(options, ["nsight-suite", "capture", *given], inspect))


def _capture(options: argparse.Namespace, argv: list[str], inspect: Inspect) -> int:
    """Select, look at the machine, make the passes, analyse."""
    _refuse_contradictions(options)
    if options.reports:
        return _analyse(_from_reports(options, argv))
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
    checks = inspect(tools, run.path, request.device) if todo else ()
    lacks = blocking(checks, todo, [case.variant for case in request.selection.cases]) if todo else []
    if lacks:
        return _without_gpu(options, request, run, lacks)
    libraries = library_versions()
    with locked(run):
        if options.resume:
            reopen_run(run, request)
        else:
            start_run(run, run_id, request)
        with interruptible(run), display() as shown:
            run_passes(run, plans, shown, tools=tools, libraries=libraries, unmet=unmet_needs(checks, todo))
        return _analyse(run)


def _analyse(run: RunFolder) -> int:
    """Everything that follows the passes, on any machine; prints the verdicts and gives the exit status."""
    from nsight_suite.drawing import draw_figures
    from nsight_suite.evidence.build import build
    from nsight_suite.reconciliation import reconcile_run
    from nsight_suite.reconciliation.table import render
    from nsight_suite.reporting import write_report

    _say("evidence, reconciliation, figures and report …")
    build(run)
    reconciliation = reconcile_run(run)
    draw_figures(run)
    html, _ = write_report(run)
    print(render(reconciliation))
    failed = failures(run)
    for name, record in failed.items():
        print(f"The pass {name} failed: {record['reason']}")
    print(f"Run: {run.path}\nReport: {html}")
    return reconciliation.exit_status or (2 if failed else 0)


def _asked_for(options: argparse.Namespace, argv: list[str]) -> Request:
    source = find_experiment(options.experiment)
    protocol = load(source.protocol)
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
    source = find_experiment(options.experiment or run.read_run()["experiment"])
    return resume_request(run, source, load(source.protocol), argv)


def _from_reports(options: argparse.Namespace, argv: list[str]) -> RunFolder:
    brought = look_through(options.reports)
    for path in brought.unknown:
        _say(f"left aside, no report that the suite knows: {path.name}")
    if options.experiment is None and brought.run is None:
        raise UsageError("The reports do not tell their experiment.", "Name it: capture row --reports DIR.")
    source = find_experiment(options.experiment or str(brought.run and brought.run.read_run()["experiment"]))
    protocol = load(source.protocol)
    request = Request(source, protocol, select(protocol), options.device or 0, tuple(argv))
    run, run_id = choose_folder(options.out, protocol.name)
    with locked(run):
        build_from_reports(run, run_id, brought, request, find_tools())
    return run


def _without_gpu(options: argparse.Namespace, request: Request, run: RunFolder, lacks: Sequence[Check]) -> int:
    """Say what is missing and what can be done all the same; or do that, where it was asked for."""
    name = request.protocol.name
    recorded = recorded_run(name)
    missing = "\n".join(f"  {check.name}: {check.seen}\n    {check.remedy}" for check in lacks)
    what = f"This machine cannot capture '{name}':\n{missing}"
    if options.or_recorded and recorded:
        _say(f"{what}\n  Going on with the recorded run {recorded.name} instead.")
        copy_run(recorded, run)
        return _analyse(run)
    if recorded is None:
        raise CannotMeasure(what, "Reports made on another machine can be analysed here: --reports DIR.")
    raise CannotMeasure(
        what,
        f"A recorded run of it is examples/{recorded.name}. Next:\n"
        f"    python -m nsight_suite.reconcile examples/{recorded.name}",
    )


def _print_commands(run: RunFolder, plans: Sequence[PassPlan]) -> None:
    """The exact commands, as they would be run."""
    for plan in plans:
        print(f"# {plan.name}: in {run.work / plan.name}, time-out {plan.timeout_s} s")
        print(f"# {PLAN_FILE}: {json.dumps(plan.plan)}")
        for step in plan.steps:
            print(shlex.join(step.argv) + (f" > {shlex.quote(step.stdout)}" if step.stdout else ""))


def _refuse_contradictions(options: argparse.Namespace) -> None:
    chosen = [name for name in ("variants", "submissions", "shapes", "passes") if getattr(options, name)]
    chosen += ["quick"] if options.quick else []
    for verb in ("resume", "reports"):
        if getattr(options, verb) and chosen:
            raise UsageError(
                f"--{verb} takes the run as it was; --{chosen[0]} cannot change it.", "Leave it out."
            )
    if options.resume and (options.out or options.reports or options.device is not None):
        raise UsageError("--resume goes with the experiment's name and --dry-run only.", "Leave out the rest.")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nsight-suite capture", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("experiment", nargs="?", help="name of an experiment, or a folder with a protocol.toml")
    for name in ("variants", "submissions", "shapes", "passes"):
        add(f"--{name}", type=_names, default=[], metavar="A,B", help=f"only these {name}")
    add("--quick", action="store_true", help="the protocol's smaller run")
    add("--device", type=int, metavar="N", help="CUDA device (default 0)")
    add("--out", type=Path, metavar="DIR", help="new folder for the run (default runs/EXPERIMENT-TIME)")
    add("--resume", metavar="RUN", help="go on with an interrupted run; finished passes are kept")
    add("--reports", type=Path, metavar="DIR", help="build the run from reports made elsewhere; needs no GPU")
    add("--or-recorded", action="store_true", help="without a GPU, analyse a copy of the recorded run instead")
    add("--dry-run", action="store_true", help="print the exact commands and do nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
