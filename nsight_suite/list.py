"""`python -m nsight_suite.list`: what there is: experiments, recorded runs, queries and figures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from nsight_suite.command import run_command
from nsight_suite.runfolder import RunFolder

KINDS = ("experiments", "runs", "queries", "figures")


def main(argv: Sequence[str] | None = None) -> int:
    """Print names with one line about each, or JSON."""
    parser = argparse.ArgumentParser(
        prog="nsight-suite list", description="List experiments, recorded runs, queries and figures."
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)}; all when left out")
    parser.add_argument("--json", action="store_true", help="print one JSON object: {kind: {name: about}}")
    arguments = parser.parse_args(argv)
    if unknown := [kind for kind in arguments.kinds if kind not in KINDS]:
        parser.error(f"there is no kind '{unknown[0]}'; choose from {', '.join(KINDS)}")
    return run_command(lambda: _list(arguments.kinds or KINDS, arguments.json))


def _list(kinds: Sequence[str], as_json: bool) -> int:
    listing = {kind: _entries(kind) for kind in KINDS if kind in kinds}
    if as_json:
        print(json.dumps(listing, indent=2, ensure_ascii=False))
        return 0
    for kind, entries in listing.items():
        print(kind if len(listing) == 1 else kind.upper())
        width = max(map(len, entries), default=0)
        for name, about in entries.items():
            print(f"  {name:<{width}}  {about}")
        if not entries:
            print("  none")
    return 0


def _entries(kind: str) -> Mapping[str, str]:
    from nsight_suite import figurefiles, protocol, querying, sources

    match kind:
        case "experiments":
            return {source.name: protocol.load(source.protocol).question for source in sources.experiments()}
        case "runs":
            return {f"examples/{path.name}": _about_run(path) for path in sources.recorded_runs()}
        case "queries":
            return {query.name: query.about for query in querying.find_queries()}
        case _:
            return {source.name: source.about for source in figurefiles.figure_sources()}


def _about_run(path: Path) -> str:
    info = RunFolder(path).read_run()
    return f"{info['experiment']}, {info['created_utc']}, {len(info['cases'])} cases, {info['state']}"


if __name__ == "__main__":
    sys.exit(main())
