"""`python -m nsight_suite.evidence RUN` builds a run's evidence again from its reports."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from nsight_suite.command import run_command
from nsight_suite.locking import locked
from nsight_suite.manifest import update_manifest
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import find_run


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="nsight-suite evidence",
        description="Build a run's evidence (Parquet, DuckDB, SQLite) again from its reports.",
    )
    parser.add_argument("run", metavar="RUN", help="the run folder")
    arguments = parser.parse_args(argv)
    return run_command(lambda: _rebuild(arguments.run))


def _rebuild(name: str) -> int:
    run = RunFolder(find_run(name))
    if run.is_ingested():
        from nsight_suite.evidence.ingested import rebuild

        _build(run, rebuild)
        print(f"Wrote {run.evidence} and {run.duckdb.name}.")
        return 0
    from nsight_suite.evidence.build import build

    _build(run, build)
    print(f"Wrote {run.evidence}, {run.duckdb.name} and {run.sqlite.name}.")
    return 0


def _build(run: RunFolder, build: Callable[[RunFolder], object]) -> None:
    with locked(run.path, "evidence"):
        before = list(run.evidence.glob("*.parquet"))
        build(run)
        # The manifest tells of what was just written, and no longer of what that took the place of.
        after = run.evidence.glob("*.parquet")
        update_manifest(run, [*{*before, *after}, run.duckdb, run.sqlite])


if __name__ == "__main__":
    sys.exit(main())
