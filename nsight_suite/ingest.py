"""Make a run of nsys and ncu reports, of any version and any program, that `query` can then ask.

python -m nsight_suite.ingest report.sqlite --out RUN
python -m nsight_suite.ingest report.nsys-rep counters.ncu-rep --out RUN
python -m nsight_suite.ingest FOLDER --out RUN

Read are: SQLite exports and Parquet folders of nsys; .nsys-rep, .qdrep and .qdstrm where nsys is installed; CSV
pages of ncu; .ncu-rep and .ncu-repz; nsight-python's CSV; and each of these compressed by gzip. Reports are
recognised by their contents. They stay where they are; nothing is copied but what the evidence needs.

Exit status: 0 when evidence was written, with or without findings; 2 when it was not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from nsight_suite.command import run_command

_SHOWN_FINDINGS = 20


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="nsight-suite ingest", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "reports", nargs="+", type=Path, metavar="REPORT", help="a report, or a folder of reports"
    )
    parser.add_argument(
        "--out", metavar="RUN", required=True, type=Path, help="a folder that does not exist yet"
    )
    parser.add_argument(
        "--merge-anyway",
        action="store_true",
        help="merge reports of different machines or programs",
    )
    parser.add_argument(
        "--accept-stale", action="store_true", help="read an export that is older than its report"
    )
    parser.add_argument("--sqlite", action="store_true", help="write evidence.sqlite too (slow at size)")
    parser.add_argument(
        "--tool-timeout",
        type=_seconds,
        default=3600.0,
        metavar="S",
        help="longest time in seconds for nsys to export one report (default: 3600)",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    arguments = parser.parse_args(argv)
    words = sys.argv[1:] if argv is None else argv
    return run_command(lambda: _ingest(arguments, ["nsight-suite", "ingest", *words]))


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is no time in seconds")
    return seconds


def _ingest(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    from nsight_suite.ingesting.making import Options, ingest
    from nsight_suite.ingesting.overview import as_text
    from nsight_suite.ingesting.showing import display

    options = Options(
        merge_anyway=arguments.merge_anyway,
        accept_stale=arguments.accept_stale,
        sqlite=arguments.sqlite,
        tool_timeout_s=arguments.tool_timeout,
    )
    with display(arguments.quiet) as shown:
        made = ingest(arguments.reports, arguments.out, options, shown, words)
    if arguments.quiet:
        return 0
    for line in as_text(made.overview, _SHOWN_FINDINGS):
        print(line)
    if made.left_out:
        print("\nLeft out:")
        for one in made.left_out:
            print(f"  {one.path.name}: {one.reason}")
    counters = all(line.format.startswith("ncu") for line in made.overview.lines)
    question = "counters_by_kernel" if counters else "kernel_summary"
    print(f"\nWrote {made.run.path}. Ask it: python -m nsight_suite.query {made.run.path} {question}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
