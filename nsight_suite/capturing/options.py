"""The options of `capture`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from nsight_suite.errors import UsageError


def parse(argv: Sequence[str], description: str | None) -> argparse.Namespace:
    """The options that were given. Ends the process, as argparse does, for wrong ones and for --help."""
    parser = _parser(description)
    options = parser.parse_args(argv)
    if options.experiment is None and options.resume is None and options.reports is None:
        parser.error("name an experiment (row …), or say --resume RUN or --reports DIR")
    return options


def refuse_contradictions(options: argparse.Namespace) -> None:
    """Raises UsageError for options that cannot go together."""
    chosen = choices(options)
    for verb in ("resume", "reports"):
        if getattr(options, verb) and chosen:
            raise UsageError(
                f"--{verb} takes the run as it was; --{chosen[0]} cannot change it.", "Leave it out."
            )
    if options.resume and (options.out or options.reports or options.device is not None):
        raise UsageError("--resume goes with the experiment's name and --dry-run only.", "Leave out the rest.")
    if options.device is not None and options.device < 0:
        raise UsageError(f"There is no device {options.device}.", "Devices are numbered from 0.")


def choices(options: argparse.Namespace) -> list[str]:
    """The options that choose a part of the protocol, of those that were given."""
    chosen = [name for name in ("variants", "submissions", "shapes", "passes") if getattr(options, name)]
    return [*chosen, "quick"] if options.quick else chosen


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _parser(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nsight-suite capture",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
