"""Hold an article against the runs that it tells of: is every number what the evidence says?

Exit status: 0 when every number is bound and holds; 1 when anything is wrong or bound to nothing; 2 when it
cannot run.

    python -m nsight_suite.claims article.md row-h200
    python -m nsight_suite.claims article.md jobs-h200 rms-h200 --all
    python -m nsight_suite.claims article.md row-h200 --format sarif --out claims.sarif
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from nsight_suite.command import run_command
from nsight_suite.errors import UsageError
from nsight_suite.runfolder import replacing

if TYPE_CHECKING:
    from nsight_suite.claiming import Report

_FORMATS = ("text", "json", "sarif", "github")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="nsight-suite claims", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("article", type=Path, metavar="ARTICLE", help="a Markdown file; - reads it from stdin")
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="a run folder, or a recorded run by its name; several may be given",
    )
    parser.add_argument("--all", action="store_true", help="list the numbers that hold, too, with their values")
    parser.add_argument(
        "--words", action="store_true", help="flag unbound numbers in words, too: three kernels, twice"
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="write into the article what wrong numbers round to, with as many digits; the rest is told",
    )
    parser.add_argument(
        "--allow-doubtful",
        action="store_true",
        help="take runs that are not complete, or that reconcile rejects, with a note only",
    )
    parser.add_argument("--format", choices=_FORMATS, default="text", help="default: text")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to a file instead of the terminal")
    arguments = parser.parse_args(argv)
    return run_command(lambda: _claims(arguments), unheard=2)


def _claims(arguments: argparse.Namespace) -> int:
    import nsight_suite
    from nsight_suite.claiming import Checker

    text = _article(arguments.article)
    with ExitStack() as stack:
        runs = [stack.enter_context(nsight_suite.open_run(run)) for run in arguments.runs]
        checker = Checker(runs)
        _require_runs(checker.runs_not_given(text), [run.path.resolve().name for run in runs])

        def check(text: str) -> Report:
            return checker.check(text, words=arguments.words, doubtful=arguments.allow_doubtful)

        report = check(text)
        if arguments.fix:
            report = check(_fixed(arguments.article, text, report))
        if arguments.allow_doubtful:
            for doubt in checker.doubts:
                print(f"note: {doubt.message}", file=sys.stderr)
        told = _told(report, arguments, [run.path.resolve().name for run in runs])
    if arguments.out:
        with replacing(arguments.out) as path:
            path.write_text(told, encoding="utf-8")
    else:
        sys.stdout.write(told)
    return 1 if report.findings else 0


def _require_runs(missing: Mapping[str, int], given: Sequence[str]) -> None:
    """Without a run that it is about, an article cannot be checked."""
    if missing:
        told = ", ".join(f"'{name}' (line {line})" for name, line in missing.items())
        raise UsageError(
            f"The article has numbers of runs that were not given: {told}.",
            f"Give them, too: claims ARTICLE.md {' '.join((*given, *missing))}",
        )


def _article(path: Path) -> str:
    try:
        # Line ends as they are, since --fix writes them back; UTF-8, whatever the terminal speaks.
        return (sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"There is no article '{path}'.", "Give the path of a Markdown file.") from error
    except (IsADirectoryError, UnicodeDecodeError) as error:
        raise UsageError(f"'{path}' is no Markdown text.", "Give a file in UTF-8.") from error


def _fixed(path: Path, text: str, report: Report) -> str:
    """The text with its wrong numbers mended, written to its file when there were any."""
    from nsight_suite.claiming.fixing import fixed

    if str(path) == "-":
        raise UsageError("What comes from stdin cannot be mended.", "Give the article's file.")
    mended, done = fixed(text, [finding.fix for finding in report.findings if finding.fix])
    if done:
        with replacing(path) as temporary:
            temporary.write_text(mended, encoding="utf-8", newline="")
            shutil.copymode(path, temporary)
    for fix in done:
        print(f"{path}:{fix.line}: {fix.old} → {fix.new}", file=sys.stderr)
    print(f"{path}: {len(done)} number{'' if len(done) == 1 else 's'} mended", file=sys.stderr)
    return mended


def _told(report: Report, arguments: argparse.Namespace, runs: Sequence[str]) -> str:
    from nsight_suite.claiming import output

    name = arguments.article.as_posix()
    match arguments.format:
        case "json":
            return output.as_json(report, name, runs)
        case "sarif":
            return output.as_sarif(report, name)
        case "github":
            return output.as_github(report, name)
    return output.as_text(report, name, every=arguments.all)


if __name__ == "__main__":
    sys.exit(main())
