"""`python -m nsight_suite.report RUN`: write a run's report as HTML and Markdown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from nsight_suite.command import run_command


def main(argv: Sequence[str] | None = None) -> int:
    """Write the report and print both paths. The exit status says nothing of the verdicts: `reconcile` does."""
    parser = argparse.ArgumentParser(
        prog="nsight-suite report",
        description="Write a run's report: one HTML file that needs nothing else, and the same as Markdown.",
    )
    parser.add_argument("run", help="a run folder, or a recorded run by its name (row-h200)")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to write (default: the run folder; runs/NAME for a recorded run)",
    )
    parser.add_argument(
        "--experiment", metavar="PATH", help="folder of an experiment outside the project, for its own figures"
    )
    arguments = parser.parse_args(argv)
    return run_command(lambda: _report(arguments))


def _report(arguments: argparse.Namespace) -> int:
    from nsight_suite.run import Run
    from nsight_suite.sources import find_experiment

    experiment = find_experiment(arguments.experiment) if arguments.experiment else None
    with Run.open(arguments.run, experiment) as run:
        for path in run.report(arguments.out):
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
