"""The command line of a driver: one pass, from its plan to its records."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from nsight_suite.driving.experiment import Experiment
from nsight_suite.driving.records import Records
from nsight_suite.errors import CannotMeasure, SuiteError
from nsight_suite.plan import Plan, load_plan

_EXTRA = "In the checkout: pip install '.[cuda13]' (or '.[cuda12]')."

OK, CHECK_FAILED, COULD_NOT_MEASURE = 0, 1, 2


def run_driver(experiment: Experiment, argv: Sequence[str] | None = None) -> int:
    """Run the pass that --plan asks for and write its records to --records.

    Returns the exit status: 0 fine, 1 a check of an output failed, 2 could not measure.
    """
    parser = argparse.ArgumentParser(
        description="Drive one pass of an experiment; started by nsight_suite.capture."
    )
    parser.add_argument("--plan", type=Path, required=True, help="plan.json, as docs/architecture.md tells it")
    parser.add_argument(
        "--records", type=Path, required=True, help="where the records go, one JSON object a line"
    )
    arguments = parser.parse_args(argv)
    try:
        plan = load_plan(arguments.plan)
        with Records(arguments.records, plan.pass_name) as records:
            return _run(plan, experiment, records, arguments.records.parent / "build")
    except SuiteError as error:
        print(f"nsight-suite: {error}", file=sys.stderr)
        return COULD_NOT_MEASURE


def _run(plan: Plan, experiment: Experiment, records: Records, build_folder: Path) -> int:
    """Run the pass; whatever happens but a kill, the last record says how it ended."""
    try:
        # Imported here: where CuPy, CUDA bindings or NVTX are missing, the reason still reaches the records.
        from nsight_suite.driving.bench import Bench
        from nsight_suite.driving.checking import CheckFailed
        from nsight_suite.driving.device import open_device, other_device
        from nsight_suite.driving.passes import run_pass
    except ImportError as error:
        missing = CannotMeasure(f"The GPU cannot be used from Python: {error}.", _EXTRA)
        return _failed(records, str(missing), COULD_NOT_MEASURE)
    try:
        device = other_device(plan.device) if plan.second_session else plan.device
        run_pass(Bench(plan, open_device(device), records, build_folder), experiment)
    except CheckFailed as error:
        return _failed(records, str(error), CHECK_FAILED)
    except SuiteError as error:
        return _failed(records, str(error), COULD_NOT_MEASURE)
    except Exception as error:
        # CuPy's CUDA errors, or a mistake in the driver: its author wants the traceback, all others the reason.
        traceback.print_exc()
        return _failed(records, f"{type(error).__name__}: {error}", COULD_NOT_MEASURE)
    records.end()
    return OK


def _failed(records: Records, reason: str, exit_status: int) -> int:
    records.end(reason)
    print(f"nsight-suite: {reason}", file=sys.stderr)
    return exit_status
