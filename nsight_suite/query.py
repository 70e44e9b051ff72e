"""Ask a run: a named query, or SQL text over the tables of its evidence.

python -m nsight_suite.query examples/row-h200 kernel_counts
python -m nsight_suite.query examples/row-h200 dram_bytes --format json
python -m nsight_suite.query examples/row-h200 --sql "SELECT name, count(*) AS n FROM kernel GROUP BY ALL"
python -m nsight_suite.query --list
python -m nsight_suite.query kernel_counts --help
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nsight_suite.command import run_command
from nsight_suite.errors import UsageError
from nsight_suite.runfolder import RunFolder, replacing
from nsight_suite.sources import find_run

if TYPE_CHECKING:
    from nsight_suite.evidence.ingested import LooseReport
    from nsight_suite.evidence.store import Store

_FORMATS = ("table", "csv", "json", "md", "parquet")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="nsight-suite query",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,  # `query NAME --help` tells of that query
    )
    parser.add_argument(
        "run", nargs="?", metavar="RUN", help="a run folder, a recorded run by its name, or a report"
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of a query")
    parser.add_argument(
        "--sql", metavar="TEXT", help="one SELECT instead of a named query; - reads it from stdin"
    )
    parser.add_argument("--list", action="store_true", help="name the queries and what one row of each is")
    parser.add_argument("--describe", metavar="NAME", help="a query's columns with their units")
    parser.add_argument("--format", choices=_FORMATS, help="default: by the file's name, else table")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to a file instead of the terminal")
    parser.add_argument(
        "-h", "--help", action="store_true", help="this help; with the NAME of a query, that query's columns"
    )
    arguments = parser.parse_args(argv)
    if arguments.help and not arguments.name and (not arguments.run or Path(arguments.run).exists()):
        parser.print_help()
        return 0
    return run_command(lambda: _query(arguments))


def _query(arguments: argparse.Namespace) -> int:
    if arguments.help or arguments.list or arguments.describe:
        print(_documentation(arguments))
        return 0
    if not arguments.run:
        raise UsageError("No run was given.", "query RUN NAME, query RUN --sql TEXT, or query --list.")
    if bool(arguments.name) == (arguments.sql is not None):
        raise UsageError("Give the name of a query, or --sql TEXT.", "`query --list` names the queries.")
    from nsight_suite.evidence.store import ensure_duckdb
    from nsight_suite.ingesting.single import report_at
    from nsight_suite.querying import find_query, formats

    form = arguments.format or formats.format_for(arguments.out)
    if form == "parquet" and not arguments.out:
        raise UsageError("Parquet is no text.", "Name a file: --out FILE.parquet")
    if arguments.out and not arguments.out.parent.is_dir():
        raise UsageError(
            f"Cannot write {arguments.out}: there is no folder '{arguments.out.parent}'.", "Make it."
        )
    report = report_at(Path(arguments.run))
    source, experiment = (report, "") if report else _run(arguments.run)
    # A misspelt name is told before anything is opened.
    sql = find_query(arguments.name, experiment).sql if arguments.name else arguments.sql
    sql = _stdin() if sql == "-" else sql
    if isinstance(source, RunFolder):
        ensure_duckdb(source)
    asked = _Asked(source, arguments.name, experiment, sql)
    if form == "parquet":
        with replacing(arguments.out) as temporary:
            _copy(asked, temporary)
    else:
        _write(asked, form, arguments.out)
    return 0


@dataclass(frozen=True)
class _Asked:
    """The question: of a run or a report, by its name or in SQL."""

    source: RunFolder | LooseReport
    name: str | None
    experiment: str
    sql: str


def _write(asked: _Asked, form: str, out: Path | None) -> None:
    """The answer as text, to a file or to standard output, no more of it held than the form needs."""
    from nsight_suite.querying import ask_named, ask_sql, formats

    store, tell_doubts = _open(asked)
    answer = ask_named(store, asked.name, asked.experiment) if asked.name else ask_sql(store, asked.sql)
    tell_doubts()
    pieces = formats.pieces(answer, form)
    if out:
        with replacing(out) as temporary, temporary.open("w", encoding="utf-8", errors="replace") as file:
            file.writelines(pieces)
    else:
        sys.stdout.writelines(pieces)


def _copy(asked: _Asked, path: Path) -> None:
    """The answer as a new Parquet file."""
    from nsight_suite.querying import copy_named, copy_sql

    store, tell_doubts = _open(asked, path)
    if asked.name:
        copy_named(store, asked.name, path, asked.experiment)
    else:
        copy_sql(store, asked.sql, path)
    tell_doubts()


def _open(asked: _Asked, writes: Path | None = None) -> tuple[Store, Callable[[], None]]:
    """An open store for the question, and what tells the doubts about the answer."""
    from nsight_suite.evidence.direct import doubts_about, open_report
    from nsight_suite.querying import open_evidence

    if isinstance(asked.source, RunFolder):
        return open_evidence(asked.source, sql=asked.sql, writes=writes), lambda: None
    report = asked.source
    store = open_report(report, asked.sql, writes)
    # Looked up first: while an answer is on its way, the store answers nothing else.
    doubts = doubts_about(report, store, asked.sql)
    return store, lambda: _tell_doubts(report, doubts)


def _tell_doubts(report: LooseReport, codes: Sequence[str]) -> None:
    if codes:
        print(
            f"nsight-suite: {report.file} leaves in doubt what this answer may rest on: {', '.join(codes)}. "
            f"Ask it: query {report.path} report_completeness",
            file=sys.stderr,
        )


def _stdin() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise UsageError(f"The SQL text is not valid UTF-8: {error.reason}.") from error


def _documentation(arguments: argparse.Namespace) -> str:
    from nsight_suite.querying.catalogue import find_queries, find_query

    wanted, run = arguments.describe, arguments.run
    if arguments.help:
        # The one word of `query NAME --help` stands where a run would.
        wanted, run = (arguments.name, run) if arguments.name else (run, None)
    experiment = _run(run)[1] if run else ""
    if wanted:
        return find_query(wanted, experiment).description
    queries = find_queries(experiment)
    width = max(len(query.name) for query in queries)
    return "\n".join(f"{query.name:<{width}}  {query.about}" for query in queries)


def _run(name: str) -> tuple[RunFolder, str]:
    folder = RunFolder(find_run(name))
    return folder, folder.read_run().get("experiment") or ""


if __name__ == "__main__":
    sys.exit(main())
