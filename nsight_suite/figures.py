"""`python -m nsight_suite.figures RUN`: draw a run's figures from its evidence."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from nsight_suite.command import run_command


def main(argv: Sequence[str] | None = None) -> int:
    """Draw the figures and print each path; exit status 2 when a figure asked for cannot be drawn."""
    parser = argparse.ArgumentParser(
        prog="nsight-suite figures",
        description="Draw a run's figures as PNG and SVG, each with a JSON that says where it came from.",
    )
    parser.add_argument("run", help="a run folder, or a recorded run by its name (row-h200)")
    parser.add_argument("names", nargs="*", help="figures to draw; all that the evidence allows when left out")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to write (default: figures/ in the run folder; runs/NAME/figures here for a recorded run)",
    )
    parser.add_argument(
        "--experiment", metavar="PATH", help="folder of an experiment outside the project, for its own figures"
    )
    arguments = parser.parse_args(argv)
    return run_command(lambda: _figures(arguments))


def _figures(arguments: argparse.Namespace) -> int:
    from nsight_suite.run import Run
    from nsight_suite.sources import find_experiment

    experiment = find_experiment(arguments.experiment) if arguments.experiment else None
    with Run.open(arguments.run, experiment=experiment) as run:
        for path in run.figures(arguments.names or None, folder=arguments.out):
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
