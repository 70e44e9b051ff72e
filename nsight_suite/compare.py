"""Compare two runs of one protocol: what regressed, improved, is within noise, or cannot be compared.

Exit status: 0 when nothing regressed; 1 when something did (or has another verdict of --fail-on); 2 when no
time could be compared.

    python -m nsight_suite.compare BEFORE AFTER
    python -m nsight_suite.compare BEFORE AFTER --baseline staged      completions over those of a variant
    python -m nsight_suite.compare BEFORE AFTER --repeat BEFORE-2      what moved between the two is noise
    python -m nsight_suite.compare BEFORE AFTER --fail-on regressed,incomparable,missing
    python -m nsight_suite.compare BEFORE AFTER --allow driver         in spite of a reason, which is told
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nsight_suite.command import run_command
from nsight_suite.errors import UsageError
from nsight_suite.runfolder import RunFolder, write_text
from nsight_suite.sources import find_run

if TYPE_CHECKING:
    from nsight_suite.comparing import Options

# Beyond it the chance to err, shared among thousands of times, is lost in the rounding of 1 minus it.
_MOST_CONFIDENCE = 99.9999
_PAIRINGS = ("auto", "rounds", "none")


def main(argv: Sequence[str] | None = None) -> int:
    """Print or write the comparison; the exit status is that of a gate."""
    parser = argparse.ArgumentParser(
        prog="nsight-suite compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", metavar="RUN_A", help="a run folder, or a recorded run by its name")
    parser.add_argument("after", metavar="RUN_B", help="the run that is compared with it")
    parser.add_argument(
        "--baseline",
        metavar="VARIANT",
        default="",
        help="divide completions by this variant's, inside each run",
    )
    parser.add_argument(
        "--repeat",
        metavar="RUN",
        action="append",
        default=[],
        help="a further run of what A ran; may be given again",
    )
    parser.add_argument(
        "--threshold",
        metavar="PERCENT",
        type=float,
        default=2.0,
        help="smallest change that matters (default 2)",
    )
    parser.add_argument(
        "--confidence",
        metavar="PERCENT",
        type=float,
        default=95.0,
        help="of all intervals together (default 95)",
    )
    parser.add_argument("--pair", choices=_PAIRINGS, default="auto", help="whether rounds of A and B pair")
    parser.add_argument(
        "--allow", metavar="REASONS", default="", help="compare in spite of these, joined by commas"
    )
    parser.add_argument(
        "--fail-on",
        metavar="VERDICTS",
        default="regressed",
        help="verdicts that give exit status 1, joined by commas",
    )
    parser.add_argument(
        "--case", metavar="CASE", action="append", default=[], help="only this case; may be repeated"
    )
    parser.add_argument("--all", action="store_true", help="show in tables every count too")
    parser.add_argument(
        "--format", choices=("table", "csv", "json", "md"), help="default: by --out, else table"
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="write to a file instead of the terminal")
    arguments = parser.parse_args(argv)
    return run_command(lambda: _compare(arguments), unheard=2)


def _compare(arguments: argparse.Namespace) -> int:
    options, fail_on = _options(arguments), _fail_on(arguments.fail_on)
    a, b, *repeats = (
        RunFolder(find_run(name)) for name in (arguments.before, arguments.after, *arguments.repeat)
    )
    from nsight_suite.comparing import compare_runs, showing
    from nsight_suite.querying.formats import format_for

    form = format_for(arguments.out, arguments.format)
    if form == "parquet":
        raise UsageError("A comparison is no table of Parquet.", "Name the file .csv, .json, .md or .txt.")
    comparison = compare_runs(a, b, options, repeats)
    match form:
        case "json":
            text = showing.as_json(comparison, fail_on)
        case "csv":
            text = showing.as_csv(comparison)
        case _:
            text = showing.as_table(comparison, fail_on, form, whole=arguments.all)
    if arguments.out:
        write_text(arguments.out, text)
    else:
        sys.stdout.write(text)
    return comparison.exit_status(fail_on)


def _options(arguments: argparse.Namespace) -> Options:
    from nsight_suite.comparing import Options

    if not 0 <= arguments.threshold < 1000:
        raise UsageError(f"A threshold of {arguments.threshold:g} % makes no sense.", "Give 0 or more, like 2.")
    if not 50 <= arguments.confidence <= _MOST_CONFIDENCE:
        raise UsageError(
            f"{arguments.confidence:g} % is no confidence.", f"Give 50 to {_MOST_CONFIDENCE}, like 95."
        )
    return Options(
        baseline=arguments.baseline,
        threshold=arguments.threshold / 100,
        confidence=arguments.confidence / 100,
        pairing=arguments.pair,
        allow=frozenset(_words(arguments.allow)),
        cases=tuple(arguments.case),
    )


def _fail_on(text: str) -> tuple[str, ...]:
    from nsight_suite.comparing.results import VERDICTS

    words = _words(text)
    if unknown := [word for word in words if word not in VERDICTS]:
        raise UsageError(f"There is no verdict '{unknown[0]}'.", f"Verdicts: {', '.join(VERDICTS)}.")
    if not words:
        raise UsageError("--fail-on names no verdict.", f"Verdicts: {', '.join(VERDICTS)}.")
    return words


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


if __name__ == "__main__":
    sys.exit(main())
