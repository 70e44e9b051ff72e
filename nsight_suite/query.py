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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nsight_suite.command import run_command
from nsight_suite.errors import UsageError
from nsight_suite.runfolder import RunFolder, replacing
from nsight_suite.sources import find_run, looks_like_report, may_be_report

if TYPE_CHECKING:
    from nsight_suite.evidence.ingested import LooseReport
    from nsight_suite.evidence.store import Store
    from nsight_suite.querying import Answer

_T = TypeVar("_T")
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
    if arguments.name and arguments.sql is not None:
        raise UsageError("Give the name of a query or --sql TEXT, not both.", "Leave one of them away.")
    if not arguments.name and arguments.sql is None:
        raise UsageError("Give the name of a query, or --sql TEXT.", "`query --list` names the queries.")
    _refuse_swapped(arguments.run, arguments.name)
    from nsight_suite.evidence.store import ensure_duckdb, start_answering

    start_answering()  # it takes as long as all of what follows here
    from nsight_suite.querying import find_query, formats

    form = formats.format_for(arguments.out, arguments.format)
    formats.prepare(form)
    if form == "parquet" and not arguments.out:
        raise UsageError("Parquet is no text.", "Name a file: --out FILE.parquet")
    if arguments.out and not arguments.out.parent.is_dir():
        raise UsageError(
            f"Cannot write {arguments.out}: there is no folder '{arguments.out.parent}'.", "Make it."
        )
    source, experiment = _source(arguments.run)
    if arguments.out:
        _refuse_over(arguments.out, source)
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
    rows = 0

    def counted(batches: Iterator[list[tuple[Any, ...]]]) -> Iterator[list[tuple[Any, ...]]]:
        nonlocal rows
        for batch in batches:
            rows += len(batch)
            yield batch

    from nsight_suite.querying import ask_named, ask_sql, formats

    def begun() -> tuple[Store, Callable[[], None], Answer]:
        store, tell_doubts = _open(asked)
        named = asked.name
        return (
            store,
            tell_doubts,
            ask_named(store, named, asked.experiment) if named else ask_sql(store, asked.sql),
        )

    store, tell_doubts, answer = _of_one_version(asked, begun)
    tell_doubts()
    pieces = formats.pieces(replace(answer, batches=counted(answer.batches)), form)
    if out:
        with replacing(out) as temporary, temporary.open("w", encoding="utf-8", errors="replace") as file:
            file.writelines(pieces)
    else:
        sys.stdout.writelines(pieces)
    _tell_why_empty(store, asked, rows)


def _copy(asked: _Asked, path: Path) -> None:
    """The answer as a new Parquet file."""
    from nsight_suite.querying import copy_named, copy_sql

    def copied() -> tuple[Store, Callable[[], None], int]:
        path.unlink(missing_ok=True)
        store, tell_doubts = _open(asked, path)
        named = asked.name
        return (
            store,
            tell_doubts,
            copy_named(store, named, path, asked.experiment) if named else copy_sql(store, asked.sql, path),
        )

    store, tell_doubts, rows = _of_one_version(asked, copied)
    tell_doubts()
    _tell_why_empty(store, asked, rows)


def _of_one_version(asked: _Asked, work: Callable[[], _T]) -> _T:
    """What `work` gives, done again when the evidence of a run was replaced under it."""
    from nsight_suite.evidence.versions import of_one_version

    return of_one_version(asked.source.evidence, work) if isinstance(asked.source, RunFolder) else work()


def _open(asked: _Asked, writes: Path | None = None) -> tuple[Store, Callable[[], None]]:
    """An open store for the question, and what tells the doubts about the answer."""
    # Doubts are looked up first: while an answer is on its way, the store answers nothing else.
    if isinstance(asked.source, RunFolder):
        from nsight_suite.evidence.doubting import DOUBTS, doubts_of_run
        from nsight_suite.querying import open_evidence

        run = asked.source
        # What the suite itself captured is judged by `reconcile`.
        also = () if asked.experiment else DOUBTS
        store = open_evidence(run, sql=asked.sql, also=also, writes=writes)
        of_run = doubts_of_run(store) if also else []
        return store, lambda: _tell_doubts(run.path, run.path, of_run)
    from nsight_suite.evidence.direct import doubts_about, open_report

    report = asked.source
    store = open_report(report, asked.sql, writes)
    doubts = doubts_about(report, store)
    return store, lambda: _tell_doubts(report.file, report.path, doubts)


def _tell_doubts(name: str | Path, path: Path, codes: Sequence[str]) -> None:
    if codes:
        print(
            f"nsight-suite: {name} leaves in doubt what this answer may rest on: {', '.join(codes)}. "
            f"Ask it: query {path} report_completeness",
            file=sys.stderr,
        )


def _tell_why_empty(store: Store, asked: _Asked, rows: int) -> None:
    if rows:
        return
    from nsight_suite.querying.emptiness import why_no_rows

    print(f"nsight-suite: {why_no_rows(store)}", file=sys.stderr)


def _refuse_swapped(run: str, name: str | None) -> None:
    """What is asked stands before the question; in the other order neither would be found."""
    if name and not Path(run).exists() and (Path(name).exists() or looks_like_report(name)):
        raise UsageError(
            f"'{name}' stands where the name of a query goes.",
            f"The run or report comes first: query {name} {run}",
        )


def _refuse_over(out: Path, source: RunFolder | LooseReport) -> None:
    """An answer must not take the place of what it was asked of."""
    place, asked = out.resolve(), source.path.resolve()
    if not place.is_relative_to(asked):
        return
    if isinstance(source, RunFolder):
        from nsight_suite.manifest import role_of

        if place != source.manifest.resolve() and role_of(place.relative_to(asked).as_posix()) == "other":
            return
    raise UsageError(
        f"{out} is part of what is asked: the answer would take its place.", "Give --out another name."
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


def _source(name: str) -> tuple[RunFolder | LooseReport, str]:
    """The run or report that is asked, and the run's experiment."""
    if may_be_report(Path(name)):
        from nsight_suite.ingesting.single import report_at

        if report := report_at(Path(name)):
            return report, ""
    return _run(name)


def _run(name: str) -> tuple[RunFolder, str]:
    folder = RunFolder(find_run(name))
    return folder, folder.read_run().get("experiment") or ""


if __name__ == "__main__":
    sys.exit(main())
